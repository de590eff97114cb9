//! Dominant resource fairness, weighted and by the tree of tenants.
//!
//! ```text
//! s_t = max_r u_tr / C_r         u_tr = what t's running jobs use of r, C_r = what there is
//!                                r = GPUs of any model, host cores, main memory; the last two where nodes declare them
//! repeat: from the top, go to the member with the smallest s_t / pi_t that has jobs waiting; start its next job
//! ```
//!
//! Progressive filling, task by task: a task is a whole gang. Never preempts, blind to placement and to GPU models.
//! A group counts as one user with the sum of what its members use; jobs of the group itself count as one more
//! member with the group's own weight.
//!
//! Differs from the paper: a user's next job that does not fit is passed over instead of blocking the user, so that
//! no GPU is wasted; a large gang may wait long for that. The hierarchy is the plain one, without the rescaling of
//! H-DRF (SoCC 2013). O((n + T) log T) for n jobs of T tenants.

use crate::fill::Room;
use crate::registry::{Entry, Promise};
use evenhand_core::{
    GpuCount, Health, Job, JobIndex, Limits, Others, Plan, Policy, PolicyError, Ratio, Reason, Snapshot,
    TenantId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) const ENTRY: Entry = Entry {
    name: "drf",
    summary: "The tenant with the smallest dominant share starts its next job; nobody is interrupted.",
    paper: "Dominant Resource Fairness, NSDI 2011",
    promises: &[Promise::WorkConserving, Promise::NeverPreempts],
    parameters: &[],
    divide: None,
    build: |_| Ok(Box::new(Drf)),
};

struct Drf;

/// GPUs, thousandths of a core, bytes of main memory.
type Resources = [f64; 3];

impl Policy for Drf {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut room = Room::left_over(snapshot);
        let mut tree = Tree::new(snapshot);
        for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
            if let Some(job) = snapshot.jobs.by_id(lease.job) {
                tree.count(job, lease.gpus.count());
            }
        }
        while room.total() > GpuCount::ZERO
            && let Some((index, job)) = tree.next()
        {
            match room.grant(index, job, Reason::SmallestShare) {
                Ok(grant) => {
                    tree.count(job, grant.gpus);
                    plan.grants.push(grant);
                }
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        Ok(plan)
    }
}

/// A place in the tree: a tenant's own jobs, or a group with all its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Own(TenantId),
    Group(TenantId),
    Everybody,
}

#[derive(Default)]
struct Member<'a> {
    used: Resources,
    jobs: VecDeque<(JobIndex, &'a Job)>,
    /// Members with jobs waiting, the smallest share per weight first.
    ready: BTreeSet<(u64, Place)>,
}

struct Tree<'a> {
    snapshot: &'a Snapshot,
    capacity: Resources,
    groups: BTreeSet<TenantId>,
    members: BTreeMap<Place, Member<'a>>,
}

impl<'a> Tree<'a> {
    /// The tree with the jobs that wait, and nothing in use.
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut tree = Self {
            snapshot,
            capacity: capacity(snapshot),
            groups: BTreeSet::new(),
            members: BTreeMap::new(),
        };
        tree.groups = snapshot.tenants.iter().filter_map(|tenant| parent(snapshot, tenant.id)).collect();
        for (index, job) in snapshot.jobs.queue() {
            let own = Place::Own(job.spec.tenant);
            tree.members.entry(own).or_default().jobs.push_back((index, job));
            tree.enter(own);
        }
        tree
    }

    /// The group that a place is in.
    fn above(&self, place: Place) -> Option<Place> {
        let group = match place {
            Place::Everybody => return None,
            Place::Own(tenant) if self.groups.contains(&tenant) => Some(tenant),
            Place::Own(tenant) | Place::Group(tenant) => parent(self.snapshot, tenant),
        };
        Some(group.map_or(Place::Everybody, Place::Group))
    }

    /// Puts a place with jobs waiting, and the groups it is in, where they are looked for.
    fn enter(&mut self, mut place: Place) {
        while let Some(above) = self.above(place) {
            let key = self.key(place);
            if !self.members.entry(above).or_default().ready.insert((key, place)) {
                break;
            }
            place = above;
        }
    }

    /// The share per weight, as a key that sorts as the number does.
    fn key(&self, place: Place) -> u64 {
        let (Place::Own(tenant) | Place::Group(tenant)) = place else { return 0 };
        let used = self.members.get(&place).map_or([0.0; 3], |member| member.used);
        let shares = used.iter().zip(self.capacity).filter(|(_, capacity)| *capacity > 0.0);
        let dominant = shares.map(|(used, capacity)| used / capacity).fold(0.0, f64::max);
        Ratio::new(dominant / self.snapshot.tenants.weight(tenant).get()).unwrap_or_default().key()
    }

    /// Counts GPUs of a job, and what comes with them, as used by its tenant and its groups.
    fn count(&mut self, job: &Job, gpus: GpuCount) {
        let host = job.spec.host;
        let demand =
            [1.0, f64::from(host.cores_milli), host.ram.0 as f64].map(|each| each * f64::from(gpus.0));
        let mut place = Place::Own(job.spec.tenant);
        while let Some(above) = self.above(place) {
            let before = self.key(place);
            let member = self.members.entry(place).or_default();
            for (used, demand) in member.used.iter_mut().zip(demand) {
                *used += demand;
            }
            let after = self.key(place);
            let siblings = &mut self.members.entry(above).or_default().ready;
            if siblings.remove(&(before, place)) {
                siblings.insert((after, place));
            }
            place = above;
        }
    }

    /// Takes the next job of whoever has the smallest share.
    fn next(&mut self) -> Option<(JobIndex, &'a Job)> {
        let mut place = Place::Everybody;
        while let Some((_, below)) = self.members.get(&place)?.ready.first() {
            place = *below;
        }
        let next = self.members.get_mut(&place)?.jobs.pop_front();
        self.leave(place);
        next
    }

    /// Takes places without jobs waiting out of where they are looked for.
    fn leave(&mut self, mut place: Place) {
        while let Some(above) = self.above(place) {
            let empty = self
                .members
                .get(&place)
                .is_none_or(|member| member.jobs.is_empty() && member.ready.is_empty());
            if !empty {
                break;
            }
            let key = self.key(place);
            self.members.entry(above).or_default().ready.remove(&(key, place));
            place = above;
        }
    }
}

/// The group of a tenant; none for one that is its own group's group, round about.
fn parent(snapshot: &Snapshot, tenant: TenantId) -> Option<TenantId> {
    let circular = snapshot.tenants.lineage(tenant).skip(1).any(|above| above.id == tenant);
    snapshot.tenants.get(tenant)?.parent.filter(|_| !circular)
}

/// What there is of each resource on nodes that take leases; zero if not all of them say.
fn capacity(snapshot: &Snapshot) -> Resources {
    let up = || snapshot.cluster.nodes.iter().filter(|node| node.health == Health::Up);
    let sum = |of: fn(&evenhand_core::Node) -> f64| {
        if up().all(|node| of(node) > 0.0) { up().map(of).sum() } else { 0.0 }
    };
    [
        f64::from(snapshot.cluster.capacity_total().0),
        sum(|node| f64::from(node.host.cores_milli)),
        sum(|node| node.host.ram.0 as f64),
    ]
}
