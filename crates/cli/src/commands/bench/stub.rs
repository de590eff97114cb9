//! A runner whose jobs only pretend to run: the service without processes.

use evenhand_core::{Abilities, EndCause, JobId, Lease, LeaseId, Outcome, Span, Work};
use evenhand_live::{Ending, LOCAL_ABILITIES, LiveJob, Mail, Runner, Seen};
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

/// Starts and stops at once whatever it is told to, and ends nothing by itself.
pub struct StubRunner {
    tell: Sender<Mail>,
    /// Leases that run, and why they were told to leave.
    leases: BTreeMap<LeaseId, Option<EndCause>>,
}

impl StubRunner {
    /// One that tells its news there.
    pub fn new(tell: Sender<Mail>) -> Self {
        Self { tell, leases: BTreeMap::new() }
    }

    fn news(&self, lease: LeaseId) {
        // A world that is gone needs no news.
        let _ = self.tell.send(Mail::Look(lease));
    }
}

impl Runner for StubRunner {
    fn abilities(&self) -> Abilities {
        LOCAL_ABILITIES
    }

    fn start(&mut self, lease: &Lease, _job: &LiveJob) {
        self.leases.insert(lease.id, None);
        self.news(lease.id);
    }

    fn adopt(&mut self, lease: &Lease) -> bool {
        self.leases.contains_key(&lease.id)
    }

    fn stop(&mut self, lease: LeaseId, cause: EndCause, _grace: Span) {
        self.leases.insert(lease, Some(cause));
        self.news(lease);
    }

    fn look(&mut self, lease: LeaseId) -> Seen {
        let left = self.leases.get(&lease).copied().flatten();
        Seen { started: true, ended: left.map(Ending::Left), again: None }
    }

    fn steps(&self, _job: JobId) -> Option<Work> {
        Some(Work::ZERO)
    }

    fn clear(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
    }

    fn end(&mut self, _job: JobId, _outcome: Outcome) {}

    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool) {
        self.leases.retain(|lease, _| leases(*lease));
    }
}
