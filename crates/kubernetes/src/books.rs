//! What the runner remembers besides what the watches see: jobs, leases, and what has been said already.

use crate::facts::Facts;
use crate::gang::{Identity, Outside};
use crate::node::NodeFacts;
use crate::pod::PodFacts;
use crate::tracked::Tracked;
use evenhand_core::{JobId, Lease, LeaseId, NodeId, Time};
use evenhand_live::{FoundNode, Readiness};
use std::collections::{BTreeMap, BTreeSet};

/// A job whose pods are in the cluster.
#[derive(Debug)]
pub(crate) struct Known {
    pub outside: Outside,
    /// The most steps that any of its pods said were done.
    pub steps: Option<f64>,
    /// Pods of it that ended well, by UID: evicted in the same moment they are gone, and need not run again all the same.
    pub done: BTreeSet<String>,
    /// Since when there has been nothing of it in the cluster.
    pub missing_since: Option<Time>,
}

/// How a submission stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is on its way.
    Waiting,
    /// It was refused; it may be tried again from then on.
    Refused(Time),
    /// The gang was a job before, which has ended.
    Ended(JobId),
}

/// What is said of a gang on its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// In a word, for programs.
    pub reason: &'static str,
    /// In a sentence, for people.
    pub message: String,
}

/// All that is remembered.
#[derive(Debug, Default)]
pub(crate) struct Books {
    /// What the ledger says has been told: now what the cluster says may be acted upon.
    pub begun: bool,
    pub facts: Facts,
    /// The name by which pods ask for this scheduler.
    pub scheduler: String,
    /// What tells leases of this ledger from those of others.
    pub mark: String,
    pub node_names: BTreeMap<NodeId, String>,
    pub jobs: BTreeMap<JobId, Known>,
    pub by_identity: BTreeMap<Identity, JobId>,
    pub leases: BTreeMap<LeaseId, Tracked>,
    pub asked: BTreeMap<Identity, Asked>,
    /// The machines as they were last told; `None`: tell them whatever they are.
    pub machines: Option<Vec<FoundNode>>,
    /// GPUs that strangers hold on each node.
    pub foreign: BTreeMap<String, u32>,
    /// What gangs should say, and what each pod says already.
    pub notes: BTreeMap<Identity, Note>,
    pub noted: crate::say::Noted,
    /// The last job about which the service was asked: the next ones come next.
    pub asked_about: Option<JobId>,
}

impl Books {
    /// How the pods of a lease are annotated.
    pub(crate) fn mark_of(&self, lease: LeaseId) -> String {
        format!("{}/{}", self.mark, lease.0)
    }

    /// Forgets what the ledger will say again; what was told may not have been recorded.
    pub(crate) fn forget(&mut self) {
        self.begun = false;
        self.machines = None;
        self.jobs.clear();
        self.by_identity.clear();
        self.asked.clear();
    }

    /// Remembers which pods a job is; a job that was found in another engine is none of ours.
    pub(crate) fn admit(&mut self, job: JobId, outside: &str) {
        let Some(outside) = Outside::read(outside) else { return };
        self.by_identity.insert(outside.identity.clone(), job);
        self.asked.remove(&outside.identity);
        let known = Known { outside, steps: None, done: BTreeSet::new(), missing_since: None };
        self.jobs.entry(job).or_insert(known);
    }

    /// Forgets a job that has ended.
    pub(crate) fn end(&mut self, job: JobId) {
        let Some(known) = self.jobs.remove(&job) else { return };
        self.by_identity.retain(|_, other| *other != job);
        self.notes.remove(&known.outside.identity);
    }

    /// The nodes of a lease, by name, with how many GPUs it has there.
    pub(crate) fn seats(&self, lease: &Lease) -> Vec<(String, u32)> {
        let name = |node| self.node_names.get(&node).cloned().unwrap_or_default();
        lease.gpus.seats().iter().map(|seat| (name(seat.node), seat.gpus.count())).collect()
    }

    /// Whether a pod is counted by its lease.
    pub(crate) fn is_ours(&self, pod: &PodFacts) -> bool {
        let own = pod.lease.as_deref().and_then(|lease| lease.strip_prefix(&self.mark)?.strip_prefix('/'));
        let lease = own.and_then(|number| number.parse().ok()).map(LeaseId);
        lease.and_then(|lease| self.leases.get(&lease)).is_some_and(|tracked| tracked.ended.is_none())
    }

    /// All machines with GPUs, with how many of them others hold.
    pub(crate) fn found_nodes(&self) -> Vec<FoundNode> {
        let names: BTreeSet<&str> = self.node_names.values().map(String::as_str).collect();
        let known = |node: &&NodeFacts| node.gpus > 0 || names.contains(node.name.as_str());
        let found = self.facts.nodes.values().filter(known);
        found.map(|node| node.found(self.foreign.get(&node.name).copied().unwrap_or(0))).collect()
    }

    /// GPUs that each node has for leases, and those that leases have there: the server guards neither.
    pub(crate) fn rooms(&self, facts: &Facts) -> BTreeMap<String, (u32, u32)> {
        let mut rooms = BTreeMap::new();
        for node in facts.nodes.values().filter(|node| node.readiness != Readiness::Gone) {
            let taken = self.foreign.get(&node.name).copied().unwrap_or(0);
            rooms.insert(node.name.clone(), (u32::from(node.gpus).saturating_sub(taken), 0));
        }
        for tracked in self.leases.values().filter(|tracked| tracked.ended.is_none()) {
            for (node, gpus) in self.seats(&tracked.lease) {
                if let Some((_, held)) = rooms.get_mut(&node) {
                    *held += gpus;
                }
            }
        }
        rooms
    }
}
