//! Believes how fast jobs were seen to run; what submitters declare is where it starts from, and fades.
//!
//! Every kind of job (those that a tenant declared alike) has one row of speeds, so jobs of a kind stay one class. A row is
//! told anew only when it has moved by more than [`TOLERANCE`], or when a kind is first seen on a GPU model; everything but
//! the speeds is as declared. A job of a kind that was never seen to run is believed what was declared of it, times what the
//! declarations of its tenant turned out to be worth, as a guess: `low` is zero, so that a policy can tell it from a
//! measurement and find out. A liar gains nothing by declaring every job a little differently.

mod belief;
mod worth;

use crate::PredictorEntry;
use crate::declared::{as_declared, changes_regime};
use belief::{guess, row, seen};
use evenhand_core::{
    Cluster, DemandSharing, Estimate, Event, Forecast, Interference, Job, JobSpec, Moved, PerModel,
    Predictor, Rate, Sample, SaveError, Saved, TenantId,
};
use evenhand_measure::{Kind, Pace, Runner, Speeds, Watch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use worth::Worth;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "measured",
    summary: "Believes the speeds that were measured on real work; declared ones are a guess that fades.",
    build: || Box::new(Measured::default()),
};

/// A row is told anew when one of its speeds is off by more than this part.
const TOLERANCE: f64 = 0.01;

#[derive(Default, Serialize, Deserialize)]
struct Measured {
    watch: Watch,
    speeds: Speeds,
    /// The rows as they were last told.
    told: BTreeMap<Kind, PerModel<Estimate<Rate>>>,
    /// What the declarations of each tenant turned out to be worth.
    worth: BTreeMap<TenantId, Worth>,
    /// Whether the last observation moved that: guesses about other kinds of the tenant are then out of date as well.
    worth_moved: bool,
}

impl Predictor for Measured {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let learnt = self.pace(sample).is_some_and(|pace| self.learn(sample, pace));
        match (learnt, changes_regime(sample.event)) {
            (true, _) => Moved::Alike,
            (false, true) => Moved::Job,
            (false, false) => Moved::Nothing,
        }
    }

    fn alike(&self, other: &JobSpec, observed: &JobSpec) -> bool {
        let guessed = || !self.told.contains_key(&Kind::of(other));
        Kind::is_shared(other, observed) || (self.worth_moved && other.tenant == observed.tenant && guessed())
    }

    fn forecast(&self, job: &Job, _cluster: &Cluster) -> Arc<Forecast> {
        let kind = Kind::of(&job.spec);
        let told = self.told.get(&kind).copied();
        let mut speed = told.unwrap_or_else(|| PerModel(self.prior(&kind).0.map(guess)));
        for estimate in &mut speed.0 {
            let here = |rate: Rate| rate.times(job.regime.speed.get());
            *estimate =
                Estimate { mean: here(estimate.mean), low: here(estimate.low), high: here(estimate.high) };
        }
        Arc::new(as_declared(job, &speed))
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

impl Measured {
    /// How fast the job was since the last word of it, if this event says so.
    fn pace(&mut self, sample: &Sample<'_>) -> Option<Pace> {
        let (now, job) = (sample.now, sample.job);
        match sample.event {
            Event::LeaseStarted(_) => {
                let Job { done, worked, regime, starts, .. } = *job;
                let runner = Runner { spec: &job.spec, done, worked, regime, starts };
                self.watch.start(now, &runner, sample.lease?, sample.cluster);
                None
            }
            Event::Progress { lease, done, worked, regime, .. } => {
                self.watch.progress(now, *lease, *done, *worked, *regime)
            }
            Event::LeaseEnded { lease, done, cause, .. } => {
                self.watch.end(now, *lease, *done, *cause, sample.halted)
            }
            _ => None,
        }
    }

    /// Takes a pace in; says whether the row of its kind is told anew.
    fn learn(&mut self, sample: &Sample<'_>, pace: Pace) -> bool {
        let kind = Kind::of(&sample.job.spec);
        if let Some(forgotten) = self.speeds.take(sample.now, &kind, pace) {
            self.untell(&forgotten);
        }
        let Some(measured) = self.speeds.of(&kind) else { return false };
        let prior = self.prior(&kind);
        let told = self.told.get(&kind);
        let moved = measured.iter().any(|(model, _)| {
            let speed = seen(measured, &prior, model);
            // A guess has no lower end: the first measurement always counts.
            told.is_none_or(|row| row[model].low == Rate::ZERO || is_off(row[model].mean.get(), speed))
        });
        if moved {
            let row = row(measured, &prior, &self.speeds, &kind);
            self.tell(kind, &row);
        }
        moved
    }

    /// From now on this is told of a kind.
    fn tell(&mut self, kind: Kind, row: &PerModel<Estimate<Rate>>) {
        self.untell(&kind);
        let worth = self.worth.entry(kind.tenant).or_default();
        worth.add(&kind, row);
        self.worth_moved = worth.settle();
        self.told.insert(kind, *row);
    }

    /// What was told of a kind counts no more.
    fn untell(&mut self, kind: &Kind) {
        if let (Some(before), Some(worth)) = (self.told.remove(kind), self.worth.get_mut(&kind.tenant)) {
            worth.take_off(kind, &before);
        }
    }

    /// What was declared, for what it is worth.
    fn prior(&self, kind: &Kind) -> PerModel<Rate> {
        let mut prior = kind.declared_row();
        if let Some(worth) = self.worth.get(&kind.tenant) {
            for (speed, factor) in prior.0.iter_mut().zip(worth.told().values()) {
                *speed = speed.times(factor);
            }
        }
        prior
    }
}

fn is_off(told: f64, found: f64) -> bool {
    (found / told - 1.0).abs() > TOLERANCE
}
