//! What another policy would do now, without doing it.

use crate::{Engine, Step};
use evenhand_core::{
    Choice, Command, GpuSet, JobId, Lease, LeaseId, Note, Occasion, Reason, StopReason, Time,
};
use std::collections::BTreeMap;

/// What a policy would change if a round were due now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rehearsal {
    /// Jobs that would be given GPUs: some at once, some when others have left them.
    pub starts: Vec<RehearsedStart>,
    /// Jobs that would be stopped, to make room or to go on elsewhere.
    pub stops: Vec<RehearsedStop>,
    /// Leases that would go on as they are.
    pub kept: u32,
    /// What the policy would have people know: that it failed, say.
    pub notes: Vec<Note>,
}

/// A job that would be given GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct RehearsedStart {
    /// Which.
    pub job: JobId,
    /// Where.
    pub gpus: GpuSet,
    /// Why.
    pub reason: Reason,
}

/// A job that would be stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct RehearsedStop {
    /// Which.
    pub job: JobId,
    /// What it would give up.
    pub gpus: GpuSet,
    /// Why.
    pub reason: StopReason,
}

impl Engine {
    /// Decides as at a regular round under another policy, says what would come of it, and forgets it again. `None` if there is no such
    /// policy. Time may have gone on since the last event, never back.
    pub fn rehearse(&mut self, now: Time, choice: &Choice) -> Option<Rehearsal> {
        let policy = (self.parts.make_policy)(choice)?;
        let kept_state = self.state.clone();
        let kept_policy = std::mem::replace(&mut self.parts.policy, policy);
        self.state.now = now.max(kept_state.now);
        self.state.previous = None;
        self.state.regular_due = self.state.now + self.parts.config.round;
        let mut step = Step::default();
        self.decide(Occasion::Regular, &mut step);
        let rehearsed = std::mem::replace(&mut self.state, kept_state);
        self.parts.policy = kept_policy;
        let before = &self.state.leases;
        let mut stops = BTreeMap::new();
        for command in &step.commands {
            if let Command::Stop { lease, reason, .. } = command
                && let Some(lease) = before.get(*lease)
            {
                stops.insert(lease.id, stop(lease, *reason));
            }
        }
        // A lease that only waited for its GPUs is withdrawn without a word to the world.
        for lease in before.iter().filter(|lease| rehearsed.leases.get(lease.id).is_none()) {
            stops.entry(lease.id).or_insert_with(|| stop(lease, StopReason::Preempted));
        }
        let is_new = |id: LeaseId| before.get(id).is_none();
        let lasting = before.iter().filter(|lease| lease.is_lasting() && !stops.contains_key(&lease.id));
        let kept = lasting.count() as u32;
        let starts = rehearsed.leases.iter().filter(|lease| is_new(lease.id)).map(|lease| RehearsedStart {
            job: lease.job,
            gpus: lease.gpus.clone(),
            reason: lease.reason,
        });
        let is_trouble = |note: &Note| matches!(note, Note::PolicyFailed(_) | Note::PlanRefused(_));
        Some(Rehearsal {
            starts: starts.collect(),
            kept,
            stops: stops.into_values().collect(),
            notes: step.notes.into_iter().filter(is_trouble).collect(),
        })
    }
}

fn stop(lease: &Lease, reason: StopReason) -> RehearsedStop {
    RehearsedStop { job: lease.job, gpus: lease.gpus.clone(), reason }
}
