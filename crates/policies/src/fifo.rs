//! First come, first served: a job keeps its GPUs to its end.
//!
//! ```text
//! order jobs by (urgency, a_i) ;  start the first, then the next, ... while each fits
//! strict:    stop at the first gang that does not fit
//! backfill:  pass it over, at the risk that it waits for ever
//! ```

use crate::Promise;
use crate::fill::Room;
use crate::registry::Entry;
use evenhand_core::{GpuCount, Limits, Others, ParameterSpec, Plan, Policy, PolicyError, Reason, Snapshot};

const BACKFILL: ParameterSpec = ParameterSpec {
    name: "backfill",
    default: "false",
    summary: "let smaller jobs overtake one that does not fit yet",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "First come, first served; a job keeps its GPUs to its end.",
    paper: "classical",
    promises: &[Promise::NeverPreempts],
    parameters: &[BACKFILL],
    build: |parameters| Ok(Box::new(Fifo { backfill: parameters.read(&BACKFILL, "it is true or false")? })),
};

struct Fifo {
    backfill: bool,
}

impl Policy for Fifo {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut room = Room::left_over(snapshot);
        let mut reason = Reason::FirstCome;
        for (index, job) in snapshot.jobs.queue() {
            if room.total() == GpuCount::ZERO {
                break;
            }
            match room.grant(index, job, reason) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => {
                    plan.refused.push((job.spec.id, why));
                    if !self.backfill {
                        break;
                    }
                    reason = Reason::Backfilled;
                }
            }
        }
        Ok(plan)
    }
}
