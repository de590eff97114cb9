//! Opportunistic packing: in the order of submission, on the first GPUs where the memory fits. What GPU sharing is without any
//! prediction of who gets along with whom; the baseline of the Horus paper.

use super::JOBS_MAX;
use super::desks::{Desks, MODE, mode};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Others, Plan, Policy, PolicyError, Reason, SharingMode, Snapshot};

pub(crate) const ENTRY: Entry = Entry {
    name: "packing",
    summary: "First come, first served, on the first GPUs where the memory fits, beside whoever is there.",
    paper: "a baseline of Horus, IEEE TPDS 2022",
    promises: &[Promise::NeverPreempts],
    parameters: &[JOBS_MAX, MODE],
    divide: None,
    build: |parameters| {
        let jobs_max = parameters.number(&JOBS_MAX, 1.0, 64.0)? as usize;
        Ok(Box::new(Packing { jobs_max, mode: mode(parameters)? }))
    },
};

struct Packing {
    jobs_max: usize,
    mode: SharingMode,
}

impl Policy for Packing {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut desks = Desks::new(snapshot, self.mode, self.jobs_max);
        for (index, job) in snapshot.jobs.queue() {
            match desks.seat((index, job), Reason::FirstCome, |at, _, _| Some(at as f64)) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        Ok(plan)
    }
}
