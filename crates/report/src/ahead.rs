//! Windows planned ahead: what was foreseen against what came, what a GPU was worth, and the largest window in full.
//!
//! Of an active job at most [`POINTS_MAX`] predictions are kept, further and further apart; a finished job leaves one [`Foresight`].

use crate::book::Book;
use crate::fact::{Fact, Life};
use crate::quantile::{mean, quantile, sorted};
use crate::series::{Series, Step};
use evenhand_core::{
    Ahead, Decision, JobId, ModelIndex, Outcome, PerModel, Quality, Round, Span, TenantId, Time,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Predictions kept of a job at most.
const POINTS_MAX: usize = 32;

/// The parts of a job's life after which its predictions are looked at; the first plan comes before them.
pub const MARKS: [f64; 4] = [0.1, 0.25, 0.5, 0.75];

/// The windows of a run.
#[derive(Debug, Default)]
pub struct Plans {
    /// How many were planned.
    pub count: u64,
    /// Of those, how many are not known to be the best.
    pub bounded: u64,
    /// The largest proven gap.
    pub gap_worst: f64,
    /// Jobs that finished and were planned for, in the order of their ends.
    pub foresights: Vec<Foresight>,
    /// The window in which the most jobs run; of equals, the first.
    pub largest: Option<Planned>,
    open: BTreeMap<JobId, Predictions>,
    /// What a GPU of each model is worth now.
    worth: PerModel<f64>,
    curves: Series,
}

/// What was foreseen for a job that finished.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foresight {
    /// From submission to end, in seconds.
    pub life_s: f64,
    /// Predicted life over actual life when it was first planned for: 1 = right, less = it was thought to be done sooner.
    pub first: f64,
    /// The same at each of [`MARKS`]; NaN if it was not planned for by then.
    pub later: [f64; MARKS.len()],
}

/// One window, and when it was planned.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The decision that it belongs to.
    pub round: Round,
    /// When.
    pub at: Time,
    /// How good it is known to be.
    pub quality: Quality,
    /// The window.
    pub ahead: Arc<Ahead>,
    /// Tenant and gang of each of its jobs, in its order.
    pub jobs: Vec<(TenantId, u32)>,
}

impl Planned {
    /// Jobs that run in the window.
    pub fn run_count(ahead: &Ahead) -> usize {
        ahead.jobs.iter().filter(|job| !job.turns.is_empty()).count()
    }
}

impl Plans {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Elapsed { from, to } => {
                let idle = book.active() == 0;
                let worth = |model: ModelIndex| if idle { 0.0 } else { self.worth[model] };
                let models = book.machines.models_up();
                let values = models.map(|(model, _)| (usize::from(model.0), worth(model)));
                self.curves.add(*from, *to, &values);
            }
            Fact::Decided(decision) => {
                if let Some(ahead) = &decision.ahead {
                    self.plan(book, decision, ahead);
                }
            }
            Fact::Ended { outcome, spec, .. } => {
                let known = self.open.remove(&spec.id);
                let life = book.lives.last().filter(|_| *outcome == Outcome::Finished);
                self.foresights.extend(known.zip(life).map(|(known, life)| known.held_against(life)));
            }
            _ => {}
        }
    }

    fn plan(&mut self, book: &Book, decision: &Decision, ahead: &Arc<Ahead>) {
        self.count += 1;
        if let Quality::Feasible { gap } = decision.quality {
            self.bounded += 1;
            self.gap_worst = self.gap_worst.max(gap);
        }
        for foreseen in &ahead.jobs {
            self.open.entry(foreseen.job).or_default().add(book.now, foreseen.finish);
        }
        self.worth = worth(book, ahead);
        let largest = self.largest.as_ref().map_or(0, |planned| Planned::run_count(&planned.ahead));
        if Planned::run_count(ahead) > largest {
            let job =
                |id: JobId| book.spec(id).map_or((TenantId(0), 0), |spec| (spec.tenant, spec.gpus.min.0));
            self.largest = Some(Planned {
                round: decision.round,
                at: book.now,
                quality: decision.quality,
                ahead: ahead.clone(),
                jobs: ahead.jobs.iter().map(|foreseen| job(foreseen.job)).collect(),
            });
        }
    }

    /// The worth of a GPU of a model over time, see [`worth`].
    pub fn worth(&self, model: ModelIndex) -> Vec<Step> {
        self.curves.steps(usize::from(model.0))
    }

    /// |predicted - actual finish| / life when jobs were first planned for: the mean and the 90 % quantile; NaN if there are none.
    pub fn first_errors(&self) -> (f64, f64) {
        let errors = sorted(self.foresights.iter().map(|job| (job.first - 1.0).abs()).collect());
        (mean(&errors), quantile(&errors, 0.9))
    }
}

/// What one more GPU of each model in a round would add, in multiples of what a GPU of the cluster adds on average over the window: objectives
/// have units of their own, and this compares.
fn worth(book: &Book, ahead: &Ahead) -> PerModel<f64> {
    let gpu_rounds = f64::from(book.machines.capacity().0) * f64::from(ahead.rounds);
    let average = ahead.gain / gpu_rounds;
    PerModel(ahead.prices.0.map(|price| if average > 0.0 { price / average } else { 0.0 }))
}

/// When an active job was thought to be done, and when that was thought.
#[derive(Debug, Default)]
struct Predictions {
    points: Vec<(Time, Time)>,
    /// Predictions are at least so far apart.
    apart: Span,
}

impl Predictions {
    fn add(&mut self, now: Time, finish: Time) {
        if self.points.last().is_some_and(|(last, _)| now < *last + self.apart) {
            return;
        }
        self.points.push((now, finish));
        if self.points.len() > POINTS_MAX {
            self.apart = Span(now.since(self.points[0].0).0 / (POINTS_MAX as u64 / 2));
            let mut kept: Option<Time> = None;
            self.points.retain(|(at, _)| {
                let keeps = kept.is_none_or(|kept| *at >= kept + self.apart);
                kept = if keeps { Some(*at) } else { kept };
                keeps
            });
        }
    }

    fn held_against(&self, life: &Life) -> Foresight {
        let life_s = life.jct().seconds();
        let ratio = |finish: Time| finish.since(life.submitted).seconds() / life_s.max(1e-3);
        let at = |part: f64| {
            let mark = life.submitted + Span::from_seconds(part * life_s);
            let last = self.points.iter().rev().find(|(at, _)| *at <= mark);
            last.map_or(f64::NAN, |(_, finish)| ratio(*finish))
        };
        let first = self.points.first().map_or(f64::NAN, |(_, finish)| ratio(*finish));
        Foresight { life_s, first, later: MARKS.map(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_predictions_few_are_kept_and_the_marks_are_met() {
        let mut known = Predictions::default();
        // Every second it is thought to be done 100 s later.
        (0..1000).for_each(|second| known.add(Time(second * 1000), Time((second + 100) * 1000)));
        assert!((POINTS_MAX / 2..=POINTS_MAX).contains(&known.points.len()), "{}", known.points.len());
        let life = Life {
            job: JobId(1),
            in_app: false,
            tenant: TenantId(0),
            gang: 1,
            submitted: Time(0),
            ended: Time(1_000_000),
            alone: Span::ZERO,
            active_mean: 1.0,
        };
        let found = known.held_against(&life);
        assert!((found.first - 0.1).abs() < 1e-12);
        for (mark, ratio) in MARKS.iter().zip(found.later) {
            assert!((mark + 0.1 - 0.07..=mark + 0.1).contains(&ratio), "{ratio} at {mark}");
        }
    }
}
