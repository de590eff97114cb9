//! A world that is played by hand.

use super::{Script, Stage};
use evenhand_core::{
    Backend, Command, EndCause, Event, GpuId, GpuSet, GpuTime, JobId, Lease, LeaseId, LeaseState, NodeId,
    Outcome, Reason, Round, Sharing, Span, StopReason, Time, Work,
};

/// A world, the time in it, and everything heard from it.
pub struct Play {
    world: Box<dyn Backend>,
    pub now: Time,
    pub heard: Vec<Event>,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    pub at: Time,
    pub cause: EndCause,
    pub done: Work,
    pub saved: Work,
}

/// GPU `ordinal` of node `node`, for each pair.
pub fn gpus(pairs: &[(u32, u8)]) -> GpuSet {
    GpuSet::of(pairs.iter().map(|(node, ordinal)| GpuId { node: NodeId(*node), ordinal: *ordinal }))
}

/// Whether an event is about this lease.
pub fn concerns(event: &Event, wanted: LeaseId) -> bool {
    match event {
        Event::LeaseStarted(lease)
        | Event::LeaseEnded { lease, .. }
        | Event::LaunchFailed { lease, .. }
        | Event::Progress { lease, .. }
        | Event::Telemetry { lease, .. } => *lease == wanted,
        _ => false,
    }
}

impl Play {
    pub fn open(stage: &dyn Stage, script: &Script) -> Self {
        Self { world: stage.world(script), now: Time::ZERO, heard: Vec::new() }
    }

    /// A play in which the first `jobs` jobs have arrived.
    pub fn with_jobs(stage: &dyn Stage, script: &Script, jobs: usize) -> Self {
        let mut play = Self::open(stage, script);
        (0..jobs).for_each(|_| play.until(|event| matches!(event, Event::Submitted(_))));
        play
    }

    /// The next event, unless the world has ended.
    pub fn next(&mut self) -> Option<Event> {
        let (now, event) = self.world.next().expect("no world of this suite fails")?;
        assert!(self.now <= now, "time went back from {:?} to {now:?} with {event:?}", self.now);
        self.now = now;
        self.heard.push(event.clone());
        Some(event)
    }

    /// Plays on until such an event.
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) {
        while !wanted(&self.next().expect("the world ended while something was awaited")) {}
    }

    /// Plays on until such an event, unless there was one before.
    pub fn until_heard(&mut self, wanted: impl Fn(&Event) -> bool) {
        if self.count(&wanted) == 0 {
            self.until(wanted);
        }
    }

    pub fn until_started(&mut self, lease: LeaseId) {
        self.until(|event| *event == Event::LeaseStarted(lease));
    }

    pub fn until_ended(&mut self, wanted: LeaseId) -> Ending {
        loop {
            let event = self.next().expect("the world ended before the lease");
            if let Event::LeaseEnded { lease, done, saved, cause } = event
                && lease == wanted
            {
                assert!(saved <= done, "more was saved than done");
                return Ending { at: self.now, cause, done, saved };
            }
        }
    }

    pub fn tell(&mut self, command: &Command) {
        self.world.execute(self.now, command).expect("no world of this suite fails");
    }

    /// Starts a job on these GPUs, until then.
    pub fn start(&mut self, (lease, job): (u64, u64), gpus: GpuSet, expires: Time) -> LeaseId {
        self.tell(&Command::Start(Lease {
            id: LeaseId(lease),
            job: JobId(job),
            gpus,
            sharing: Sharing::Alone,
            starts: self.now,
            expires,
            reason: Reason::FirstCome,
            state: LeaseState::Asked,
            taken: self.now,
            booked: self.now,
        }));
        LeaseId(lease)
    }

    pub fn stop(&mut self, lease: LeaseId, grace: Span) {
        self.tell(&Command::Stop { lease, reason: StopReason::Preempted, grace });
    }

    pub fn end(&mut self, job: u64) {
        self.tell(&Command::End { job: JobId(job), outcome: Outcome::Finished, attained: GpuTime::ZERO });
    }

    /// Sets the alarm so much later than now.
    pub fn wake_in(&mut self, span: Span, round: u64) {
        self.tell(&Command::WakeAt(self.now + span, Round(round)));
    }

    /// Lets so much time go by.
    pub fn pass(&mut self, span: Span) {
        self.wake_in(span, 1);
        self.until(|event| *event == Event::RoundDue(Round(1)));
    }

    /// How often something was heard.
    pub fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.heard.iter().filter(|event| wanted(event)).count()
    }
}

pub fn is_end(event: &Event) -> bool {
    matches!(event, Event::LeaseEnded { .. })
}

/// Whether the job is finished, whatever it would have taken alone.
pub fn is_finished(cause: EndCause) -> bool {
    matches!(cause, EndCause::Finished { .. })
}
