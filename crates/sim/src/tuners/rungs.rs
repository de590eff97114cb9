//! One bracket of successive halving: trials climb together, and at every rung all but the best part are retired.
//!
//! ```text
//! s        rungs; a trial with a limit of R epochs stands on rung r (from 0) after R eta^(r - s) epochs
//! cohort   trials that have not been retired and are not gone
//! ```
//!
//! Rungs are synchronous: who arrives is held until the whole cohort stands there, then the best 1/eta (at least one) go
//! on. A trial that is finished keeps standing with its last loss and takes a place if it is among the best.

use super::{Trial, Verdict};
use evenhand_core::{JobId, Loss};
use std::collections::BTreeMap;

/// One trial on its way up.
#[derive(Clone, Copy, Debug)]
struct Climber {
    epochs: u32,
    /// The loss with which it stands on the present rung.
    stands: Option<Loss>,
    finished: bool,
}

/// Trials that climb together.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    eta: u32,
    rungs: u32,
    rung: u32,
    cohort: BTreeMap<JobId, Climber>,
}

impl Bracket {
    /// These trials over so many rungs; trials that never report do not take part.
    pub fn new(eta: u32, rungs: u32, trials: &[Trial]) -> Self {
        let climbers = trials.iter().filter(|trial| trial.epochs > 0);
        let climber = |trial: &Trial| Climber { epochs: trial.epochs, stands: None, finished: false };
        Self { eta, rungs, rung: 0, cohort: climbers.map(|trial| (trial.job, climber(trial))).collect() }
    }

    pub fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict> {
        let height = self.eta.saturating_pow(self.rungs.saturating_sub(self.rung));
        let open = self.rung < self.rungs;
        let arrived = |climber: &&mut Climber| {
            open && climber.stands.is_none() && epoch >= (climber.epochs / height).max(1)
        };
        let Some(climber) = self.cohort.get_mut(&job).filter(arrived) else { return Vec::new() };
        climber.stands = Some(loss);
        if self.is_complete() { self.select(Some(job)) } else { vec![Verdict::Hold(job)] }
    }

    pub fn ended(&mut self, job: JobId, loss: Option<Loss>) -> Vec<Verdict> {
        match (loss, self.cohort.get_mut(&job)) {
            (Some(loss), Some(climber)) => (climber.stands, climber.finished) = (Some(loss), true),
            _ => drop(self.cohort.remove(&job)),
        }
        if self.is_complete() { self.select(None) } else { Vec::new() }
    }

    fn is_complete(&self) -> bool {
        let waiting = self.cohort.values().any(|climber| !climber.finished);
        self.rung < self.rungs && waiting && self.cohort.values().all(|climber| climber.stands.is_some())
    }

    /// Keeps the best; `last` came just now and has not been held.
    fn select(&mut self, last: Option<JobId>) -> Vec<Verdict> {
        let stands = |climber: &Climber| climber.stands.map_or(u64::MAX, Loss::key);
        let mut ranked: Vec<_> =
            self.cohort.iter().map(|(job, climber)| (stands(climber), *job, climber.finished)).collect();
        ranked.sort_unstable();
        let places = (ranked.len() / self.eta as usize).max(1);
        let mut verdicts = Vec::new();
        for (place, (_, job, finished)) in ranked.into_iter().enumerate() {
            if place >= places {
                self.cohort.remove(&job);
                verdicts.extend((!finished).then_some(Verdict::Retire(job)));
            } else if !finished {
                self.cohort.entry(job).and_modify(|climber| climber.stands = None);
                verdicts.extend((last != Some(job)).then_some(Verdict::Release(job)));
            }
        }
        self.rung += 1;
        verdicts
    }
}

/// How often `bound` can be divided by eta.
pub(super) fn rungs_max(eta: u32, bound: u32) -> u32 {
    let mut rungs = 0;
    while eta.saturating_pow(rungs + 1) <= bound {
        rungs += 1;
    }
    rungs
}

/// The most epochs of any trial: R.
pub(super) fn epochs_max(trials: &[Trial]) -> u32 {
    trials.iter().map(|trial| trial.epochs).max().unwrap_or(0)
}
