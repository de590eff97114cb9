//! What the trials of an app have reported so far.

use evenhand_core::{JobId, Loss};
use std::collections::BTreeMap;

/// The losses of one trial by epoch.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    losses: Vec<f64>,
    /// Sums of the losses up to each epoch.
    sums: Vec<f64>,
}

impl Reports {
    /// The mean loss over the first epochs; `None` if the trial is not so far.
    pub fn mean_until(&self, epoch: u32) -> Option<f64> {
        self.sums.get((epoch as usize).checked_sub(1)?).map(|sum| sum / f64::from(epoch))
    }

    /// The lowest loss so far.
    pub fn lowest(&self) -> f64 {
        self.losses.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The last loss.
    pub fn last(&self) -> f64 {
        self.losses.last().copied().unwrap_or(f64::INFINITY)
    }

    /// Losses by epoch.
    pub fn points(&self) -> Vec<(f64, f64)> {
        self.losses.iter().enumerate().map(|(at, loss)| (at as f64 + 1.0, *loss)).collect()
    }
}

/// The losses of all trials.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    trials: BTreeMap<JobId, Reports>,
}

impl History {
    /// Takes a report; whether it says anything new. An epoch that was missed is filled with the next.
    pub fn take(&mut self, job: JobId, epoch: u32, loss: Loss) -> bool {
        let reports = self.trials.entry(job).or_default();
        let known = reports.losses.len();
        for _ in known..epoch as usize {
            let sum = reports.sums.last().copied().unwrap_or(0.0) + loss.get();
            reports.losses.push(loss.get());
            reports.sums.push(sum);
        }
        known < epoch as usize
    }

    /// What a trial has reported.
    pub fn of(&self, job: JobId) -> Option<&Reports> {
        self.trials.get(&job)
    }

    /// What the other trials have reported.
    pub fn others(&self, job: JobId) -> impl Iterator<Item = (JobId, &Reports)> {
        self.trials.iter().filter(move |(other, _)| **other != job).map(|(other, reports)| (*other, reports))
    }
}
