//! The runner: what the service asks of the cluster. It never waits for it.

use crate::hub::Hub;
use crate::tracked::{PodRef, Tracked};
use evenhand_core::{Abilities, EndCause, JobId, Lease, LeaseId, Node, Outcome, Span, Work};
use evenhand_live::{GpuName, LiveJob, Runner, Seen};
use std::sync::Arc;
use tokio::runtime::Handle;

/// What pods can do.
pub const ABILITIES: Abilities = Abilities { resize: false, share: false, grace: true, bids: false };

/// Runs jobs as gangs of pods.
pub(crate) struct KubernetesRunner {
    hub: Arc<Hub>,
    runtime: Handle,
}

impl KubernetesRunner {
    /// A runner for the ledger with this mark.
    pub(crate) fn new(hub: Arc<Hub>, runtime: Handle, mark: &str) -> Self {
        mark.clone_into(&mut hub.books().mark);
        Self { hub, runtime }
    }

    fn track(&self, lease: &Lease) -> Option<Tracked> {
        let books = self.hub.books();
        let outside = books.jobs.get(&lease.job)?.outside.clone();
        Some(Tracked::new(lease.clone(), outside, books.mark_of(lease.id), self.hub.clock.now()))
    }
}

impl Runner for KubernetesRunner {
    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn runs_no_programs(&self) -> Option<&'static str> {
        Some(
            "jobs come as pods here: give them schedulerName and let the cluster make them (docs/kubernetes.md)",
        )
    }

    fn admit(&mut self, job: &LiveJob) {
        if let Some(outside) = &job.program.outside {
            self.hub.books().admit(job.spec.id, outside);
        }
    }

    fn forget(&mut self) {
        self.hub.books().forget();
    }

    fn begin(&mut self) {
        self.hub.books().begun = true;
        self.hub.news.notify_one();
    }

    fn learn(&mut self, node: &Node) {
        if let Some(name) = &node.name {
            self.hub.books().node_names.insert(node.id, name.to_string());
        }
    }

    fn start(&mut self, lease: &Lease, _job: &LiveJob) {
        let tracked = self.track(lease);
        let mut books = self.hub.books();
        if let Some(tracked) = tracked {
            books.leases.entry(lease.id).or_insert(tracked);
        }
        drop(books);
        self.hub.news.notify_one();
    }

    fn adopt(&mut self, lease: &Lease) -> bool {
        let Some(mut tracked) = self.track(lease) else { return false };
        let mut books = self.hub.books();
        if books.leases.contains_key(&lease.id) {
            return true;
        }
        let has_trace = tracked.adopt(&books.facts);
        if has_trace {
            books.leases.insert(lease.id, tracked);
        }
        has_trace
    }

    fn gpu_names(&self, lease: &Lease) -> Vec<Vec<GpuName>> {
        let books = self.hub.books();
        let pods = books.leases.get(&lease.id).into_iter().flat_map(Tracked::pods);
        let name =
            |pod: &PodRef| vec![GpuName::Pod { namespace: pod.namespace.clone(), name: pod.name.clone() }];
        pods.map(name).collect()
    }

    fn stop(&mut self, lease: LeaseId, cause: EndCause, grace: Span) {
        if let Some(tracked) = self.hub.books().leases.get_mut(&lease) {
            tracked.tell_to_leave(cause, grace);
        }
        self.hub.news.notify_one();
    }

    fn look(&mut self, lease: LeaseId) -> Seen {
        let books = self.hub.books();
        let Some(tracked) = books.leases.get(&lease) else {
            // A job that was not found in the cluster cannot be run there.
            let ended = Some(evenhand_live::Ending::NotLaunched(evenhand_core::Retry::Never));
            return Seen { ended, ..Seen::default() };
        };
        Seen { started: tracked.started, ended: tracked.ended, again: None }
    }

    fn steps(&self, job: JobId) -> Option<Work> {
        self.hub.books().jobs.get(&job).and_then(|known| known.steps).map(Work::from_steps)
    }

    fn clear(&mut self, lease: LeaseId) {
        self.hub.books().leases.remove(&lease);
        self.hub.news.notify_one();
    }

    fn end(&mut self, job: JobId, _outcome: Outcome) {
        self.hub.books().end(job);
        self.hub.news.notify_one();
    }

    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool) {
        let mut books = self.hub.books();
        books.leases.retain(|lease, _| leases(*lease));
        // News may have been lost with whatever made this necessary.
        (books.machines, books.asked) = (None, std::collections::BTreeMap::new());
        let prefix = format!("{}/", books.mark);
        let number = |lease: &str| lease.strip_prefix(&prefix)?.parse().ok().map(LeaseId);
        let is_left = |lease: &String| number(lease).is_some_and(|lease| !leases(lease));
        let left = books
            .facts
            .pods
            .values()
            .filter(|pod| pod.is_seated() && pod.lease.as_ref().is_some_and(is_left));
        for pod in left.map(PodRef::of) {
            let hub = self.hub.clone();
            self.runtime.spawn(async move { crate::act::remove(&hub, &pod, None).await });
        }
    }
}
