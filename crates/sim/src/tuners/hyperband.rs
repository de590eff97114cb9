//! Hyperband: several brackets of successive halving, from many trials with few epochs to few trials with all of them.
//!
//! ```text
//! s_max    floor(log_eta R)
//! n_s      ceil((s_max + 1) / (s + 1) eta^s) : trials in bracket s, which has s rungs
//! ```
//!
//! The paper draws as many trials as that comes to. An app has its trials already: they are dealt out to the brackets in
//! the order of their numbers and in proportion to n_s, the most eager bracket first.

use super::rungs::{Bracket, epochs_max, rungs_max};
use super::{Trial, Tuner, TunerEntry, Verdict};
use evenhand_core::{JobId, Loss, ParameterSpec};
use std::collections::BTreeMap;

const ETA: ParameterSpec =
    ParameterSpec { name: "eta", default: "3", summary: "one trial in this many goes on from a rung" };

pub(super) const ENTRY: TunerEntry = TunerEntry {
    name: "hyperband",
    summary: "Several brackets of successive halving, from many short trials to few long ones.",
    paper: "Li et al., JMLR 2018",
    parameters: &[ETA],
    build: |parameters, trials| {
        let eta = parameters.number(&ETA, 2.0, 10.0)? as u32;
        Ok(Box::new(Hyperband::new(eta, trials)))
    },
};

struct Hyperband {
    brackets: Vec<Bracket>,
    bracket_of: BTreeMap<JobId, usize>,
}

impl Hyperband {
    fn new(eta: u32, trials: &[Trial]) -> Self {
        let rungs_max = rungs_max(eta, epochs_max(trials));
        let sizes: Vec<f64> = (0..=rungs_max)
            .rev()
            .map(|rungs| {
                let part = f64::from(rungs_max + 1) / f64::from(rungs + 1);
                (part * f64::from(eta.saturating_pow(rungs))).ceil()
            })
            .collect();
        let total: f64 = sizes.iter().sum();
        let mut sorted = trials.to_vec();
        sorted.sort_by_key(|trial| trial.job);
        let (mut brackets, mut bracket_of) = (Vec::new(), BTreeMap::new());
        let (mut from, mut sum) = (0, 0.0);
        for (at, size) in sizes.iter().enumerate() {
            sum += size;
            let to = (sum / total * sorted.len() as f64).round() as usize;
            bracket_of.extend(sorted[from..to].iter().map(|trial| (trial.job, at)));
            brackets.push(Bracket::new(eta, rungs_max - at as u32, &sorted[from..to]));
            from = to;
        }
        Self { brackets, bracket_of }
    }
}

impl Tuner for Hyperband {
    fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict> {
        let bracket = self.bracket_of.get(&job);
        bracket.map_or_else(Vec::new, |at| self.brackets[*at].reported(job, epoch, loss))
    }
    fn ended(&mut self, job: JobId, loss: Option<Loss>) -> Vec<Verdict> {
        let bracket = self.bracket_of.get(&job);
        bracket.map_or_else(Vec::new, |at| self.brackets[*at].ended(job, loss))
    }
}
