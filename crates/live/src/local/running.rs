//! A lease whose job runs.

use super::EXPIRY_GRACE;
use super::group::ProcessGroup;
use evenhand_core::{EndCause, JobId, JobSpec, Lease, NodeId, Span, Time, Work};
use std::process::ExitStatus;
use std::sync::Arc;

/// A lease whose job runs, and its processes.
#[derive(Debug)]
pub(super) struct Running {
    lease: Lease,
    spec: Arc<JobSpec>,
    pub(super) group: ProcessGroup,
    leaving: Option<Leaving>,
    reported: Work,
}

/// Why a job must leave, and when it is killed if it has not.
#[derive(Debug)]
struct Leaving {
    cause: EndCause,
    kill_at: Time,
}

impl Running {
    pub(super) fn new(lease: Lease, spec: Arc<JobSpec>, group: ProcessGroup) -> Self {
        Self { lease, spec, group, leaving: None, reported: Work::ZERO }
    }

    pub(super) fn job(&self) -> JobId {
        self.lease.job
    }

    pub(super) fn touches(&self, node: NodeId) -> bool {
        self.lease.gpus.touches(node)
    }

    pub(super) fn renew(&mut self, expires: Time) {
        self.lease.expires = expires;
    }

    /// Asks the job to save and leave; the first to ask sets cause and grace.
    pub(super) fn stop(&mut self, now: Time, cause: EndCause, grace: Span) {
        if self.leaving.is_none() {
            self.group.ask_to_leave();
            self.leaving = Some(Leaving { cause, kill_at: now + grace });
        }
    }

    /// Kills the job at once: a node under it is gone.
    pub(super) fn lose(&mut self) {
        self.group.kill();
        self.leaving = Some(Leaving { cause: EndCause::NodeLost, kill_at: Time::NEVER });
    }

    /// Kills the job at once: nobody wants it any more. If it was leaving already, it leaves for the old cause.
    pub(super) fn abandon(&mut self) {
        self.group.kill();
        let cause = self.leaving.as_ref().map_or(EndCause::Stopped, |leaving| leaving.cause);
        self.leaving = Some(Leaving { cause, kill_at: Time::NEVER });
    }

    /// Kills the job if its grace is over.
    pub(super) fn kill_if_overdue(&mut self, now: Time) {
        if let Some(leaving) = self.leaving.as_mut().filter(|leaving| leaving.kill_at <= now) {
            self.group.kill();
            leaving.kill_at = Time::NEVER;
        }
    }

    /// Stops the job if its lease was not renewed in time.
    pub(super) fn stop_if_expired(&mut self, now: Time) {
        if self.lease.expires < now {
            self.stop(now, EndCause::Expired, EXPIRY_GRACE);
        }
    }

    /// When something must be done about it.
    pub(super) fn due(&self) -> Time {
        self.leaving.as_ref().map_or(self.lease.expires + Span(1), |leaving| leaving.kill_at)
    }

    /// Whether the job has moved on since it was last reported.
    pub(super) fn has_moved(&mut self, done: Work) -> bool {
        std::mem::replace(&mut self.reported, done) != done
    }

    /// Why the lease ended, given how the job's process did.
    ///
    /// Exit code 0 means finished, even when the job was asked to stop. Nothing is heard from a lost node, not even
    /// that. Asked to leave, programs exit in many ways (75, 143, by the signal), so every other way counts as obeying.
    pub(super) fn cause(&self, status: Option<ExitStatus>) -> EndCause {
        match self.leaving.as_ref().map(|leaving| leaving.cause) {
            Some(EndCause::NodeLost) => EndCause::NodeLost,
            _ if status.is_some_and(|status| status.success()) => EndCause::Finished { alone: None },
            Some(cause) => cause,
            None => EndCause::Crashed,
        }
    }

    /// The work done when it ended, given what the checkpoint says.
    pub(super) fn done(&self, cause: EndCause, saved: Work) -> Work {
        let declared = self.spec.work.filter(|_| matches!(cause, EndCause::Finished { .. }));
        declared.unwrap_or(saved)
    }
}
