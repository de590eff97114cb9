//! Early termination as in HyperDrive: a trial goes when its curve so far hardly promises to get anywhere.
//!
//! Every few epochs the curve of a trial is fitted. Where there is a target, what counts is the chance of reaching it by
//! the limit; where there is none, the chance of getting below the lowest loss that any other trial has reached. The
//! leader of those that are left never goes. HyperDrive's third class, promising trials that get more GPUs, is the
//! scheduler's business here.

use super::history::History;
use super::{Trial, Tuner, TunerEntry, Verdict};
use evenhand_core::{JobId, Loss, ParameterSpec};
use evenhand_measure::LossFit;
use std::collections::{BTreeMap, BTreeSet};

const EVERY: ParameterSpec =
    ParameterSpec { name: "every", default: "5", summary: "epochs between two looks at a trial" };
const CHANCE_MIN: ParameterSpec = ParameterSpec {
    name: "chance_min",
    default: "0.05",
    summary: "a trial with less of a chance than this is retired",
};

pub(super) const ENTRY: TunerEntry = TunerEntry {
    name: "hyperdrive",
    summary: "Fits each curve so far; retires trials that hardly have a chance to reach the target or beat the best.",
    paper: "Rasley et al., HyperDrive, Middleware 2017",
    parameters: &[EVERY, CHANCE_MIN],
    build: |parameters, trials| {
        Ok(Box::new(HyperDrive {
            every: parameters.number(&EVERY, 1.0, 1e6)? as u32,
            chance_min: parameters.number(&CHANCE_MIN, 0.0, 1.0)?,
            trials: trials.iter().map(|trial| (trial.job, *trial)).collect(),
            gone: BTreeSet::new(),
            history: History::default(),
        }))
    },
};

struct HyperDrive {
    every: u32,
    chance_min: f64,
    trials: BTreeMap<JobId, Trial>,
    gone: BTreeSet<JobId>,
    history: History,
}

impl HyperDrive {
    fn is_hopeless(&self, trial: &Trial) -> bool {
        let Some(own) = self.history.of(trial.job) else { return false };
        let others = || self.history.others(trial.job);
        let leads =
            others().filter(|(job, _)| !self.gone.contains(job)).all(|(_, other)| own.last() < other.last());
        let lowest = others().map(|(_, other)| other.lowest()).fold(f64::INFINITY, f64::min);
        let goal = trial.target.map_or(lowest, Loss::get);
        let limit = f64::from(trial.epochs);
        let fit = LossFit::of(&own.points(), limit);
        !leads && fit.is_some_and(|fit| fit.chance(goal, limit) < self.chance_min)
    }
}

impl Tuner for HyperDrive {
    fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict> {
        let due = self.history.take(job, epoch, loss) && epoch.is_multiple_of(self.every);
        let Some(trial) = self.trials.get(&job).copied().filter(|_| due) else { return Vec::new() };
        if !self.is_hopeless(&trial) {
            return Vec::new();
        }
        self.gone.insert(job);
        vec![Verdict::Retire(job)]
    }
    fn ended(&mut self, job: JobId, loss: Option<Loss>) -> Vec<Verdict> {
        // Who is finished still leads; who is gone for another reason does not.
        if loss.is_none() {
            self.gone.insert(job);
        }
        Vec::new()
    }
}
