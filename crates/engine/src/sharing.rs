//! GPUs that a plan gives away whole, and that jobs without a grant use meanwhile.
//!
//! Where the placer opens grants, a lease of whole GPUs has a contract: others may come as long as its job is not slowed down by more. The job
//! with the contract is the *host* of its GPUs; a *guest* has none ([`Ratio::UNLIMITED`]). The plan speaks of whole GPUs only, so at every
//! decision:
//!
//! ```text
//! granted, and no other granted job on its GPUs     it is their host from now on
//! granted, but beside a host that stays             it is moved: it is owed GPUs of its own
//! not granted, beside hosts whose contracts hold    it stays as a guest
//! not granted otherwise                             it goes, as the plan says
//! ```
//!
//! Policies need know nothing of this: they are shown guests as jobs that wait. A policy may say how much less than the placer thinks fair a job can bear
//! ([`Plan::bears`]).

use crate::round::Changes;
use crate::{Engine, Step};
use evenhand_core::{
    GpuId, Grant, JobId, JobState, Lease, LeaseId, Opening, Others, Plan, Ratio, Reason, Sharing,
    SharingMode, Site, Snapshot, StopReason,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A slowdown that was measured breaks a contract if it is over by more than this, because measurements are noisy.
const TOLERANCE: f64 = 1.02;

impl Engine {
    /// Whether others may come beside those to whom this plan grants whole GPUs: not where the policy itself shares GPUs.
    pub(crate) fn may_open(&self, plan: &Plan) -> bool {
        let ours = |lease: &Lease| {
            lease.sharing == Sharing::Alone
                || self.state.hosts.contains(&lease.id)
                || self.state.guests.contains(&lease.id)
        };
        let alone = plan.grants.iter().all(|grant| grant.sharing == Sharing::Alone);
        alone && self.state.leases.iter().all(ours)
    }

    /// A grant as it is leased on these GPUs: open to guests if its job consents and it can start at once.
    pub(crate) fn opened(
        &mut self,
        grant: &Grant,
        gpus: &evenhand_core::GpuSet,
        opens: Option<&Opening>,
    ) -> Grant {
        let state = &self.state;
        let free = |seat: &evenhand_core::Seat| {
            let node = &state.cluster.nodes[seat.node.index()];
            node.slots > 1 && seat.gpus.without(state.cluster.free.on(seat.node)).is_empty()
        };
        let shares = state.jobs.by_id(grant.job).filter(|job| job.may_share());
        let sharing = shares.zip(opens).map(|(job, opening)| opening.sharing(job.spec.id, job.spec.tenant));
        match sharing {
            Some(sharing) if grant.sharing == Sharing::Alone && gpus.seats().iter().all(free) => {
                self.state.hosts.insert(LeaseId(self.state.lease_next));
                Grant { sharing, ..grant.clone() }
            }
            _ => grant.clone(),
        }
    }

    /// What the policy sees: guests wait, and hosts are alone, as far as it is concerned.
    pub(crate) fn as_planned(&self, snapshot: &Snapshot) -> Snapshot {
        let mut view = snapshot.clone();
        let (leases, jobs) = (Arc::make_mut(&mut view.leases), Arc::make_mut(&mut view.jobs));
        for id in &self.state.hosts {
            if let Some(lease) = leases.get_mut(*id) {
                lease.sharing = Sharing::Alone;
            }
        }
        for id in &self.state.guests {
            if let Some(lease) = snapshot.leases.get(*id).filter(|lease| lease.is_lasting()) {
                leases.remove(*id);
                jobs.change(lease.job, |job| job.state = JobState::Queued { since: lease.taken });
            }
        }
        view
    }

    /// Seats jobs without a grant beside those that have one.
    pub(crate) fn seat_guests(&mut self, spare: &[Grant], step: &mut Step) {
        if spare.is_empty() {
            return;
        }
        let snapshot = self.state.snapshot(evenhand_core::Occasion::Early, self.parts.seed);
        let guests = self.parts.placer.share(&snapshot, spare);
        drop(snapshot);
        for guest in guests {
            let site = Site::Exactly(guest.gpus.clone());
            let grant = Grant { site, sharing: guest.sharing, ..spare[guest.at].clone() };
            let mut room = self.state.cluster.free.clone();
            let waits = self.state.jobs.by_id(grant.job).is_some_and(evenhand_core::Job::is_queued);
            if waits && self.fits_exactly(&grant, &mut room).is_ok() {
                self.state.guests.insert(LeaseId(self.state.lease_next));
                self.book(&grant, guest.gpus, step);
            }
        }
    }

    /// Gives leases the contracts that follow from a decision.
    pub(crate) fn set_contracts(&mut self, contracts: &[(LeaseId, Ratio)]) {
        for (id, contract) in contracts {
            let (to, from) = if *contract < Ratio::UNLIMITED {
                (&mut self.state.hosts, &mut self.state.guests)
            } else {
                (&mut self.state.guests, &mut self.state.hosts)
            };
            from.remove(id);
            to.insert(*id);
            let lease = Arc::make_mut(&mut self.state.leases).get_mut(*id);
            if let Some(Sharing::Beside { slowdown_max, .. }) = lease.map(|lease| &mut lease.sharing) {
                *slowdown_max = *contract;
            }
        }
    }

    /// A job was measured beside others: if that breaks its contract, its guests go, and are not put beside it again.
    pub(crate) fn check_contract(&mut self, id: LeaseId, slowdown: Ratio, step: &mut Step) {
        let Some(lease) = self.state.leases.get(id) else { return };
        let Sharing::Beside { slowdown_max, .. } = lease.sharing else { return };
        if slowdown.get() <= slowdown_max.get() * TOLERANCE {
            return;
        }
        let host = lease.job;
        let others = lease.gpus.iter().flat_map(|gpu| self.state.seats.sharers(gpu).iter().copied());
        let others: BTreeSet<LeaseId> = others.filter(|other| *other != id).collect();
        for other in others {
            let guest = self.state.leases.get(other).filter(|lease| lease.is_lasting());
            let guest = guest.filter(|lease| self.state.guests.contains(&lease.id));
            if let Some(guest) = guest.map(|lease| lease.job) {
                Arc::make_mut(&mut self.state.apart).insert((host, guest));
                self.stop(other, StopReason::Preempted, step);
            }
        }
    }
}

/// The jobs that would be welcome beside others: they wait, have no grant, consent, and no limit is in their way. In the order in which the
/// policy refused them, then in that of the queue.
pub(crate) fn spare(plan: &Plan, snapshot: &Snapshot) -> Vec<Grant> {
    let mut seen: BTreeSet<JobId> = plan.grants.iter().map(|grant| grant.job).collect();
    let refused = plan.refused.iter().map(|(job, _)| *job);
    let mut welcome = Vec::new();
    for id in refused.chain(snapshot.jobs.queue().map(|(_, job)| job.spec.id)) {
        let Some(job) = snapshot.jobs.by_id(id).filter(|job| job.is_queued() && job.may_share()) else {
            continue;
        };
        let limited = snapshot.tenants.lineage(job.spec.tenant).any(|tenant| tenant.limit.is_some());
        if !limited && seen.insert(id) {
            welcome.push(Grant::new(id, job.spec.gpus.min, Site::Anywhere, Reason::Packed));
        }
    }
    welcome
}

/// Who is host, who is guest and who has to go, where leases share GPUs.
pub(crate) fn settle(
    changes: &mut Changes,
    plan: &Plan,
    snapshot: &Snapshot,
    (opening, hosts, guests): (&Opening, &BTreeSet<LeaseId>, &BTreeSet<LeaseId>),
) {
    let is_guest = |lease: &Lease| guests.contains(&lease.id);
    let contract = |lease: &Lease| {
        let tenant = snapshot.jobs.by_id(lease.job).map(|job| job.spec.tenant);
        opening.contract(lease.job, tenant)
    };
    let shared: Vec<&Lease> = hosts.union(guests).filter_map(|id| snapshot.leases.get(*id)).collect();
    let shared: Vec<&Lease> = shared.into_iter().filter(|lease| lease.is_lasting()).collect();
    if shared.is_empty() {
        return;
    }
    let rank: BTreeMap<JobId, usize> =
        plan.grants.iter().enumerate().map(|(at, grant)| (grant.job, at)).collect();
    let stops: BTreeMap<LeaseId, StopReason> = changes.stop.iter().copied().collect();
    let keeps_all = plan.others == Others::Keep;
    // Who may stay as a host: whoever the plan grants what it has; where it leaves others alone, they too, the hosts there are first.
    let mut entitled: Vec<&Lease> = shared
        .iter()
        .copied()
        .filter(|lease| !stops.contains_key(&lease.id) && (keeps_all || rank.contains_key(&lease.job)))
        .collect();
    entitled.sort_by_key(|lease| {
        (is_guest(lease), rank.get(&lease.job).copied().unwrap_or(usize::MAX), lease.id)
    });
    let mut tables = Tables { snapshot, sitting: BTreeMap::new() };
    let mut staying = Tables { snapshot, sitting: BTreeMap::new() };
    for lease in entitled.iter().filter(|_| keeps_all) {
        staying.sit(lease, Ratio::UNLIMITED);
    }
    for lease in entitled {
        // Where nobody has to go, a guest whose host is gone is promised only what it has.
        let kept = !keeps_all || !is_guest(lease) || staying.within(lease, contract(lease));
        if kept && lease.gpus.iter().all(|gpu| !tables.sitting.contains_key(&gpu)) {
            tables.sit(lease, contract(lease));
            changes.contracts.push((lease.id, contract(lease)));
        } else if rank.contains_key(&lease.job) {
            changes.keep.retain(|(id, ..)| *id != lease.id);
            changes.stop.push((lease.id, StopReason::Moved));
        } else if tables.bears(lease) {
            tables.sit(lease, Ratio::UNLIMITED);
        } else {
            changes.keep.retain(|(id, ..)| *id != lease.id);
            changes.stop.push((lease.id, StopReason::Preempted));
        }
    }
    for lease in shared {
        if stops.get(&lease.id) == Some(&StopReason::Preempted) && tables.welcomes(lease) {
            tables.sit(lease, Ratio::UNLIMITED);
            changes.stop.retain(|(id, _)| *id != lease.id);
            changes.keep.push((lease.id, None, lease.expires <= snapshot.now));
            changes.contracts.push((lease.id, Ratio::UNLIMITED));
        }
    }
}

/// Who stays on the shared GPUs, with what contract.
struct Tables<'a> {
    snapshot: &'a Snapshot,
    sitting: BTreeMap<GpuId, Vec<(JobId, Ratio, SharingMode)>>,
}

impl Tables<'_> {
    fn sit(&mut self, lease: &Lease, contract: Ratio) {
        for gpu in lease.gpus.iter() {
            self.sitting.entry(gpu).or_default().push((lease.job, contract, mode(lease)));
        }
    }

    /// Whether a job is believed to keep within a contract among those who sit on its GPUs.
    fn within(&self, lease: &Lease, contract: Ratio) -> bool {
        lease.gpus.iter().all(|gpu| {
            let sitting = self.sitting.get(&gpu).map_or(&[][..], Vec::as_slice);
            let jobs: Vec<JobId> = sitting.iter().map(|(job, ..)| *job).collect();
            let mode = SharingMode::together(sitting.iter().map(|(.., mode)| *mode));
            let model = self.snapshot.cluster.nodes[gpu.node.index()].model;
            let own = jobs.iter().position(|job| *job == lease.job);
            let slowdown = own.and_then(|own| self.snapshot.slowdown_among(&jobs, own, model, mode));
            slowdown.is_some_and(|slowdown| slowdown.high <= contract)
        })
    }

    /// Whether a job that is not granted anything may stay: beside hosts on all its GPUs, within their contracts.
    fn welcomes(&self, lease: &Lease) -> bool {
        lease.gpus.iter().all(|gpu| self.sitting.contains_key(&gpu)) && self.bears(lease)
    }

    /// Whether everybody on the GPUs of a job keeps within its contract although the job is there.
    fn bears(&self, lease: &Lease) -> bool {
        lease.gpus.iter().all(|gpu| {
            let sitting = self.sitting.get(&gpu).map_or(&[][..], Vec::as_slice);
            let model = self.snapshot.cluster.nodes[gpu.node.index()].model;
            let mode = SharingMode::together(sitting.iter().map(|(.., mode)| *mode).chain([mode(lease)]));
            let jobs: Vec<JobId> = sitting.iter().map(|(job, ..)| *job).chain([lease.job]).collect();
            sitting.iter().enumerate().all(|(at, (host, contract, _))| {
                let high = self.snapshot.slowdown_among(&jobs, at, model, mode).map(|slowdown| slowdown.high);
                let apart = self.snapshot.apart.contains(&(*host, lease.job));
                !apart && high.is_some_and(|high| high <= *contract)
            })
        })
    }
}

fn mode(lease: &Lease) -> SharingMode {
    match lease.sharing {
        Sharing::Beside { mode, .. } => mode,
        Sharing::Alone => SharingMode::TimeSlicing,
    }
}
