//! First come, first served: a job keeps its GPUs to its end.
//!
//! ```text
//! order jobs by (urgency, a_i) ;  start the first, then the next, ... while each fits
//! strict:    stop at the first gang that does not fit
//! backfill:  pass it over, at the risk that it waits for ever
//! ```

use crate::Promise;
use crate::fill::Room;
use crate::gavel_rounds::{GavelRounds, RESET, ROUND, VARIANT, fork};
use crate::registry::Entry;
use evenhand_core::{
    GpuCount, JobId, Limits, Others, ParameterSpec, PerModel, Plan, Policy, PolicyError, Reason, Snapshot,
};
use std::collections::VecDeque;

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
    parameters: &[BACKFILL, VARIANT, RESET, ROUND],
    build: |parameters| {
        let backfill = parameters.read(&BACKFILL, "it is true or false")?;
        Ok(match fork(parameters)? {
            Some(rounds) => Box::new(Fork { rounds: GavelRounds { runs_without_priority: false, ..rounds } }),
            None => Box::new(Fifo { backfill }),
        })
    },
};

/// As in the published simulators. Jobs that ended are replaced one by one while the others are still being counted, so
/// that more GPUs may be given away than there are; the rounds then take turns.
struct Fork {
    rounds: GavelRounds,
}

impl Policy for Fork {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(self.rounds.decide(snapshot, |snapshot, _, held: &mut Vec<JobId>| {
            let model = evenhand_core::ModelIndex(0);
            let mut free = i64::from(snapshot.cluster.capacity(model).0);
            let gang = |id: JobId| snapshot.jobs.by_id(id).map_or(0, |job| i64::from(job.spec.gpus.min.0));
            let mut queue: Vec<JobId> = snapshot.jobs.iter().map(|(_, job)| job.spec.id).collect();
            queue.retain(|id| !held.contains(id));
            queue.sort_unstable();
            let mut queue: VecDeque<JobId> = queue.into();
            let mut keeps = Vec::new();
            let admit = |queue: &mut VecDeque<JobId>, free: &mut i64, admitted: &mut Vec<JobId>| {
                let Some(head) = queue.front().copied().filter(|head| gang(*head) <= *free) else {
                    return false;
                };
                queue.pop_front();
                *free -= gang(head);
                admitted.push(head);
                true
            };
            let mut admitted = Vec::new();
            for id in held.iter() {
                if snapshot.jobs.by_id(*id).is_some() {
                    free -= gang(*id);
                    keeps.push(*id);
                } else {
                    admit(&mut queue, &mut free, &mut admitted);
                }
            }
            while free > 0 && admit(&mut queue, &mut free, &mut admitted) {}
            *held = keeps.into_iter().chain(admitted).collect();
            let row = |id: JobId| {
                let mut row = PerModel::all(0.0);
                row[model] = if held.contains(&id) { 1.0 } else { 0.0 };
                row
            };
            snapshot.jobs.iter().map(|(_, job)| (job.spec.id, row(job.spec.id))).collect()
        }))
    }
}

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
