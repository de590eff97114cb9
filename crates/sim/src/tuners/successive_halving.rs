//! Successive halving: all trials start, and at every rung the best 1/eta go on with eta times the epochs.
//!
//! With n trials there are floor(log_eta n) rungs, at R/eta, R/eta^2, ... of a limit of R epochs: the last few run to
//! their end. Of a final cohort of one this is promised: it was the best on every rung.

use super::rungs::{Bracket, epochs_max, rungs_max};
use super::{Tuner, TunerEntry, Verdict};
use evenhand_core::{JobId, Loss, ParameterSpec};

const ETA: ParameterSpec =
    ParameterSpec { name: "eta", default: "3", summary: "one trial in this many goes on from a rung" };

pub(super) const ENTRY: TunerEntry = TunerEntry {
    name: "successive-halving",
    summary: "Holds trials at rungs until all are there; the best 1/eta go on, the rest are retired.",
    paper: "Jamieson and Talwalkar, AISTATS 2016",
    parameters: &[ETA],
    build: |parameters, trials| {
        let eta = parameters.number(&ETA, 2.0, 10.0)? as u32;
        let reporting = trials.iter().filter(|trial| trial.epochs > 0).count() as u32;
        let rungs = rungs_max(eta, epochs_max(trials).min(reporting));
        Ok(Box::new(SuccessiveHalving(Bracket::new(eta, rungs, trials))))
    },
};

struct SuccessiveHalving(Bracket);

impl Tuner for SuccessiveHalving {
    fn reported(&mut self, job: JobId, epoch: u32, loss: Loss) -> Vec<Verdict> {
        self.0.reported(job, epoch, loss)
    }
    fn ended(&mut self, job: JobId, loss: Option<Loss>) -> Vec<Verdict> {
        self.0.ended(job, loss)
    }
}
