//! One decision: snapshot, decide, check, place, lease, account.

use crate::{Engine, Step, sharing};
use evenhand_core::{
    Decision, FreeIndex, Grant, Job, JobId, Lease, LeaseId, LeaseState, Note, Occasion, Opening, Others,
    Plan, Ratio, Reason, Round, Sharing, Site, Snapshot, Span, StopReason, Time,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a plan means for the leases there are.
#[derive(Default)]
pub(crate) struct Changes {
    /// Leases up for renewal.
    due: u32,
    /// Leases that stay, until when if the plan says so, and whether they were up for renewal.
    pub keep: Vec<(LeaseId, Option<Time>, bool)>,
    pub stop: Vec<(LeaseId, StopReason)>,
    /// What leases on shared GPUs are promised from now on.
    pub contracts: Vec<(LeaseId, Ratio)>,
    place: Vec<Grant>,
}

impl Engine {
    pub(crate) fn round_due(&mut self, round: Round, step: &mut Step) {
        let state = &mut self.state;
        let current = state.alarm.take_if(|(at, number)| *number == round && *at <= state.now).is_some();
        if !current {
            step.notes.push(Note::Ignored);
            return;
        }
        let now = state.now;
        self.try_again();
        self.try_suspects(step);
        if self.close_bidding(step) {
            self.decide(Occasion::Bids, step);
        } else if self.state.regular_due <= now || self.state.leases.is_empty() {
            // A cluster without leases has nothing to keep in step with: its rounds begin anew.
            self.state.regular_due = now + self.parts.config.round;
            self.decide(Occasion::Regular, step);
        } else {
            self.decide(Occasion::Early, step);
        }
    }

    pub(crate) fn decide(&mut self, occasion: Occasion, step: &mut Step) {
        self.state.round = Round(self.state.round.0 + 1);
        self.state.early_due = None;
        self.state.decided = Some(self.state.now);
        self.settle();
        let snapshot = self.state.snapshot(occasion, self.parts.seed);
        let mut plan = if self.state.guests.is_empty() && self.state.hosts.is_empty() {
            self.plan_for(&snapshot, step)
        } else {
            self.plan_for(&self.as_planned(&snapshot), step)
        };
        if occasion != Occasion::Bids
            && self.parts.abilities.bids
            && let Some(invitation) = plan.invitation.take()
        {
            // Until the bids are in, nothing is decided but to wait for them.
            plan = Plan { others: Others::Keep, memory: plan.memory, ..Plan::default() };
            self.ask_for_bids(invitation, step);
        }
        let waits = self.state.bidding.is_some();
        let bears = std::mem::take(&mut plan.bears);
        let opening = self.parts.placer.opens(&snapshot).filter(|_| self.parts.abilities.share);
        let opening = opening.map(|opening| Opening { bears, ..opening });
        let opens = opening.clone().filter(|_| self.may_open(&plan));
        let (hosts, guests) = (&self.state.hosts, &self.state.guests);
        let mut changes = if waits { Changes::default() } else { changes(&plan, &snapshot, hosts, guests) };
        if let Some(opening) = opening.filter(|_| !waits) {
            sharing::settle(&mut changes, &plan, &snapshot, (&opening, hosts, guests));
        }
        if opens.is_some() && !waits && plan.spare.is_empty() {
            plan.spare = sharing::spare(&plan, &snapshot);
        }
        if occasion == Occasion::Regular && changes.place.is_empty() {
            self.gather(&plan, &mut changes, &snapshot);
        }
        // Holding the snapshot any longer would make the next edit copy its tables.
        drop(snapshot);
        let kept = self.renew_kept(&changes, step);
        for (lease, reason) in &changes.stop {
            self.stop(*lease, *reason, step);
        }
        self.set_contracts(&changes.contracts);
        let dropped = if changes.place.is_empty() {
            Vec::new()
        } else {
            let room = self.room();
            self.place(&changes.place, room, opens.as_ref(), step)
        };
        let filled = self.fill_in(&plan, &dropped, step);
        self.seat_guests(&plan.spare, step);
        let guests = self.state.guests.iter().filter_map(|id| self.state.leases.get(*id));
        let guests: BTreeSet<JobId> = guests.map(|lease| lease.job).collect();
        let runs = |job: &JobId| guests.contains(job) || filled.contains(job);
        let waits = plan.refused.iter().copied().chain(dropped).filter(|(job, _)| !runs(job));
        self.note_waits(waits, step);
        self.adopt_shares(&plan);
        step.decision = Some(Decision {
            round: self.state.round,
            occasion,
            active: self.state.jobs.len() as u32,
            running: self.state.leases.len() as u32,
            kept,
            due: changes.due,
            quality: plan.quality,
            shares: self.changed_shares(&plan),
            auction: plan.auction.take(),
            ahead: plan.ahead.take(),
            promises: std::mem::take(&mut plan.promises),
        });
        self.state.previous = Some(Arc::new(plan));
    }

    /// Moves one lease that is kept, but seated far apart for no reason any more.
    fn gather(&self, plan: &Plan, changes: &mut Changes, snapshot: &Snapshot) {
        let kept = changes.keep.iter().map(|(id, ..)| *id).collect();
        if let Some(lease) = self.gathered(plan, &kept, snapshot) {
            changes.keep.retain(|(id, ..)| *id != lease);
            changes.stop.push((lease, StopReason::Moved));
        }
    }

    /// The policy's plan, or what still fits of the last one.
    fn plan_for(&self, snapshot: &Snapshot, step: &mut Step) -> Plan {
        match self.parts.policy.decide(snapshot, self.parts.limits) {
            Ok(plan) => match plan.check(snapshot) {
                Ok(()) => return plan,
                Err(error) => step.notes.push(Note::PlanRefused(error)),
            },
            Err(error) => step.notes.push(Note::PolicyFailed(error)),
        }
        carried_over(snapshot)
    }

    /// Renews leases that stay as they are; says how many of them were up for it.
    fn renew_kept(&mut self, changes: &Changes, step: &mut Step) -> u32 {
        let regular = self.state.regular_due;
        for (lease, until, _) in &changes.keep {
            self.renew(*lease, until.unwrap_or(regular), step);
        }
        changes.keep.iter().filter(|(.., was_up)| *was_up).count() as u32
    }

    /// Seats the grants that have no lease yet; says which were dropped and why.
    fn place(
        &mut self,
        grants: &[Grant],
        mut room: FreeIndex,
        opens: Option<&Opening>,
        step: &mut Step,
    ) -> Vec<(JobId, Reason)> {
        let (exact, open): (Vec<_>, Vec<_>) =
            grants.iter().cloned().partition(|grant| matches!(grant.site, Site::Exactly(_)));
        let mut dropped = Vec::new();
        for grant in exact {
            let Site::Exactly(gpus) = grant.site.clone() else { continue };
            match self.fits_exactly(&grant, &mut room) {
                Ok(()) => {
                    let grant = self.opened(&grant, &gpus, opens);
                    self.book(&grant, gpus, step);
                }
                Err(reason) => dropped.push((grant.job, reason)),
            }
        }
        if !open.is_empty() {
            let snapshot = self.state.snapshot(Occasion::Early, self.parts.seed);
            let placement = self.parts.placer.place(&snapshot, &mut room, &open);
            drop(snapshot);
            for (at, gpus) in placement.seated {
                let grant = self.opened(&open[at], &gpus, opens);
                self.book(&grant, gpus, step);
            }
            dropped.extend(placement.dropped.iter().map(|drop| (drop.job, drop.reason)));
        }
        dropped
    }

    /// Where a gang finds its GPUs only in pieces that are of no use to it, others have them meanwhile; says who.
    fn fill_in(&mut self, plan: &Plan, dropped: &[(JobId, Reason)], step: &mut Step) -> BTreeSet<JobId> {
        if !plan.passes_over || dropped.iter().all(|(_, reason)| *reason != Reason::Fragmented) {
            return BTreeSet::new();
        }
        let (jobs, tenants) = (&self.state.jobs, &self.state.tenants);
        let refused = plan.refused.iter().filter(|(_, reason)| *reason == Reason::NoRoom);
        let waiting = refused.filter_map(|(job, _)| jobs.by_id(*job)).filter(|job| job.is_queued());
        // What a limit leaves was counted with the grants that were refused.
        let is_free = |job: &&Job| tenants.lineage(job.spec.tenant).all(|tenant| tenant.limit.is_none());
        let grant = |job: &Job| Grant::new(job.spec.id, job.spec.gpus.min, Site::Anywhere, Reason::LeftOver);
        let grants: Vec<Grant> = waiting.filter(is_free).map(grant).collect();
        let mut filled: BTreeSet<JobId> = grants.iter().map(|grant| grant.job).collect();
        // What leases on their way out hold may be wanted by those who held it: they come before others once they are gone.
        let free = self.state.cluster.free.clone();
        for (job, _) in self.place(&grants, free, None, step) {
            filled.remove(&job);
        }
        filled
    }

    /// GPUs that nobody keeps: free, or held by leases that are being stopped and promised to nobody.
    fn room(&self) -> FreeIndex {
        let mut room = self.state.cluster.free.clone();
        for id in self.state.stopping.keys() {
            for seat in self.state.given_up(*id) {
                room.give(seat);
            }
        }
        room
    }

    /// Whether GPUs granted by name are to be had; takes exclusive ones from the room.
    pub(crate) fn fits_exactly(&self, grant: &Grant, room: &mut FreeIndex) -> Result<(), Reason> {
        let Site::Exactly(gpus) = &grant.site else { return Ok(()) };
        if grant.sharing == Sharing::Alone {
            let open = gpus.seats().iter().all(|seat| seat.gpus.without(room.on(seat.node)).is_empty());
            if !open {
                return Err(Reason::NoRoom);
            }
            room.take(gpus);
            return Ok(());
        }
        if !self.parts.abilities.share {
            return Err(Reason::Crowded);
        }
        for gpu in gpus.iter() {
            let node = &self.state.cluster.nodes[gpu.node.index()];
            let sharers = self.state.seats.sharers(gpu);
            let free = self.state.cluster.free.on(gpu.node).0 >> gpu.ordinal & 1 == 1;
            let promised = self.state.seats.promised(gpu.node).0 >> gpu.ordinal & 1 == 1;
            let joins = !sharers.is_empty() && sharers.len() < usize::from(node.slots) && !promised;
            let open = free || joins;
            if !open || node.slots == 0 || !self.memory_fits(grant.job, sharers, node) {
                return Err(Reason::Crowded);
            }
            if free {
                room.set(gpu.node, room.on(gpu.node).without(evenhand_core::GpuMask(1 << gpu.ordinal)));
            }
        }
        Ok(())
    }

    /// Whether the upper ends of what jobs are believed to need fit into the memory of one GPU.
    fn memory_fits(&self, job: JobId, sharers: &[LeaseId], node: &evenhand_core::Node) -> bool {
        let need = |job: JobId| {
            let index = self.state.jobs.index(job);
            index.map_or(evenhand_core::Bytes::ZERO, |index| {
                self.state.forecasts[index.0 as usize].demand[node.model].memory.high
            })
        };
        let others = sharers.iter().filter_map(|id| self.state.leases.get(*id)).map(|lease| need(lease.job));
        let total = others.sum::<evenhand_core::Bytes>() + need(job);
        sharers.is_empty() || node.memory == evenhand_core::Bytes::ZERO || total <= node.memory
    }

    /// Notes why jobs wait, where that is news.
    fn note_waits(&mut self, refused: impl Iterator<Item = (JobId, Reason)>, step: &mut Step) {
        for (job, reason) in refused {
            if self.state.jobs.by_id(job).is_some() && self.state.waits.insert(job, reason) != Some(reason) {
                step.notes.push(Note::Waits { job, reason });
            }
        }
    }

    fn changed_shares(&self, plan: &Plan) -> Vec<(evenhand_core::Party, evenhand_core::PerModel<f64>)> {
        let before = self.state.previous.as_ref().and_then(|previous| previous.shares.as_ref());
        // Shares per job would be most of the ledger; a replay brings them back.
        let written = |party: &evenhand_core::Party| !matches!(party, evenhand_core::Party::Job(_));
        match &plan.shares {
            Some(shares) if Some(shares) != before => {
                shares.rows.iter().filter(|(party, _)| written(party)).copied().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Asks the world to wake the engine when something is next due, if that changed.
    pub(crate) fn set_alarm(&mut self, step: &mut Step) {
        let state = &mut self.state;
        let number = Round(state.round.0 + 1);
        let early_min = self.parts.config.early_round_min;
        let soonest = state.decided.map_or(Time::ZERO, |decided| decided + early_min).max(state.now);
        let early = state.early_due.filter(|_| !state.jobs.is_empty()).map(|due| due.max(soonest));
        let regular =
            (!state.jobs.is_empty() && state.decided.is_some()).then_some(state.regular_due.max(state.now));
        let bids = state.bidding.as_ref().map(|bidding| bidding.until.max(state.now));
        let again = state.previous.as_ref().and_then(|plan| plan.again).filter(|at| *at > state.now);
        let again = again.filter(|_| !state.jobs.is_empty());
        let retry =
            state.retries.values().chain(state.suspects.values()).min().map(|at| (*at).max(state.now));
        // While bids are out, nothing else is decided.
        let due =
            if bids.is_some() { bids } else { [early, regular, again, retry].into_iter().flatten().min() };
        let alarm = due.map(|due| (due, number));
        if let Some((due, number)) = alarm
            && state.alarm != alarm
        {
            step.commands.push(evenhand_core::Command::WakeAt(due, number));
        }
        state.alarm = alarm.or(state.alarm);
    }
}

/// Compares a plan with the leases there are. Those it leaves alone are only listed when they are up for renewal, and at
/// an early decision none is unless the plan names it.
fn changes(
    plan: &Plan,
    snapshot: &Snapshot,
    hosts: &BTreeSet<LeaseId>,
    guests: &BTreeSet<LeaseId>,
) -> Changes {
    let mut changes = Changes::default();
    let mut named = BTreeSet::new();
    for grant in &plan.grants {
        let lease = snapshot.leases.of_job(snapshot.jobs.by_id(grant.job));
        match lease {
            None => changes.place.push(grant.clone()),
            // It has to be gone before the job can start again.
            Some(lease) if lease.state == LeaseState::Stopping => {}
            Some(lease) => {
                named.insert(lease.id);
                changes.due += u32::from(lease.expires <= snapshot.now);
                let opened = hosts.contains(&lease.id) || guests.contains(&lease.id);
                if stands(lease, grant, snapshot, opened) {
                    // Between rounds, a lease is up only if it has a term of its own.
                    let until = grant.term.map(|term| snapshot.now + term);
                    if until.is_some() || snapshot.occasion != Occasion::Early {
                        changes.keep.push((lease.id, until, lease.expires <= snapshot.now));
                    }
                } else {
                    changes.stop.push((lease.id, StopReason::Moved));
                }
            }
        }
    }
    if plan.others == Others::Keep && snapshot.occasion == Occasion::Early {
        return changes;
    }
    for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting() && !named.contains(&lease.id)) {
        let is_up = lease.expires <= snapshot.now;
        changes.due += u32::from(is_up);
        match plan.others {
            Others::Keep if is_up => changes.keep.push((lease.id, None, true)),
            Others::Keep => {}
            Others::Release => changes.stop.push((lease.id, StopReason::Preempted)),
        }
    }
    changes
}

/// Leases that are up go on for a while: nobody has decided about them.
fn held_over(snapshot: &Snapshot, term: Span) -> Vec<Grant> {
    let up = snapshot.leases.iter().filter(|lease| lease.is_lasting() && lease.expires <= snapshot.now);
    up.map(|lease| Grant {
        sharing: lease.sharing,
        term: Some(term),
        ..Grant::new(lease.job, lease.gpus.count(), Site::Anywhere, Reason::CarriedOver)
    })
    .collect()
}

/// Whether a lease is already what a grant asks for: then it is renewed and nothing restarts. A lease that was
/// opened to guests is what a grant of whole GPUs asks for.
fn stands(lease: &Lease, grant: &Grant, snapshot: &Snapshot, opened: bool) -> bool {
    let site = match &grant.site {
        Site::Anywhere => true,
        Site::Model(model) => snapshot.cluster.models_of(&lease.gpus) == [*model],
        Site::Exactly(gpus) => lease.gpus == *gpus,
    };
    site && lease.gpus.count() == grant.gpus
        && (lease.sharing == grant.sharing || opened && grant.sharing == Sharing::Alone)
        && snapshot.cluster.span_of(&lease.gpus) <= grant.locality
}

/// What still fits of the last plan: whoever holds GPUs keeps them, and grants not yet carried out stand.
fn carried_over(snapshot: &Snapshot) -> Plan {
    let term = snapshot.next_round.since(snapshot.now);
    let mut plan = Plan { others: Others::Keep, grants: held_over(snapshot, term), ..Plan::default() };
    let Some(previous) = &snapshot.previous else { return plan };
    plan.memory = previous.memory.clone();
    plan.window.clone_from(&previous.window);
    plan.shares.clone_from(&previous.shares);
    for grant in &previous.grants {
        let waits = snapshot.jobs.by_id(grant.job).is_some_and(Job::is_queued);
        if waits {
            plan.grants.push(Grant { reason: Reason::CarriedOver, ..grant.clone() });
            if plan.check(snapshot).is_err() {
                plan.grants.pop();
            }
        }
    }
    plan
}
