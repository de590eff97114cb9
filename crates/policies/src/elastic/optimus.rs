//! Optimus: one worker each, then each further GPU where it shortens the remaining time most.
//!
//! ```text
//! t_i(n) = Q_i * st_i(n)              Q_i = steps left, st_i(n) = time of a step on n GPUs
//! give everybody its least ;  then repeatedly a GPU to the largest  Q_i (st_i(n) - st_i(n+1))  while positive
//! ```
//!
//! Differs from the paper: steps left are the forecast's, not read off a fitted loss curve (jobs tell no loss yet);
//! st_i(n) is the forecast's scaling curve, not a fitted model of workers and parameter servers; the least goes first
//! come, first served, since the paper has room for everybody; a new size must be worth its restart.

use super::{decide, largest_gain_first};
use crate::fill::{PREEMPT_AT_ROUNDS, Preempt};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Plan, Policy, PolicyError, Snapshot};

pub(crate) const ENTRY: Entry = Entry {
    name: "optimus",
    summary: "The least for everybody; more GPUs where they shorten the remaining time most.",
    paper: "Optimus, EuroSys 2018",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS],
    divide: None,
    build: |parameters| Ok(Box::new(Optimus { preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)? })),
};

struct Optimus {
    preempt: Preempt,
}

impl Policy for Optimus {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let worth = |part: &super::Part<'_>, model, gpus| Some(-part.seconds(model, gpus)?);
        Ok(decide(snapshot, self.preempt, |_, _| (), worth, largest_gain_first))
    }
}
