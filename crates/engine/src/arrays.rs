//! Arrays of which only so many jobs may be on their way at a time.
//!
//! A job that has a turn waits for GPUs like any other; one that has none is not to be granted any. A turn ends with its job, or when the job
//! was put on hold and holds no GPUs: then the next in order of number has it.

use crate::Engine;
use crate::state::State;
use evenhand_core::{JobId, JobSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Whose turn it is in an array.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Turns {
    at_once: usize,
    /// Its jobs that have not ended.
    members: BTreeSet<JobId>,
    /// Those that have a turn.
    open: BTreeSet<JobId>,
}

impl State {
    /// A new job takes a turn if one is left.
    pub fn join_array(&mut self, spec: &JobSpec) {
        let Some((member, at_once)) = spec.array.and_then(|member| Some((member, member.at_once?))) else {
            return;
        };
        let turns = self.arrays.entry(member.array).or_insert_with(|| Turns {
            at_once: at_once.max(1) as usize,
            members: BTreeSet::new(),
            open: BTreeSet::new(),
        });
        turns.members.insert(spec.id);
        if turns.open.len() < turns.at_once {
            turns.open.insert(spec.id);
        }
    }

    pub fn waits_for_a_turn(&self, spec: &JobSpec) -> bool {
        let turns = spec.array.and_then(|member| self.arrays.get(&member.array));
        turns.is_some_and(|turns| !turns.open.contains(&spec.id))
    }
}

impl Engine {
    /// Takes a job that has ended out of its array.
    pub(crate) fn leave_array(&mut self, spec: &JobSpec) {
        let Some(array) = spec.array.map(|member| member.array) else { return };
        if let Some(turns) = self.state.arrays.get_mut(&array) {
            turns.members.remove(&spec.id);
            turns.open.remove(&spec.id);
            if turns.members.is_empty() {
                self.state.arrays.remove(&array);
            }
        }
        self.give_turns_of(array);
    }

    /// Something changed for a job: another of its array may have its turn.
    pub(crate) fn give_turns(&mut self, job: JobId) {
        let array = self.state.jobs.by_id(job).and_then(|job| job.spec.array);
        if let Some(member) = array.filter(|member| member.at_once.is_some()) {
            self.give_turns_of(member.array);
        }
    }

    fn give_turns_of(&mut self, array: JobId) {
        let state = &mut self.state;
        let Some(turns) = state.arrays.get_mut(&array) else { return };
        let (jobs, holds) = (&state.jobs, &state.holds);
        let holds_gpus = |job: &JobId| jobs.by_id(*job).is_some_and(|job| job.lease().is_some());
        turns.open.retain(|job| !holds.contains(job) || holds_gpus(job));
        let next = turns.members.iter().filter(|job| !turns.open.contains(job) && !holds.contains(job));
        let next: Vec<JobId> = next.take(turns.at_once.saturating_sub(turns.open.len())).copied().collect();
        turns.open.extend(&next);
        for job in next {
            self.wake_job(job);
        }
    }
}
