//! What would be decided now, under another policy or with more jobs, without doing it.

use crate::state::State;
use crate::{Engine, Step};
use evenhand_core::{
    Choice, Command, Event, GpuSet, JobId, Lease, LeaseId, Note, Occasion, Reason, StopReason, Time,
};
use std::collections::BTreeMap;

/// What a decision would change if it were due now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rehearsal {
    /// Jobs that would be given GPUs: some at once, some when others have left them.
    pub starts: Vec<RehearsedStart>,
    /// Jobs that would be stopped, to make room or to go on elsewhere.
    pub stops: Vec<RehearsedStop>,
    /// Jobs that would have no GPUs.
    pub waits: Vec<RehearsedWait>,
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

/// A job that would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RehearsedWait {
    /// Which.
    pub job: JobId,
    /// Why, if the policy says so; nothing if the job may not run yet, whoever decides.
    pub reason: Option<Reason>,
}

impl Engine {
    /// Decides as at a regular round under another policy, says what would come of it, and forgets it again. `None` if there is no such
    /// policy. Time may have gone on since the last event, never back.
    pub fn rehearse(&mut self, now: Time, choice: &Choice) -> Option<Rehearsal> {
        let policy = (self.parts.make_policy)(choice)?;
        let kept_policy = std::mem::replace(&mut self.parts.policy, policy);
        let rehearsal = self.try_out(now, |engine, step| {
            engine.state.previous = None;
            engine.state.regular_due = engine.state.now + engine.parts.config.round;
            engine.decide(Occasion::Regular, step);
        });
        self.parts.policy = kept_policy;
        Some(rehearsal)
    }

    /// What would be decided if these events happened now and a decision were due: a regular one, or whichever would come next. Nothing of it
    /// is kept. Events about leases are not for this: what a predictor has observed it does not forget.
    pub fn rehearse_events(&mut self, now: Time, events: &[Event], regular: bool) -> Rehearsal {
        self.try_out(now, |engine, step| {
            for event in events {
                engine.take(event, step);
            }
            let state = &mut engine.state;
            let is_regular = regular || state.regular_due <= state.now || state.leases.is_empty();
            if is_regular {
                state.regular_due = state.now + engine.parts.config.round;
            }
            engine.decide(if is_regular { Occasion::Regular } else { Occasion::Early }, step);
        })
    }

    /// Does something, compares the leases there were with those there would be, and undoes it.
    fn try_out(&mut self, now: Time, work: impl FnOnce(&mut Self, &mut Step)) -> Rehearsal {
        let kept_state = self.state.clone();
        self.state.now = now.max(kept_state.now);
        let mut step = Step::default();
        work(self, &mut step);
        let rehearsed = std::mem::replace(&mut self.state, kept_state);
        self.difference(&rehearsed, step)
    }

    fn difference(&self, rehearsed: &State, step: Step) -> Rehearsal {
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
        let waiting = rehearsed.jobs.iter().filter(|(_, job)| job.lease().is_none());
        let waits = waiting.map(|(_, job)| RehearsedWait {
            job: job.spec.id,
            reason: rehearsed.waits.get(&job.spec.id).copied(),
        });
        let is_trouble = |note: &Note| matches!(note, Note::PolicyFailed(_) | Note::PlanRefused(_));
        Rehearsal {
            starts: starts.collect(),
            waits: waits.collect(),
            kept,
            stops: stops.into_values().collect(),
            notes: step.notes.into_iter().filter(is_trouble).collect(),
        }
    }
}

fn stop(lease: &Lease, reason: StopReason) -> RehearsedStop {
    RehearsedStop { job: lease.job, gpus: lease.gpus.clone(), reason }
}
