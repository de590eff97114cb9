//! One lease in the cluster: which pods it has, and what should happen to them next.
//!
//! [`Tracked::advance`] compares what is there with what should be, each time something changed, and says what to do. It remembers
//! little, so that a server that was restarted comes to the same.

use crate::facts::{Facts, Gang};
use crate::gang::Outside;
use crate::pod::{Failing, Phase, PodFacts};
use evenhand_core::{EndCause, Lease, LeaseState, Retry, Span, Time};
use evenhand_live::{Ending, Readiness};
use std::collections::{BTreeMap, BTreeSet};

/// How long a lease waits for its pods to be there, and for its nodes to have room, before it is given up.
pub(crate) const PATIENCE: Span = Span::from_secs(30);

/// A pod, so that no other of the same name is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodRef {
    pub namespace: String,
    pub name: String,
    pub uid: String,
}

impl PodRef {
    pub(crate) fn of(pod: &PodFacts) -> Self {
        Self { namespace: pod.namespace.clone(), name: pod.name.clone(), uid: pod.uid.clone() }
    }
}

/// What should be done in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Bind these pods to these nodes, all or none.
    Bind(Vec<(PodRef, String)>),
    /// End a pod, with so much time to save; `None`: as much as it asks for itself. Zero: its node is gone and cannot say when it has.
    Remove(PodRef, Option<Span>),
}

/// Where a pod of a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// It does not run yet.
    Before,
    Running,
    Finished,
    Failed,
    /// It is not there any more, and had not ended.
    Gone,
}

/// One pod of a lease.
#[derive(Clone, Debug)]
struct Member {
    pod: PodRef,
    node: String,
    stand: Stand,
    /// It was bound, or that was tried and nobody knows.
    bound: bool,
    /// Somebody asked for its end.
    going: bool,
    /// That was us.
    asked: bool,
}

impl Member {
    fn new(pod: PodRef, node: String, bound: bool) -> Self {
        Self { pod, node, stand: Stand::Before, bound, going: false, asked: false }
    }

    /// Something of it may run.
    fn is_live(&self) -> bool {
        self.bound && matches!(self.stand, Stand::Before | Stand::Running)
    }

    /// Takes note of what is there; what has ended stays so.
    fn see(&mut self, pod: Option<&PodFacts>) {
        if let Some(pod) = pod {
            self.bound |= pod.node.is_some();
            self.going = pod.deleting;
        }
        self.stand = match (self.stand, pod.map(|pod| pod.phase)) {
            (Stand::Finished, _) | (_, Some(Phase::Succeeded)) => Stand::Finished,
            (Stand::Failed, _) | (_, Some(Phase::Failed(_))) => Stand::Failed,
            (_, None) => Stand::Gone,
            (_, Some(Phase::Running)) => Stand::Running,
            (_, Some(Phase::Pending)) => Stand::Before,
        };
    }
}

/// How binding went, for one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// It is bound where it should be.
    Yes,
    /// It is not.
    No,
    /// Nobody knows.
    Unsure,
}

/// One lease in the cluster.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub lease: Lease,
    pub outside: Outside,
    /// As its pods are annotated.
    pub mark: String,
    since: Time,
    members: BTreeMap<String, Member>,
    /// All its pods have been chosen.
    complete: bool,
    /// Its pods are being bound now.
    binding: bool,
    /// Pods of its job that ended well before it and are gone.
    vanished: usize,
    /// It was told to leave.
    told: Option<(EndCause, Span)>,
    /// It cannot go on, and why.
    broken: Option<Ending>,
    pub started: bool,
    pub ended: Option<Ending>,
}

impl Tracked {
    /// A lease whose pods are to be bound.
    pub(crate) fn new(lease: Lease, outside: Outside, mark: String, now: Time) -> Self {
        Self {
            lease,
            outside,
            mark,
            since: now,
            members: BTreeMap::new(),
            complete: false,
            binding: false,
            vanished: 0,
            told: None,
            broken: None,
            started: false,
            ended: None,
        }
    }

    /// Takes the pods over that carry its mark. False if there are none.
    pub(crate) fn adopt(&mut self, facts: &Facts) -> bool {
        let own = facts.pods.values().filter(|pod| pod.lease.as_deref() == Some(&self.mark));
        for pod in own {
            let node = pod.node.clone().unwrap_or_default();
            self.members.insert(pod.uid.clone(), Member::new(PodRef::of(pod), node, true));
        }
        // One that was killed while it bound pods goes on with the others.
        self.complete = self.lease.state != LeaseState::Asked;
        !self.members.is_empty()
    }

    /// It is to leave within this time; a shorter time replaces a longer one.
    pub(crate) fn tell_to_leave(&mut self, cause: EndCause, grace: Span) {
        let is_shorter = self.told.is_some_and(|(_, before)| grace < before);
        if self.told.is_none() || is_shorter {
            let cause = self.told.map_or(cause, |(cause, _)| cause);
            self.told = Some((cause, grace));
            self.members.values_mut().for_each(|member| member.asked = false);
        }
    }

    /// Whether it need not be bound any further.
    pub(crate) fn is_leaving(&self) -> bool {
        self.told.is_some()
    }

    /// Of the pods of its job that ended well, some are gone. Those of its own have ended well all the same; the others never were its own.
    pub(crate) fn note_done(&mut self, facts: &Facts, done: &BTreeSet<String>) {
        for (_, member) in self.members.iter_mut().filter(|(uid, _)| done.contains(*uid)) {
            member.stand = Stand::Finished;
        }
        let is_gone = |uid: &&String| !facts.pods.contains_key(*uid) && !self.members.contains_key(*uid);
        self.vanished = done.iter().filter(is_gone).count();
    }

    /// Whether all its pods have been chosen.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether it has pods already.
    pub(crate) fn has_pods(&self) -> bool {
        !self.members.is_empty()
    }

    /// Its pods.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodRef> {
        self.members.values().map(|member| &member.pod)
    }

    /// The pods have been bound, or not.
    pub(crate) fn note_bound(&mut self, results: &[(PodRef, Bound)]) {
        self.binding = false;
        for (pod, bound) in results {
            if let Some(member) = self.members.get_mut(&pod.uid) {
                member.bound = *bound != Bound::No;
            }
        }
        if self.told.is_none() && results.iter().any(|(_, bound)| *bound != Bound::Yes) {
            self.broken.get_or_insert(Ending::NotLaunched(Retry::Freely));
        }
    }

    /// What should be done now, given what is there. `seats` are the nodes of the lease with how many GPUs it has there; `has_room` says whether
    /// each of them is ready and has them.
    pub(crate) fn advance(
        &mut self,
        facts: &Facts,
        gang: &Gang<'_>,
        seats: &[(String, u32)],
        has_room: bool,
        now: Time,
    ) -> Vec<Act> {
        if self.ended.is_some() {
            return Vec::new();
        }
        self.refresh(facts);
        if self.binding {
            return Vec::new();
        }
        // Found after a restart, or done under an earlier lease: then nobody is missing, even if it is told to leave.
        self.complete |= self.missing(gang) == 0;
        if !self.complete && self.told.is_none() && self.broken.is_none() {
            if let Some(act) = self.choose(gang, seats, has_room) {
                return vec![act];
            }
            if now.since(self.since) > PATIENCE {
                self.broken = Some(Ending::NotLaunched(Retry::Freely));
            }
        }
        self.judge();
        if self.told.is_none() && self.broken.is_none() {
            return Vec::new();
        }
        self.wind_up(facts)
    }

    fn refresh(&mut self, facts: &Facts) {
        for (uid, member) in &mut self.members {
            let pod = facts.pods.get(uid);
            member.see(pod);
            // What it does after it was told to leave is because of that.
            if let Some(Phase::Failed(failing)) = pod.map(|pod| pod.phase)
                && self.told.is_none()
            {
                self.broken.get_or_insert(match failing {
                    Failing::Own => Ending::Crashed,
                    Failing::Node => Ending::Left(EndCause::NodeLost),
                    Failing::Admission => Ending::NotLaunched(Retry::Freely),
                });
            }
        }
    }

    /// Chooses its pods, if enough are there and their nodes have room, and says where each goes.
    fn choose(&mut self, gang: &Gang<'_>, seats: &[(String, u32)], has_room: bool) -> Option<Act> {
        let missing = self.missing(gang);
        if !has_room || gang.waiting.len() < missing {
            return None;
        }
        let packet = u32::from(self.outside.gpus.max(1));
        let held = |node: &str| self.members.values().filter(|member| member.node == node).count() as u32;
        let mut places = seats.iter().flat_map(|(node, gpus)| {
            let free = (gpus / packet).saturating_sub(held(node));
            (0..free).map(move |_| node.clone())
        });
        let beside = seats.first().map(|(node, _)| node.clone())?;
        let mut chosen = Vec::new();
        for pod in gang.waiting.iter().take(missing) {
            // One without GPUs goes along.
            let node = if pod.gpus == 0 { beside.clone() } else { places.next()? };
            chosen.push((PodRef::of(pod), node));
        }
        drop(places);
        for (pod, node) in &chosen {
            self.members.insert(pod.uid.clone(), Member::new(pod.clone(), node.clone(), false));
        }
        (self.complete, self.binding) = (true, !chosen.is_empty());
        self.binding.then_some(Act::Bind(chosen))
    }

    /// Pods that it needs besides those it has and those that need not run again. Pods that wait are to run, whatever became of earlier ones
    /// of the same name.
    fn missing(&self, gang: &Gang<'_>) -> usize {
        let others = (self.outside.pods as usize).saturating_sub(self.members.len());
        let finished = gang.finished_before(&self.mark) + self.vanished;
        others - finished.min(others.saturating_sub(gang.waiting.len()))
    }

    fn judge(&mut self) {
        let members = || self.members.values();
        if self.members.is_empty() && !self.complete {
            return;
        }
        let is_up = |member: &Member| matches!(member.stand, Stand::Running | Stand::Finished);
        self.started |= self.complete && members().all(is_up);
        let is_taken = |member: &Member| member.stand == Stand::Gone || (member.going && member.is_live());
        if self.told.is_none() && members().any(is_taken) {
            // Somebody else took a pod away: that is no fault of the job.
            self.broken.get_or_insert(Ending::Left(EndCause::Stopped));
        }
        let is_lost = matches!(self.told, Some((EndCause::NodeLost, _)));
        if self.complete && !is_lost && members().all(|member| member.stand == Stand::Finished) {
            self.started = true;
            self.ended = Some(Ending::Done);
        }
    }

    /// Ends what is left of it; it has ended when nothing is.
    fn wind_up(&mut self, facts: &Facts) -> Vec<Act> {
        if self.ended.is_some() {
            return Vec::new();
        }
        let mut acts = Vec::new();
        let grace = self.told.map(|(_, grace)| grace);
        for member in self.members.values_mut().filter(|member| member.is_live() && !member.asked) {
            let is_there = |node: &crate::node::NodeFacts| node.readiness != Readiness::Gone;
            let reachable = facts.nodes.get(&member.node).is_some_and(is_there);
            // At least a second: with none, a pod is forgotten before it has ended.
            let grace = grace.map(|grace| grace.max(Span::from_secs(1)));
            if reachable && member.going && self.told.is_none() {
                continue;
            }
            member.asked = true;
            acts.push(Act::Remove(member.pod.clone(), if reachable { grace } else { Some(Span::ZERO) }));
        }
        if !self.members.values().any(Member::is_live) {
            let told = self.told.map(|(cause, _)| Ending::Left(cause));
            self.ended = self.broken.or(told);
        }
        acts
    }
}

#[cfg(test)]
mod tests;
