//! Gandiva: jobs take turns in quanta, pairs that get along share a GPU, and spread-out gangs are drawn together.
//!
//! ```text
//! turns:    who has waited longest runs next; who has run for a quantum is the last to stay
//! packing:  1/sigma_a + 1/sigma_b > 1      sigma = believed slowdown of each job of a pair on one GPU
//!           undone when the rates seen, over those alone, sum to 1 or less
//! moving:   a gang spread over nodes that would gain more than its restart on one node, while nobody waits
//! ```
//!
//! Packing needs GPUs with more than one slot, jobs of one GPU that consent, and a belief that a pair gets more done
//! than by taking turns. Where one of these is missing - every GPU has one slot unless its node says otherwise -
//! what is left is time-slicing. Trial and undo are remembered: a pair that disappointed is never packed again, a
//! gang that was moved is not moved again.
//!
//! Differs from the paper: there a job is packed, watched and moved within minutes and without a restart; here
//! everything happens at decisions, and a move is a stop and a start. A job can be joined only if it was started on a
//! GPU that was free, as shareable: one that takes over a GPU from a preempted job holds it alone. No grow-shrink:
//! jobs run on `gpus.min`. Packing looks at the 100 jobs that have waited longest: O(100 H) for H hosts.

mod moving;
mod packing;
mod tables;
mod trials;

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, Room, candidates};
use crate::registry::{Entry, Promise};
use evenhand_core::{
    Job, JobIndex, JobState, Limits, Memory, Others, ParameterSpec, Plan, Policy, PolicyError, Snapshot,
    Span, Time,
};
use moving::draw_together;
pub(crate) use packing::rates;
pub(crate) use tables::{Tables, shares};
pub(crate) use trials::Tried;

const QUANTUM: ParameterSpec = ParameterSpec {
    name: "quantum",
    default: "60s",
    summary: "how long a job runs at least before it may have to make way",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "gandiva",
    summary: "Jobs take turns; pairs that get along share a GPU; gangs are drawn together. Trial and undo.",
    paper: "Gandiva, OSDI 2018",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS, QUANTUM],
    divide: None,
    build: |parameters| {
        Ok(Box::new(Gandiva {
            preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?,
            quantum: parameters.span(&QUANTUM)?,
        }))
    },
};

struct Gandiva {
    preempt: Preempt,
    quantum: Span,
}

impl Policy for Gandiva {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Tried>());
        let mut tried = known.map(|known| (*known).clone()).unwrap_or_default();
        tried.review(snapshot, self.quantum);
        let due = self.preempt.is_due(snapshot);
        let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        let mut tables = Tables::new(snapshot);
        for (index, job) in self.turns(snapshot) {
            match tables.turn((index, job), None, &tried, &mut room) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        tables.pack(&mut plan, &mut tried, &mut room, due);
        if due && plan.refused.is_empty() {
            draw_together(snapshot, &mut plan, &mut tried);
        }
        plan.memory = Memory::new(tried);
        Ok(plan)
    }
}

impl Gandiva {
    /// The jobs that are up for decision: in their first quantum, then waiting, the longest first, then the rest.
    fn turns<'a>(&self, snapshot: &'a Snapshot) -> Vec<(JobIndex, &'a Job)> {
        let turn = |job: &Job| match (job.state, snapshot.leases.of_job(Some(job))) {
            (JobState::Queued { since }, _) => (1, since),
            (_, Some(lease)) if snapshot.now.since(lease.taken) < self.quantum => (0, lease.taken),
            (_, lease) => (2, lease.map_or(Time::ZERO, |lease| lease.taken)),
        };
        let mut order: Vec<_> = candidates(snapshot, self.preempt).collect();
        order.sort_unstable_by_key(|(_, job)| (turn(job), job.queue_key()));
        order
    }
}
