//! The median stopping rule: a trial goes when its best loss is worse than what the median trial had on average by then.
//!
//! Another trial counts as soon as it is at most one epoch behind. Otherwise the first of several that go on side by side
//! would never have anybody to be compared with.

use super::history::{History, Reports};
use super::{Tuner, TunerEntry, Verdict};
use evenhand_core::{JobId, Loss, ParameterSpec};

const EPOCHS_MIN: ParameterSpec = ParameterSpec {
    name: "epochs_min",
    default: "5",
    summary: "no trial goes before it has done so many epochs",
};
const TRIALS_MIN: ParameterSpec = ParameterSpec {
    name: "trials_min",
    default: "3",
    summary: "no trial goes before so many others were as far as it is",
};

pub(super) const ENTRY: TunerEntry = TunerEntry {
    name: "median-stopping",
    summary: "Retires a trial whose best loss is worse than the median of the others' averages up to the same epoch.",
    paper: "Golovin et al., Google Vizier, KDD 2017",
    parameters: &[EPOCHS_MIN, TRIALS_MIN],
    build: |parameters, _| {
        let epochs_min = parameters.number(&EPOCHS_MIN, 1.0, 1e6)? as u32;
        let trials_min = parameters.number(&TRIALS_MIN, 1.0, 1e6)? as usize;
        Ok(Box::new(MedianStopping { epochs_min, trials_min, history: History::default() }))
    },
};

struct MedianStopping {
    epochs_min: u32,
    trials_min: usize,
    history: History,
}

impl MedianStopping {
    /// Whether a trial is worse at an epoch than the median of the others.
    fn is_worse(&self, job: JobId, epoch: u32) -> bool {
        let others = self.history.others(job);
        let mean = |reports: &Reports| reports.mean_until(epoch).or_else(|| reports.mean_until(epoch - 1));
        let mut means: Vec<f64> = others.filter_map(|(_, reports)| mean(reports)).collect();
        if epoch < self.epochs_min || means.len() < self.trials_min {
            return false;
        }
        means.sort_by(f64::total_cmp);
        let middle = means.len() / 2;
        let median = if means.len() % 2 == 1 {
            means[middle]
        } else {
            f64::midpoint(means[middle - 1], means[middle])
        };
        self.history.of(job).is_some_and(|reports| reports.lowest() > median)
    }
}

impl Tuner for MedianStopping {
    fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict> {
        let worse = self.history.take(job, epoch, loss) && self.is_worse(job, epoch);
        if worse { vec![Verdict::Retire(job)] } else { Vec::new() }
    }
    fn ended(&mut self, _job: JobId, _loss: Option<Loss>) -> Vec<Verdict> {
        // What was reported stays: the dead are still somebody to compare with.
        Vec::new()
    }
}
