//! Smallest remaining service first.
//!
//! ```text
//! s_i = g_i * rem_i            g_i = gang, rem_i as in shortest remaining time first
//! order by s_i, smallest first; whoever fits runs, the others are preempted
//! ```
//!
//! A short job on many GPUs counts as much as a long one on few. Jobs of which nothing is known come last.

use crate::fill::{PREEMPT_ANYTIME, Preempt, grant_by_key};
use crate::registry::{Entry, Promise};
use evenhand_core::{GpuTime, Limits, Plan, Policy, PolicyError, Reason, Snapshot};

pub(crate) const ENTRY: Entry = Entry {
    name: "srsf",
    summary: "Smallest remaining GPU-time first, preempting whenever a smaller job comes.",
    paper: "Tiresias, NSDI 2019 (as a baseline)",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_ANYTIME],
    divide: None,
    build: |parameters| Ok(Box::new(Srsf { preempt: Preempt::read(parameters, &PREEMPT_ANYTIME)? })),
};

struct Srsf {
    preempt: Preempt,
}

impl Policy for Srsf {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(grant_by_key(snapshot, self.preempt, Reason::SmallestRemaining, |index, job| {
            let remaining =
                snapshot.remaining_time(index, job).map(|span| GpuTime::new(job.spec.gpus.min, span));
            (remaining.unwrap_or(GpuTime(u64::MAX)), remaining.is_none().then(|| snapshot.attained(job)))
        }))
    }
}
