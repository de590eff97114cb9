//! Gives GPUs to jobs: which lease goes on, which gang sits where, for how long.

use super::standing::{Member, Stance};
use crate::fill::Room;
use crate::placement;
use evenhand_core::{
    FreeIndex, GpuCount, GpuSet, Grant, Job, JobId, Locality, ModelIndex, Placer, Plan, Ratio, Reason, Seat,
    Site, Snapshot, Span,
};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A plan in the making, and the GPUs that it can still give away.
pub(super) struct Seating<'a> {
    snapshot: &'a Snapshot,
    /// Counts and limits.
    room: Room<'a>,
    /// Which GPUs.
    free: FreeIndex,
    placer: Box<dyn Placer>,
    lease: Span,
    pub plan: Plan,
    /// Who has been given something.
    pub granted: BTreeSet<JobId>,
}

impl<'a> Seating<'a> {
    /// Leases that are not over go on; everything else is free.
    pub fn new(snapshot: &'a Snapshot, members: impl Iterator<Item = Member<'a>>, lease: Span) -> Self {
        let (room, plan) = (Room::whole(snapshot), Plan::default());
        let free = pool(snapshot);
        let mut seating = Self {
            snapshot,
            room,
            free,
            placer: (placement::topology::ENTRY.build)(),
            lease,
            plan,
            granted: BTreeSet::new(),
        };
        for member in members {
            if let Stance::Runs(running) = member.stance
                && let Ok(grant) = seating.room.grant(member.index, member.job, Reason::LeaseRuns)
            {
                let term = Some(running.expires.since(snapshot.now));
                seating.grant(Grant { term, ..grant });
            }
        }
        seating
    }

    fn grant(&mut self, grant: Grant) {
        self.granted.insert(grant.job);
        self.plan.grants.push(grant);
    }

    /// The GPUs that nobody keeps.
    pub fn free(&self) -> &FreeIndex {
        &self.free
    }

    /// Gives a job a gang of a model, spread no further than so; says whether that was possible.
    pub fn give(&mut self, member: &Member<'a>, model: ModelIndex, span: Locality, reason: Reason) -> bool {
        match member.stance {
            Stance::Runs(_) | Stance::IsAway => false,
            Stance::IsUp(lease) => {
                let own = |seat: &Seat| seat.gpus.without(self.free.on(seat.node)).is_empty();
                let whole =
                    lease.gpus.seats().iter().all(own) && self.snapshot.model_of(lease) == Some(model);
                whole && self.renew(member, &lease.gpus, reason)
            }
            Stance::Waits => self.start(member, model, span, reason),
        }
    }

    /// Gives a job what is left over, where it runs best: spread over nodes only if nothing else is as good.
    pub fn give_best(&mut self, member: &Member<'a>) -> bool {
        let snapshot = self.snapshot;
        let mut ways: Vec<(u64, ModelIndex, Locality)> = Vec::new();
        for model in snapshot.cluster.model_indices().filter(|model| member.takes(snapshot, *model)) {
            for span in [Locality::Node, Locality::Cluster] {
                let pace = member.pace(snapshot, model, member.gang(), span);
                ways.push((Ratio::new(pace).unwrap_or_default().key(), model, span));
            }
        }
        ways.sort_by_key(|(pace, model, span)| (Reverse(*pace), *model, *span));
        ways.into_iter().any(|(_, model, span)| self.give(member, model, span, Reason::LeftOver))
    }

    /// Whether a job could be given GPUs of some model as far as limits go.
    pub fn may_take(&self, member: &Member<'_>) -> bool {
        let mut models = self.snapshot.cluster.model_indices();
        models.any(|model| member.takes(self.snapshot, model) && !self.room.is_over_limit(member.job, model))
    }

    /// The most GPUs of a model that a job's tenant could still be given.
    pub fn headroom(&self, job: &Job, model: ModelIndex) -> GpuCount {
        self.room.most_more(job, model)
    }

    /// What is in the way of a job whatever its app bids: no GPU model will do, or a limit of its tenant.
    pub fn obstacle(&self, member: &Member<'a>) -> Option<Reason> {
        let models =
            self.snapshot.cluster.model_indices().filter(|model| member.takes(self.snapshot, *model));
        let models: Vec<ModelIndex> = models.collect();
        if models.is_empty() {
            return Some(Reason::NoModel);
        }
        let with_room = models.iter().filter(|model| member.gang() <= self.free.count(**model));
        let mut limited = with_room.map(|model| self.room.is_over_limit(member.job, *model)).peekable();
        (limited.peek().is_some() && limited.all(|limited| limited)).then_some(Reason::OverLimit)
    }

    fn renew(&mut self, member: &Member<'a>, gpus: &GpuSet, reason: Reason) -> bool {
        let Ok(grant) = self.room.grant(member.index, member.job, reason) else { return false };
        if grant.site != Site::Anywhere {
            return false;
        }
        self.free.take(gpus);
        self.grant(Grant { term: Some(self.lease), ..grant });
        true
    }

    fn start(&mut self, member: &Member<'a>, model: ModelIndex, span: Locality, reason: Reason) -> bool {
        if member.gang() > self.free.count(model) {
            return false;
        }
        let wanted = Grant {
            locality: span,
            ..Grant::new(member.job.spec.id, member.gang(), Site::Model(model), reason)
        };
        let placed = self.placer.place(self.snapshot, &mut self.free, std::slice::from_ref(&wanted));
        let Some((_, gpus)) = placed.seated.into_iter().next() else { return false };
        let Some(grant) = self.room.grant_on(member.index, member.job, model, reason) else {
            gpus.seats().iter().for_each(|seat| self.free.give(*seat));
            return false;
        };
        self.grant(Grant { site: Site::Exactly(gpus), term: Some(self.lease), ..grant });
        true
    }
}

/// GPUs that nobody keeps: free, of leases that are up, and of leases on their way out that are promised to nobody.
fn pool(snapshot: &Snapshot) -> FreeIndex {
    let mut free = snapshot.cluster.free.clone();
    let gone = snapshot.leases.iter().filter(|lease| !lease.is_lasting() || lease.expires <= snapshot.now);
    for seat in gone.flat_map(|lease| lease.gpus.seats()) {
        let usable = snapshot.cluster.nodes[seat.node.index()].usable();
        free.give(Seat { node: seat.node, gpus: seat.gpus.and(usable) });
    }
    let kept = snapshot.leases.iter().filter(|lease| lease.is_lasting() && lease.expires > snapshot.now);
    for seat in kept.flat_map(|lease| lease.gpus.seats()) {
        free.set(seat.node, free.on(seat.node).without(seat.gpus));
    }
    free
}
