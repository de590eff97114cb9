//! Believes that a job will change its speed as jobs of its kind did before, as far as that agrees with its own past.
//!
//! ```text
//! track        the regimes of a job over its work; those of the last jobs of each kind are kept
//! voice        one way to foretell the rest of a job (see `outlook`): nothing changes, the published formula, earlier jobs
//! b            of a voice: how far off its mean was, as a logarithm, asked in hindsight at six points of every job that ends; the mean of
//!              the kind so far, shrunk towards that of all jobs
//! weight       of a voice: b^-8, as after eight jobs by the mean log score of a Laplace density of scale b, which is -ln 2b - 1
//! interval     the deviation of the weighted possibilities, times what covered 80 % of the last jobs at that point
//! ```
//!
//! Nothing has to be declared: batch sizes that a job may use, if it names them, tell which earlier jobs were like it, and
//! let the published formula have a say. Voices that were wrong are hardly heard, so this is never much worse than the best of
//! them. What is left is told as stretches at the expected slowness, so that their time is the expected time. Regimes that a job has
//! announced are believed. All of it is about speed: work and speeds in the first regime are as declared.

mod outlook;
mod record;
mod track;

use crate::PredictorEntry;
use crate::declared::{as_declared, changes_regime, speeds};
use evenhand_core::{
    Cluster, DemandSharing, EndCause, Estimate, Event, Forecast, Interference, Job, JobId, JobSpec, Moved,
    Predictor, Ratio, RegimeForecast, Sample, SaveError, Saved, Work,
};
use evenhand_measure::Kind;
use record::{Belief, Records};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use track::Track;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "regimes",
    summary: "Believes declared speeds, and that jobs change them as jobs of their kind did before.",
    build: || Box::new(Regimes::default()),
};

/// Something new is told when this part of a job's work was done since the last time.
const TOLD_EVERY: f64 = 0.04;

/// Stretches in which the rest of a job is told, before equal ones are joined.
const STRETCHES: usize = 12;

/// Slownesses that differ by less than this part are equal.
const EQUAL: f64 = 0.02;

/// Jobs of which it is remembered how far they were: of more, all are told anew.
const JOBS_MAX: usize = 1 << 16;

#[derive(Default, Serialize, Deserialize)]
struct Regimes {
    records: Records,
    /// How far each job was when something was last told of it.
    told: BTreeMap<JobId, f64>,
}

impl Predictor for Regimes {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let job = sample.job;
        let Some(own) = Track::of(job).filter(|_| !announces(&job.spec)) else {
            return if changes_regime(sample.event) { Moved::Job } else { Moved::Nothing };
        };
        match sample.event {
            Event::LeaseEnded { cause: EndCause::Finished { .. }, .. } => {
                self.told.remove(&job.spec.id);
                let plain = self.records.is_plain(&job.spec, &own);
                self.records.learn(sample.now, &job.spec, own);
                if plain { Moved::Nothing } else { Moved::Alike }
            }
            Event::Progress { regime, .. } if regime.is_some() || self.is_due(job, &own) => {
                if self.told.len() >= JOBS_MAX {
                    self.told.clear();
                }
                self.told.insert(job.spec.id, job.done.steps());
                Moved::Job
            }
            _ => Moved::Nothing,
        }
    }

    fn alike(&self, other: &JobSpec, observed: &JobSpec) -> bool {
        Kind::is_shared(other, observed)
    }

    fn forecast(&self, job: &Job, _cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = as_declared(job, &speeds(job));
        let own = Track::of(job).filter(|_| !announces(&job.spec));
        let done = job.done.steps();
        if let Some(own) = own.filter(|own| done < own.total && !self.records.is_plain(&job.spec, own)) {
            self.records.believe(&job.spec, &own, done, |belief| {
                tell(belief, &own, done, job.regime.speed, &mut forecast);
            });
        }
        Arc::new(forecast)
    }

    fn interference(&self) -> Arc<dyn Interference> {
        Arc::new(DemandSharing)
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Saved::of(self)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), SaveError> {
        *self = saved.read()?;
        Ok(())
    }
}

impl Regimes {
    fn is_due(&self, job: &Job, own: &Track) -> bool {
        let told = self.told.get(&job.spec.id).copied().unwrap_or(0.0);
        !self.records.is_plain(&job.spec, own) && (job.done.steps() - told).abs() > TOLD_EVERY * own.total
    }
}

/// Whether a job has said beforehand when its regime will change, or that it never will.
fn announces(spec: &JobSpec) -> bool {
    spec.modes.len() == 1 || spec.regimes.iter().any(|regime| regime.from > Work::ZERO)
}

/// Tells the rest of a job as stretches of the expected slowness, and how sure that is.
fn tell(belief: &Belief<'_>, own: &Track, done: f64, in_force: Ratio, forecast: &mut Forecast) {
    let step = (own.total - done) / STRETCHES as f64;
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    let heard: Vec<_> = belief.cases.iter().filter(|case| case.weight > 1e-4).collect();
    let weight: f64 = heard.iter().map(|case| case.weight).sum();
    for at in 0..STRETCHES {
        let (from, end) = (done + step * at as f64, done + step * (at + 1) as f64);
        let units: f64 = heard.iter().map(|case| case.weight * case.course.units(done, from, end)).sum();
        let slowness = units / weight / step;
        match stretches.last_mut() {
            Some((steps, last)) if (slowness / *last - 1.0).abs() < EQUAL => {
                *last = (*last * *steps + slowness * step) / (*steps + step);
                *steps += step;
            }
            _ => stretches.push((step, slowness)),
        }
    }
    let regime = |(steps, slowness): &(f64, f64)| RegimeForecast {
        work: Estimate::exact(Work::from_steps(*steps)),
        speed: Ratio::new(1.0 / (slowness * in_force.get())).unwrap_or_default(),
    };
    forecast.regimes = stretches.iter().map(regime).collect();
    let units: f64 = stretches.iter().map(|(steps, slowness)| steps * slowness).sum();
    let over = |value: f64| Ratio::new(value / units).unwrap_or_default();
    let Estimate { mean, low, high } = belief.units;
    forecast.stretch = Estimate { mean: over(mean), low: over(low), high: over(high) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_for_tests;
    use evenhand_core::{LeaseId, ModelIndex, Random, Regime, RegimeSpan, Time};

    /// A job of a hundred steps that is `speed` times as fast from `from` on, after `done` steps.
    fn changed(from: f64, speed: f64, done: f64) -> Job {
        let mut job = job_for_tests(100.0);
        job.done = Work::from_steps(done);
        if done >= from {
            let from = Work::from_steps(from);
            job.past = vec![RegimeSpan { regime: job.regime, until: from }];
            job.regime = Regime { batch: 64, from, speed: Ratio::new(speed).unwrap() };
        }
        job
    }

    fn finish(regimes: &mut Regimes, job: &Job) -> Moved {
        let (lease, done, saved) = (LeaseId(1), job.done, job.done);
        let event = Event::LeaseEnded { lease, done, saved, cause: EndCause::Finished { alone: None } };
        let cluster = Cluster::default();
        let (now, demand, lease, halted) = (Time::ZERO, None, None, None);
        regimes.observe(&Sample { now, job, event: &event, demand, lease, halted, cluster: &cluster })
    }

    fn left(regimes: &Regimes, job: &Job) -> Estimate<f64> {
        let forecast = regimes.forecast(job, &Cluster::default());
        let work: Work = forecast.regimes.iter().map(|regime| regime.work.mean).sum();
        let rest = job.spec.work.unwrap().less(job.done);
        assert!(forecast.regimes.is_empty() || (work.steps() - rest.steps()).abs() < 0.02, "all of the rest");
        forecast.seconds_from(ModelIndex(0), job.done).unwrap()
    }

    #[test]
    fn jobs_that_never_change_are_as_declared() {
        let mut regimes = Regimes::default();
        for _ in 0..3 {
            assert_eq!(finish(&mut regimes, &changed(200.0, 1.0, 100.0)), Moved::Nothing);
        }
        assert_eq!(left(&regimes, &job_for_tests(100.0)), Estimate::exact(100.0));
    }

    #[test]
    fn what_jobs_of_a_kind_did_is_expected_of_the_next() {
        let mut regimes = Regimes::default();
        let mut random = Random::new(1);
        let mut widths = Vec::new();
        for _ in 0..20 {
            assert_eq!(finish(&mut regimes, &changed(random.between(38.0, 42.0), 4.0, 100.0)), Moved::Alike);
            let fresh = left(&regimes, &job_for_tests(100.0));
            widths.push(fresh.high - fresh.low);
        }
        let fresh = left(&regimes, &job_for_tests(100.0));
        assert!((fresh.mean - 55.0).abs() < 5.0 && fresh.low <= 55.0 && 55.0 <= fresh.high, "{fresh:?}");
        assert!(widths[19] < widths[1] / 2.0, "{widths:?}");
        let late = left(&regimes, &changed(40.0, 4.0, 60.0));
        assert!((late.mean - 10.0).abs() < 0.5, "{late:?}");
        assert!(late.high - late.low < fresh.high - fresh.low);
    }

    #[test]
    fn a_job_goes_on_like_those_that_it_was_like_until_now() {
        let mut regimes = Regimes::default();
        for _ in 0..8 {
            finish(&mut regimes, &changed(20.0, 4.0, 100.0));
            finish(&mut regimes, &changed(200.0, 1.0, 100.0));
        }
        let young = left(&regimes, &job_for_tests(100.0));
        assert!(young.mean > 50.0 && young.mean < 95.0, "{young:?}");
        let steady = left(&regimes, &changed(200.0, 1.0, 50.0));
        assert!(steady.mean > 40.0, "{steady:?}");
    }

    #[test]
    fn what_was_announced_is_believed() {
        let mut regimes = Regimes::default();
        finish(&mut regimes, &changed(20.0, 4.0, 100.0));
        let mut job = job_for_tests(100.0);
        let (from, speed) = (Work::from_steps(50.0), Ratio::new(2.0).unwrap());
        Arc::make_mut(&mut job.spec).regimes = vec![evenhand_core::RegimeSpec { from, batch: 2, speed }];
        assert_eq!(left(&regimes, &job), Estimate::exact(75.0));
    }
}
