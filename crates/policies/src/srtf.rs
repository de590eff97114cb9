//! Shortest remaining time first.
//!
//! ```text
//! rem_i = W_i / max_j r_ij     W_i = forecast work left, r_ij = forecast speed on GPU model j
//! order by rem_i, smallest first; whoever fits runs, the others are preempted
//! ```
//!
//! Optimal for mean completion time on one machine with known sizes; long jobs may starve. A job of which nothing
//! is known comes after all others, by least attained GPU-time.

use crate::fill::{PREEMPT_ANYTIME, Preempt, grant_by_key};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Plan, Policy, PolicyError, Reason, Snapshot, Span};

pub(crate) const ENTRY: Entry = Entry {
    name: "srtf",
    summary: "Shortest remaining time first, preempting whenever a shorter job comes.",
    paper: "Schrage, Operations Research 1968",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_ANYTIME],
    divide: None,
    build: |parameters| Ok(Box::new(Srtf { preempt: Preempt::read(parameters, &PREEMPT_ANYTIME)? })),
};

struct Srtf {
    preempt: Preempt,
}

impl Policy for Srtf {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(grant_by_key(snapshot, self.preempt, Reason::ShortestRemaining, |index, job| {
            let remaining = snapshot.remaining_time(index, job);
            (remaining.unwrap_or(Span(u64::MAX)), remaining.is_none().then(|| snapshot.attained(job)))
        }))
    }
}
