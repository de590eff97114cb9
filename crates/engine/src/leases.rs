//! `Waiting -> Asked -> Held -> Stopping -> ended`: every arrow is one function here.

use crate::beliefs::Ended;
use crate::{Engine, Step};
use evenhand_core::{
    Command, EndCause, Event, GpuSet, GpuTime, Grant, JobId, JobState, Lease, LeaseId, LeaseState,
    ModelIndex, Note, Outcome, Retry, Sharing, Span, StopReason, Time, Work,
};
use std::sync::Arc;

impl Engine {
    /// Decides a lease: asks for its start, or lets it wait for GPUs that are being given up.
    pub(crate) fn book(&mut self, grant: &Grant, gpus: GpuSet, step: &mut Step) {
        let state = &mut self.state;
        let id = LeaseId(state.lease_next);
        state.lease_next += 1;
        let expires = grant.term.map_or(state.regular_due, |term| state.now + term);
        let lease = Lease {
            id,
            job: grant.job,
            gpus,
            sharing: grant.sharing,
            starts: state.now,
            expires,
            reason: grant.reason,
            state: LeaseState::Waiting,
            taken: state.now,
            booked: state.now,
        };
        let now = state.now;
        Arc::make_mut(&mut state.jobs).change(grant.job, |job| {
            if let JobState::Queued { since } = job.state {
                job.waited += now.since(since);
            }
            job.state = JobState::Leased(id);
        });
        state.waits.remove(&grant.job);
        let startable = state.seats.can_take(&lease);
        if !startable {
            assert!(
                lease.sharing == Sharing::Alone,
                "a shared lease is only decided where it can start at once"
            );
            state.seats.promise(&lease, Arc::make_mut(&mut state.cluster));
        }
        Arc::make_mut(&mut state.leases).insert(lease);
        if startable {
            self.ask_start(id, step);
        }
    }

    /// `Waiting -> Asked`.
    fn ask_start(&mut self, id: LeaseId, step: &mut Step) {
        let state = &mut self.state;
        let now = state.now;
        let lease = Arc::make_mut(&mut state.leases).get_mut(id).expect("only a decided lease is started");
        assert_eq!(lease.state, LeaseState::Waiting, "{id} is started twice");
        lease.state = LeaseState::Asked;
        (lease.taken, lease.booked) = (now, now);
        state.seats.take(lease, Arc::make_mut(&mut state.cluster));
        step.commands.push(Command::Start(lease.clone()));
    }

    /// `Asked -> Held`.
    pub(crate) fn lease_started(&mut self, id: LeaseId, event: &Event, step: &mut Step) {
        let now = self.state.now;
        let lease = Arc::make_mut(&mut self.state.leases).get_mut(id);
        let Some(lease) = lease.filter(|lease| lease.state == LeaseState::Asked) else {
            // A lease that is already being stopped may still report that it started.
            step.notes.push(Note::Ignored);
            return;
        };
        lease.state = LeaseState::Held;
        let job = lease.job;
        Arc::make_mut(&mut self.state.jobs).change(job, |job| {
            job.starts += 1;
            job.heard = now;
        });
        self.trust_nodes(id);
        self.observe(job, event, None);
    }

    /// `Held -> Held`, with a later deadline.
    pub(crate) fn renew(&mut self, id: LeaseId, until: Time, step: &mut Step) {
        let lease =
            Arc::make_mut(&mut self.state.leases).get_mut(id).expect("only a running lease is renewed");
        assert!(lease.is_lasting(), "{id} is renewed while it is being stopped");
        if until > lease.expires {
            lease.expires = until;
            if lease.is_seated() {
                step.commands.push(Command::Renew { lease: id, expires: until });
            }
        }
    }

    /// `Asked | Held -> Stopping`, or off at once if it never started. Stopping twice is stopping once.
    pub(crate) fn stop(&mut self, id: LeaseId, reason: StopReason, step: &mut Step) {
        let state = &mut self.state;
        let Some(lease) = Arc::make_mut(&mut state.leases).get_mut(id) else { return };
        match lease.state {
            LeaseState::Stopping => {}
            LeaseState::Waiting => self.withdraw(id, step),
            LeaseState::Asked | LeaseState::Held => {
                lease.state = LeaseState::Stopping;
                state.stopping.insert(id, state.now);
                step.commands.push(Command::Stop { lease: id, reason, grace: self.parts.config.grace });
            }
        }
    }

    /// A lease that never took its GPUs is off.
    pub(crate) fn withdraw(&mut self, id: LeaseId, step: &mut Step) {
        let state = &mut self.state;
        let lease = Arc::make_mut(&mut state.leases).remove(id).expect("only a decided lease is withdrawn");
        assert_eq!(lease.state, LeaseState::Waiting, "{id} holds GPUs and cannot be withdrawn");
        state.seats.release_promise(&lease, Arc::make_mut(&mut state.cluster));
        step.notes.push(Note::Withdrawn(id));
        self.rest(lease.job);
    }

    /// A job without a lease goes back to where it stands.
    fn rest(&mut self, job: JobId) {
        let Some(resting) = self.state.jobs.by_id(job).map(|job| self.state.resting_state(&job.spec)) else {
            return;
        };
        Arc::make_mut(&mut self.state.jobs).change(job, |job| job.state = resting);
    }

    /// `Stopping | Held | Asked -> ended`: the only way in which GPUs become free.
    pub(crate) fn lease_ended(
        &mut self,
        id: LeaseId,
        (done, saved): (Work, Work),
        cause: EndCause,
        event: &Event,
        step: &mut Step,
    ) {
        let halted = self.state.stopping.get(&id).copied();
        let Some(lease) = self.close(id, step) else { return };
        let now = self.state.now;
        let mut rewound = false;
        Arc::make_mut(&mut self.state.jobs).change(lease.job, |job| {
            // What was not saved is lost, unless the job is finished and needs it no more.
            let finished = matches!(cause, EndCause::Finished { .. });
            job.done = if finished { done } else { saved };
            (job.saved, job.heard) = (saved, now);
            job.crashes += u32::from(matches!(cause, EndCause::Crashed | EndCause::OutOfMemory));
            job.out_of_memory += u32::from(cause == EndCause::OutOfMemory);
            rewound = job.rewind();
        });
        self.observe(lease.job, event, Some(Ended { lease: &lease, halted, rewound }));
        let unwanted = self.state.unwanted.get(&lease.job).copied();
        let crashes = self.state.jobs.by_id(lease.job).map_or(0, |job| job.crashes);
        let outcome = match cause {
            EndCause::Finished { .. } => Some(Outcome::Finished),
            EndCause::Crashed | EndCause::OutOfMemory if crashes > self.parts.config.crashes_max => {
                Some(Outcome::Failed)
            }
            _ => unwanted,
        };
        if let Some(outcome) = outcome {
            self.end_job(lease.job, outcome, step);
        } else if matches!(cause, EndCause::Crashed | EndCause::OutOfMemory) {
            self.back_off(lease.job, crashes);
        }
        self.start_waiting(&lease.gpus, step);
    }

    /// A job that crashed waits before it is tried again.
    fn back_off(&mut self, job: JobId, crashes: u32) {
        let delay = self.parts.config.retry_delay_after(crashes);
        if delay > Span::ZERO {
            self.state.retries.insert(job, self.state.now + delay);
            self.rest(job);
        }
    }

    /// `Asked -> ended`, without having run.
    pub(crate) fn launch_failed(&mut self, id: LeaseId, retry: Retry, step: &mut Step) {
        let Some(lease) = self.close(id, step) else { return };
        let counts = retry != Retry::Freely;
        Arc::make_mut(&mut self.state.jobs).change(lease.job, |job| job.crashes += u32::from(counts));
        let crashes = self.state.jobs.by_id(lease.job).map_or(0, |job| job.crashes);
        let unwanted = self.state.unwanted.get(&lease.job).copied();
        if retry == Retry::Never || (counts && crashes > self.parts.config.crashes_max) {
            self.end_job(lease.job, Outcome::Failed, step);
        } else if let Some(outcome) = unwanted {
            self.end_job(lease.job, outcome, step);
        } else {
            self.back_off(lease.job, if counts { crashes } else { 1 });
        }
        if counts {
            self.suspect_nodes(&lease.gpus, step);
        }
        self.start_waiting(&lease.gpus, step);
    }

    /// Takes an ended lease out of all books.
    fn close(&mut self, id: LeaseId, step: &mut Step) -> Option<Lease> {
        let state = &mut self.state;
        let known = state.leases.get(id).is_some_and(Lease::is_seated);
        if !known {
            step.notes.push(Note::Ignored);
            return None;
        }
        self.book_received(id);
        let state = &mut self.state;
        let lease = Arc::make_mut(&mut state.leases).remove(id)?;
        state.stopping.remove(&id);
        state.guests.remove(&id);
        state.hosts.remove(&id);
        state.seats.give_back(&lease, Arc::make_mut(&mut state.cluster));
        let span = state.now.since(lease.taken);
        let (cluster, jobs) = (&state.cluster, Arc::make_mut(&mut state.jobs));
        jobs.change(lease.job, |job| {
            for seat in lease.gpus.seats() {
                let model: ModelIndex = cluster.nodes[seat.node.index()].model;
                job.attained[model] += GpuTime::new(evenhand_core::GpuCount(seat.gpus.count()), span);
            }
        });
        self.rest(lease.job);
        self.give_turns(lease.job);
        self.state.ask_early();
        Some(lease)
    }

    /// Starts decided leases whose GPUs have all come free.
    fn start_waiting(&mut self, freed: &GpuSet, step: &mut Step) {
        for id in self.state.seats.waiting_for(freed) {
            let state = &mut self.state;
            let ready = state.leases.get(id).is_some_and(|lease| state.seats.can_take(lease));
            if ready && let Some(lease) = state.leases.get(id) {
                state.seats.release_promise(lease, Arc::make_mut(&mut state.cluster));
                self.ask_start(id, step);
            }
        }
    }
}
