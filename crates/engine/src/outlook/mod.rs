//! What a job waits for, who is before it, and when its turn may come, as far as is believed.
//!
//! ```text
//! earliest   enough GPUs are free, if it is next, nobody is interrupted for it, and all who have some are as quick as is believed possible
//! latest     the same, if all who are before it now go first, gang by gang, and everybody takes as long as is believed possible
//! ```
//!
//! Who is before it: those that the last decision refused before it, in its order; if that says nothing, those before it in the queue.

mod lanes;

use crate::Engine;
use evenhand_core::{
    Estimate, GpuCount, Job, JobId, JobIndex, JobState, Lease, ModelIndex, Reason, Snapshot, TenantId, Time,
};
use lanes::Lanes;
use std::collections::{BTreeMap, BTreeSet};

/// Holders that are named.
const NAMED_MAX: usize = 8;

/// What is before a job, now.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// Where it stands.
    pub standing: Standing,
    /// Why it waits or runs, if a decision said so.
    pub why: Option<Reason>,
    /// GPUs that it takes, all at once.
    pub needs: GpuCount,
    /// GPUs of models that will do.
    pub usable: GpuCount,
    /// How many of them are free, of one model.
    pub free: GpuCount,
    /// When it may start, if it waits.
    pub start: Option<Between>,
    /// When it may have ended.
    pub finish: Option<Between>,
    /// Some who have GPUs that would do for it: who gives them back first comes first.
    pub holders: Vec<Holding>,
    /// How many there are.
    pub holders_count: usize,
    /// Jobs that wait and are before it.
    pub before: usize,
    /// What its tenant holds and should, and those of the holders that are named.
    pub shares: Vec<Held>,
}

/// What a tenant holds, and its part by weight among those who have work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Whose.
    pub tenant: TenantId,
    /// GPUs it holds.
    pub held: GpuCount,
    /// GPUs that its part comes to.
    pub share: f64,
}

/// From when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// Not sooner.
    pub earliest: Time,
    /// Not later, if that can be told.
    pub latest: Option<Time>,
}

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits for GPUs.
    Queued,
    /// It waits for other jobs to end.
    After(Vec<JobId>),
    /// As many jobs of its array as may be are on their way.
    NoTurn,
    /// It crashed, and is tried again then.
    Retries(Time),
    /// Somebody holds it back.
    OnHold,
    /// It was given GPUs that others have not left yet.
    Promised,
    /// It has GPUs.
    Runs,
    /// It was asked to stop.
    Stopping,
}

/// Somebody who has GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Who.
    pub job: JobId,
    /// Whose.
    pub tenant: TenantId,
    /// How many that would do.
    pub gpus: GpuCount,
    /// Why it has them.
    pub why: Reason,
    /// When it is believed to have ended, if that can be told.
    pub until: Option<Time>,
}

impl Engine {
    /// What is before a job as of `now`; `None` if there is no such job, or it has ended.
    pub fn outlook(&self, id: JobId, now: Time) -> Option<Outlook> {
        let snapshot = Snapshot { now: now.max(self.state.now), ..self.snapshot() };
        let index = snapshot.jobs.index(id)?;
        let job = snapshot.jobs.get(index);
        let look = Look { snapshot: &snapshot, index, job };
        let standing = self.standing(&snapshot, job);
        let before = if standing == Standing::Queued { self.before(&snapshot, id) } else { Vec::new() };
        let (start, finish) = look.times(&standing, &before);
        let mut holders = look.holders();
        holders.sort_by_key(|holding| (holding.until.unwrap_or(Time::NEVER), holding.job));
        let holders_count = holders.len();
        holders.truncate(NAMED_MAX);
        let lease = snapshot.leases.of_job(Some(job));
        Some(Outlook {
            why: lease.map(|lease| lease.reason).or_else(|| self.why_waiting(id)),
            needs: job.spec.gpus.min,
            usable: look.models().map(|model| snapshot.cluster.capacity(model)).sum(),
            free: look.models().map(|model| snapshot.cluster.free.count(model)).max().unwrap_or_default(),
            start,
            finish,
            shares: shares(&snapshot, job.spec.tenant, &holders),
            holders,
            holders_count,
            before: before.len(),
            standing,
        })
    }

    fn standing(&self, snapshot: &Snapshot, job: &Job) -> Standing {
        let (id, state) = (job.spec.id, &self.state);
        if let JobState::Leased(lease) = job.state {
            return match snapshot.leases.get(lease) {
                Some(lease) if !lease.is_lasting() => Standing::Stopping,
                Some(lease) if !lease.is_seated() => Standing::Promised,
                _ => Standing::Runs,
            };
        }
        if state.holds.contains(&id) {
            return Standing::OnHold;
        }
        if let Some(at) = state.retries.get(&id) {
            return Standing::Retries(*at);
        }
        let after = state.dependents.iter().filter(|(_, waiting)| waiting.contains(&id));
        let after: Vec<JobId> = after.map(|(job, _)| *job).collect();
        match after.is_empty() {
            false => Standing::After(after),
            true if state.waits_for_a_turn(&job.spec) => Standing::NoTurn,
            true => Standing::Queued,
        }
    }

    /// Jobs that wait and come before this one.
    fn before(&self, snapshot: &Snapshot, id: JobId) -> Vec<JobIndex> {
        let refused = self.state.previous.iter().flat_map(|plan| &plan.refused).map(|(job, _)| *job);
        let place = refused.clone().position(|job| job == id);
        let waits =
            |job: JobId| snapshot.jobs.index(job).filter(|index| snapshot.jobs.get(*index).is_queued());
        if let Some(place) = place {
            return refused.take(place).filter_map(waits).collect();
        }
        let queue = snapshot.jobs.queue().take_while(|(_, job)| job.spec.id != id);
        queue.map(|(index, _)| index).collect()
    }
}

/// A job as it is looked at.
struct Look<'a> {
    snapshot: &'a Snapshot,
    index: JobIndex,
    job: &'a Job,
}

impl Look<'_> {
    /// GPU models that will do.
    fn models(&self) -> impl Iterator<Item = ModelIndex> {
        lanes::models(self.snapshot, self.index)
    }

    fn times(&self, standing: &Standing, before: &[JobIndex]) -> (Option<Between>, Option<Between>) {
        let Snapshot { now, .. } = *self.snapshot;
        match standing {
            Standing::Runs => {
                let left = lanes::left(self.snapshot, self.index);
                (None, left.map(|left| after(now, Some(now), left)))
            }
            Standing::Queued => {
                let soon = Lanes::new(self.snapshot, |left| left.low).seat(self.index, |left| left.low);
                let late = {
                    let mut lanes = Lanes::new(self.snapshot, |left| left.high);
                    let all = before.iter().all(|other| lanes.seat(*other, |left| left.high).is_some());
                    all.then(|| lanes.seat(self.index, |left| left.high)).flatten()
                };
                let start = soon.map(|(soon, _)| Between { earliest: soon, latest: late.map(|(at, _)| at) });
                let finish = soon.and_then(|(soon, model)| {
                    let left = self.snapshot.remaining_seconds(self.index, self.job, model)?;
                    Some(after(soon, late.map(|(at, _)| at), left))
                });
                (start, finish)
            }
            _ => (None, None),
        }
    }

    /// Who has GPUs that would do.
    fn holders(&self) -> Vec<Holding> {
        let snapshot = self.snapshot;
        let others = snapshot.leases.iter().filter(|lease| lease.job != self.job.spec.id);
        others.filter_map(|lease| self.holding(lease)).collect()
    }

    fn holding(&self, lease: &Lease) -> Option<Holding> {
        let snapshot = self.snapshot;
        let would_do = |node: usize| self.models().any(|model| model == snapshot.cluster.nodes[node].model);
        let seats = lease.gpus.seats().iter().filter(|seat| would_do(seat.node.index()));
        let gpus = GpuCount(seats.map(|seat| seat.gpus.count()).sum());
        let index = snapshot.jobs.index(lease.job)?;
        let left = lanes::left(snapshot, index).map(|left| left.mean);
        let until = left.map(|left| snapshot.now + evenhand_core::Span::from_seconds(left));
        let tenant = snapshot.jobs.get(index).spec.tenant;
        (gpus > GpuCount::ZERO).then_some(Holding { job: lease.job, tenant, gpus, why: lease.reason, until })
    }
}

fn after(earliest: Time, latest: Option<Time>, left: Estimate<f64>) -> Between {
    let span = evenhand_core::Span::from_seconds;
    Between { earliest: earliest + span(left.low), latest: latest.map(|latest| latest + span(left.high)) }
}

/// What a tenant and those who hold GPUs hold altogether, and should.
fn shares(snapshot: &Snapshot, own: TenantId, holders: &[Holding]) -> Vec<Held> {
    let parts = snapshot.tenants.parts(snapshot.jobs.iter().map(|(_, job)| job.spec.tenant));
    let named: BTreeSet<TenantId> = holders.iter().map(|holding| holding.tenant).chain([own]).collect();
    let mut held: BTreeMap<TenantId, GpuCount> =
        named.iter().map(|tenant| (*tenant, GpuCount::ZERO)).collect();
    for lease in snapshot.leases.iter().filter(|lease| lease.is_seated()) {
        let tenant = snapshot.jobs.by_id(lease.job).map(|job| job.spec.tenant);
        if let Some(held) = tenant.and_then(|tenant| held.get_mut(&tenant)) {
            *held += lease.gpus.count();
        }
    }
    let gpus = f64::from(snapshot.cluster.capacity_total().0);
    let share = |tenant| parts.get(&tenant).copied().unwrap_or_default() * gpus;
    held.into_iter().map(|(tenant, held)| Held { tenant, held, share: share(tenant) }).collect()
}
