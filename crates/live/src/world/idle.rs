//! A runner for tests that runs nothing, and says what it is told to say.

use crate::runner::{LiveJob, Runner, Seen};
use evenhand_core::{Abilities, EndCause, JobId, Lease, LeaseId, Outcome, Span, Work};
use std::sync::{Arc, Mutex};

/// Runs nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    /// What is seen of every lease.
    pub seen: Arc<Mutex<Seen>>,
}

impl Runner for Idle {
    fn abilities(&self) -> Abilities {
        crate::LOCAL_ABILITIES
    }
    fn start(&mut self, _: &Lease, _: &LiveJob) {}
    fn adopt(&mut self, _: &Lease) -> bool {
        true
    }
    fn stop(&mut self, _: LeaseId, _: EndCause, _: Span) {}
    fn look(&mut self, _: LeaseId) -> Seen {
        *self.seen.lock().unwrap()
    }
    fn steps(&self, _: JobId) -> Option<Work> {
        None
    }
    fn clear(&mut self, _: LeaseId) {}
    fn end(&mut self, _: JobId, _: Outcome) {}
    fn keep_only(&mut self, _: &dyn Fn(LeaseId) -> bool) {}
}
