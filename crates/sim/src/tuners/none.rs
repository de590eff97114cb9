//! Nobody is ended early: random search, grid search, and an app of one job.

use super::{Trial, Tuner, TunerEntry, Verdict};
use evenhand_core::{JobId, Loss};

pub(super) const ENTRY: TunerEntry = TunerEntry {
    name: "none",
    summary: "Lets every trial run to its end, as random search and grid search do.",
    paper: "Bergstra and Bengio, JMLR 2012",
    parameters: &[],
    build: |_, _: &[Trial]| Ok(Box::new(Patient)),
};

struct Patient;

impl Tuner for Patient {
    fn reported(&mut self, _job: JobId, _epoch: u32, _loss: Loss) -> Vec<Verdict> {
        Vec::new()
    }
    fn ended(&mut self, _job: JobId, _loss: Option<Loss>) -> Vec<Verdict> {
        Vec::new()
    }
}
