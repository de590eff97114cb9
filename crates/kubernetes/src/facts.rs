//! The cluster as the watches last saw it.

use crate::gang::{Group, Identity};
use crate::node::NodeFacts;
use crate::owner::BatchJobFacts;
use crate::pod::{Phase, PodFacts};
use crate::sums::Sums;
use std::collections::BTreeMap;

/// The cluster as it was last seen.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// All pods, by UID: foreign ones take GPUs too.
    pub pods: BTreeMap<String, PodFacts>,
    pub nodes: BTreeMap<String, NodeFacts>,
    /// Nodes changed since they were last described.
    pub nodes_changed: bool,
    /// Pods that went since the last look, as they were at the end: what they said last counts.
    pub gone: Vec<PodFacts>,
    /// Batch Jobs, by UID.
    pub batch_jobs: BTreeMap<String, BatchJobFacts>,
}

/// The pods of a gang, and what is known of it.
#[derive(Debug, Default)]
pub(crate) struct Gang<'a> {
    /// Those that could be bound, by name.
    pub waiting: Vec<&'a PodFacts>,
    /// All of them.
    pub all: Vec<&'a PodFacts>,
}

impl Facts {
    /// The gang that a pod belongs to. `None` while its batch Job has not been seen: how many belong together is not known yet.
    pub(crate) fn identity(&self, pod: &PodFacts) -> Option<Identity> {
        let alone = || (Group::Alone(pod.name.clone()), pod.uid.clone());
        let owner = || pod.owner.clone().unwrap_or_default();
        let (group, owner) = match &pod.group {
            Group::Job(_) if pod.wishes.gang_size.is_none() => {
                match pod.owner.as_ref().map(|owner| self.batch_jobs.get(owner)) {
                    Some(Some(job)) if job.gang.is_some() => (pod.group.clone(), owner()),
                    // Pods of a Job that is gone are on their way out.
                    Some(None) => return None,
                    _ => alone(),
                }
            }
            Group::Job(_) | Group::Training(_) => (pod.group.clone(), owner()),
            // Their pods have several makers.
            Group::Gang(_) => (pod.group.clone(), String::new()),
            Group::JobSet(_) => (pod.group.clone(), pod.wishes.job_set_uid.clone().unwrap_or_default()),
            Group::Alone(_) => alone(),
        };
        Some(Identity { namespace: pod.namespace.clone(), group, owner })
    }

    /// All gangs of pods that ask for this scheduler.
    pub(crate) fn gangs(&self, scheduler: &str) -> BTreeMap<Identity, Gang<'_>> {
        let mut gangs: BTreeMap<Identity, Gang<'_>> = BTreeMap::new();
        for pod in self.pods.values().filter(|pod| pod.scheduler == scheduler) {
            let Some(identity) = self.identity(pod) else { continue };
            let gang = gangs.entry(identity).or_default();
            gang.all.push(pod);
            if pod.is_waiting() {
                gang.waiting.push(pod);
            }
        }
        for gang in gangs.values_mut() {
            // Shorter first, so that worker-10 comes after worker-9.
            gang.waiting.sort_by_key(|pod| (pod.name.len(), &pod.name));
        }
        gangs
    }

    /// How many pods a gang has, if anybody says so.
    pub(crate) fn size(&self, identity: &Identity, gang: &Gang<'_>, sums: &Sums) -> Option<u32> {
        let said = gang.all.iter().find_map(|pod| pod.wishes.gang_size);
        let of_job = || self.batch_jobs.get(&identity.owner).and_then(|job| job.gang);
        said.or_else(|| match identity.group {
            Group::Alone(_) => Some(1),
            Group::Job(_) => of_job(),
            Group::JobSet(_) => {
                let jobs = gang.all.iter().find_map(|pod| pod.wishes.jobs_in_set)?;
                sums.job_set(&identity.namespace, identity.group.name(), jobs)
            }
            Group::Gang(_) | Group::Training(_) => None,
        })
    }

    /// Whether whatever made the pods of a gang is over, as far as can be told.
    pub(crate) fn is_over(&self, identity: &Identity) -> bool {
        match identity.group {
            Group::Job(_) => self.batch_jobs.get(&identity.owner).is_none_or(|job| job.over),
            Group::Alone(_) => !self.pods.contains_key(&identity.owner),
            _ => false,
        }
    }

    /// GPUs of a node that pods hold, without those that `is_ours` counts otherwise.
    pub(crate) fn foreign(&self, is_ours: impl Fn(&PodFacts) -> bool) -> BTreeMap<&str, u32> {
        let mut held: BTreeMap<&str, u32> = BTreeMap::new();
        for pod in self.pods.values().filter(|pod| pod.is_seated() && pod.gpus > 0 && !is_ours(pod)) {
            *held.entry(pod.node.as_deref().unwrap_or_default()).or_default() += pod.gpus;
        }
        held
    }
}

impl Gang<'_> {
    /// Pods that ended well under other leases than this: they need not run again.
    pub(crate) fn finished_before(&self, lease: &str) -> usize {
        let before = |pod: &&&PodFacts| pod.phase == Phase::Succeeded && pod.lease.as_deref() != Some(lease);
        self.all.iter().filter(before).count()
    }
}
