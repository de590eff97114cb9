//! Least attained service: the job that has received the least GPU-time goes first.
//!
//! ```text
//! A_i = GPU-time received so far ;  order by A_i, smallest first; whoever fits runs until its lease is up
//! ```
//!
//! Needs no forecast at all: short jobs finish early because every job starts with nothing.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, grant_by_key};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Plan, Policy, PolicyError, Reason, Snapshot};

pub(crate) const ENTRY: Entry = Entry {
    name: "las",
    summary: "The job that has received the least GPU-time goes first.",
    paper: "Tiresias, NSDI 2019",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS],
    divide: None,
    build: |parameters| Ok(Box::new(Las { preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)? })),
};

struct Las {
    preempt: Preempt,
}

impl Policy for Las {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(grant_by_key(snapshot, self.preempt, Reason::LeastAttained, |_, job| snapshot.attained(job)))
    }
}
