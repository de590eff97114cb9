//! Everything a policy may say, and the check that it may be said.

use crate::{
    Ahead, AppId, Auction, ClassIndex, GpuCount, GpuSet, Invitation, Job, JobId, JobState, Locality, Memory,
    ModelIndex, PerModel, Promised, Ratio, Reason, Snapshot, Span, TenantId, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// A decision.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Most deserving first.
    pub grants: Vec<Grant>,
    /// What happens to jobs that hold GPUs and are not named.
    pub others: Others,
    /// Would be welcome beside others: a placer may seat these on shared GPUs.
    pub spare: Vec<Grant>,
    /// By how much guests may slow down single jobs that are granted GPUs, where that is less than the placer thinks fair.
    #[serde(default)]
    pub bears: BTreeMap<JobId, Ratio>,
    /// Fractional entitlement from now on, for policies that divide the cluster.
    pub shares: Option<Shares>,
    /// The rounds after this one, for policies that look ahead. The engine does not act on it; the policy
    /// finds it again in `previous`.
    pub window: Vec<Vec<Grant>>,
    /// How good the decision is known to be.
    pub quality: Quality,
    /// Jobs that got nothing, and the constraint that was in their way.
    pub refused: Vec<(JobId, Reason)>,
    /// GPUs that cannot be seated as granted go to those who were refused for want of room, in their order: nobody waits for whoever comes before.
    #[serde(default)]
    pub passes_over: bool,
    /// GPUs to be shown to apps whose agents live outside, before a second decision; `None` = this decision is final.
    /// In a world that cannot ask, this decision is final too.
    pub invitation: Option<Invitation>,
    /// The auction that the grants came out of.
    pub auction: Option<Arc<Auction>>,
    /// The window that was planned and what it foresees, if it was planned anew.
    pub ahead: Option<Arc<Ahead>>,
    /// Finish times that are promised, where that is news.
    pub promises: Vec<Promised>,
    /// Decide again by then at the latest, whatever happens.
    pub again: Option<Time>,
    /// What the policy wants to find in `previous` next time.
    pub memory: Memory,
    /// May speed up the next solve, never changes its result.
    pub warm: Memory,
}

/// What happens to jobs that hold GPUs and are not named in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Others {
    /// They are preempted: the plan names everybody who may run.
    #[default]
    Release,
    /// They keep what they hold: the plan names changes only.
    Keep,
}

/// Whom a share or a balance belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    /// A tenant.
    Tenant(TenantId),
    /// An app.
    App(AppId),
    /// A job.
    Job(JobId),
    /// One class of jobs of a tenant: a virtual user.
    TenantClass(TenantId, ClassIndex),
}

impl Party {
    /// The party of the same kind that a job belongs to: whom its GPU-time is booked to.
    pub fn same_kind(self, job: &Job) -> Option<Self> {
        Some(match self {
            Self::Tenant(_) => Self::Tenant(job.spec.tenant),
            Self::App(_) => Self::App(job.spec.app?),
            Self::Job(_) => Self::Job(job.spec.id),
            Self::TenantClass(..) => Self::TenantClass(job.spec.tenant, job.class),
        })
    }
}

/// GPUs per party and GPU model, as fractions of whole GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Each party once.
    pub rows: Vec<(Party, PerModel<f64>)>,
}

/// One job's part of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Who.
    pub job: JobId,
    /// How many GPUs.
    pub gpus: GpuCount,
    /// Of which kind, or exactly which.
    pub site: Site,
    /// Alone or beside others.
    pub sharing: Sharing,
    /// The widest spread allowed.
    pub locality: Locality,
    /// How long the lease lasts; `None` = until the next regular round.
    pub term: Option<Span>,
    /// Why.
    pub reason: Reason,
}

impl Grant {
    /// Exclusive GPUs of one model, spread as it may be.
    pub fn new(job: JobId, gpus: GpuCount, site: Site, reason: Reason) -> Self {
        Self { job, gpus, site, sharing: Sharing::Alone, locality: Locality::Cluster, term: None, reason }
    }
}

/// Which GPUs a grant is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Site {
    /// Any GPU model that will do for the job; the placer chooses one.
    Anywhere,
    /// This GPU model.
    Model(ModelIndex),
    /// These GPUs and no others.
    Exactly(GpuSet),
}

/// How jobs on one GPU are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharingMode {
    /// They take turns.
    TimeSlicing,
    /// They run side by side (NVIDIA MPS).
    Mps,
}

impl SharingMode {
    /// How jobs that were started in these modes get along: side by side if all were started that way, else by turns.
    pub fn together(mut modes: impl Iterator<Item = Self>) -> Self {
        if modes.all(|mode| mode == Self::Mps) { Self::Mps } else { Self::TimeSlicing }
    }
}

/// Alone on its GPUs, or beside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Nobody else on these GPUs.
    #[default]
    Alone,
    /// Others may be there, as long as the job is not slowed down by more than this.
    Beside {
        /// The job's contract.
        slowdown_max: Ratio,
        /// How the jobs are kept apart.
        mode: SharingMode,
    },
}

/// How good a plan is known to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// A rule was followed to the letter; nothing was optimised.
    #[default]
    Rule,
    /// Nothing better exists, within the solver's tolerance.
    Optimal,
    /// Carried out as it stands; the best is at most this fraction better.
    Feasible {
        /// The proven relative gap.
        gap: f64,
    },
}

/// A grant that could not be seated, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drop {
    /// Whose grant.
    pub job: JobId,
    /// What was in the way.
    pub reason: Reason,
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlanError {
    /// The job is not active.
    #[error("{0} is granted GPUs, but it is not active")]
    UnknownJob(JobId),
    /// The job is on hold.
    #[error("{0} is granted GPUs, but it is on hold")]
    Held(JobId),
    /// Two grants for one job.
    #[error("{0} is granted GPUs twice")]
    Twice(JobId),
    /// Not a count that the job can use.
    #[error("{job} is granted {} GPUs, but it takes {} to {}", gpus.0, min.0, max.0)]
    OutOfRange {
        /// The job.
        job: JobId,
        /// What it was granted.
        gpus: GpuCount,
        /// The least it takes.
        min: GpuCount,
        /// The most it takes.
        max: GpuCount,
    },
    /// A model that the job cannot run on.
    #[error("{job} is granted GPUs of model {}, which will not do", model.0)]
    WrongModel {
        /// The job.
        job: JobId,
        /// The model.
        model: ModelIndex,
    },
    /// `Site::Exactly` names a different number of GPUs, an unknown node, or mixes models.
    #[error("{0} is granted GPUs by name, and the names do not fit the grant")]
    WrongSite(JobId),
    /// A job that never shares was granted a shared GPU.
    #[error("{0} is to share a GPU, but never consented")]
    NoConsent(JobId),
    /// More GPUs than there are.
    #[error("{} GPUs of model {} are granted, but only {} are to be had", granted.0, model.0, capacity.0)]
    OverCapacity {
        /// The model.
        model: ModelIndex,
        /// The sum of grants.
        granted: GpuCount,
        /// What there is.
        capacity: GpuCount,
    },
    /// More GPUs in all than there are.
    #[error("{} GPUs are granted, but only {} are to be had", granted.0, capacity.0)]
    OverTotal {
        /// The sum of grants.
        granted: GpuCount,
        /// What there is.
        capacity: GpuCount,
    },
    /// More GPUs than the tenant or its group may have.
    #[error("{tenant} is granted {} GPUs of model {}, over its limit of {}", granted.0, model.0, limit.0)]
    OverLimit {
        /// The tenant or group.
        tenant: TenantId,
        /// The model.
        model: ModelIndex,
        /// What its jobs would hold.
        granted: GpuCount,
        /// What it may hold.
        limit: GpuCount,
    },
    /// A share that is not a number of GPUs.
    #[error("the share of a party is {0}, which is no number of GPUs")]
    WrongShare(String),
}

impl Plan {
    /// Whether the plan may be carried out. What it cannot see (which GPUs are close together) is the
    /// placer's to find out.
    pub fn check(&self, snapshot: &Snapshot) -> Result<(), PlanError> {
        self.check_jobs(snapshot)?;
        self.check_capacity(snapshot)?;
        self.check_limits(snapshot)?;
        let shares = self.shares.iter().flat_map(|shares| &shares.rows);
        for (_, row) in shares {
            if let Some(wrong) = row.values().find(|gpus| !gpus.is_finite() || *gpus < 0.0) {
                return Err(PlanError::WrongShare(wrong.to_string()));
            }
        }
        Ok(())
    }

    fn check_jobs(&self, snapshot: &Snapshot) -> Result<(), PlanError> {
        let mut named = BTreeSet::new();
        for grant in &self.grants {
            let job = snapshot.jobs.by_id(grant.job).ok_or(PlanError::UnknownJob(grant.job))?;
            if job.state == JobState::Held {
                return Err(PlanError::Held(grant.job));
            }
            if self.grants.len() > 1 && !named.insert(grant.job) {
                return Err(PlanError::Twice(grant.job));
            }
            let range = job.spec.gpus;
            if !range.contains(grant.gpus) {
                let (min, max) = (range.min, range.max);
                return Err(PlanError::OutOfRange { job: grant.job, gpus: grant.gpus, min, max });
            }
            if grant.sharing != Sharing::Alone && job.spec.sharing == crate::Consent::Never {
                return Err(PlanError::NoConsent(grant.job));
            }
            grant.check_site(snapshot, job)?;
        }
        Ok(())
    }

    /// Counts the GPUs of exclusive grants. Shared GPUs are counted seat by seat when they are seated.
    fn check_capacity(&self, snapshot: &Snapshot) -> Result<(), PlanError> {
        let cluster = &snapshot.cluster;
        let mut granted = PerModel::all(GpuCount::ZERO);
        let mut total = GpuCount::ZERO;
        let mut room = match self.others {
            Others::Release => cluster.capacities(),
            Others::Keep => snapshot.available(),
        };
        for grant in self.grants.iter().filter(|grant| grant.sharing == Sharing::Alone) {
            total += grant.gpus;
            grant.count_by_model(snapshot, &mut granted);
            // GPUs that a job holds already are its own to keep, also on a node that is being emptied.
            if let Some(held) = snapshot.leases.of_job(snapshot.jobs.by_id(grant.job)) {
                for seat in held.gpus.seats() {
                    let node = &cluster.nodes[seat.node.index()];
                    if self.others == Others::Keep || node.usable().is_empty() {
                        room[node.model] += GpuCount(seat.gpus.count());
                    }
                }
            }
        }
        for model in cluster.model_indices() {
            if granted[model] > room[model] {
                return Err(PlanError::OverCapacity {
                    model,
                    granted: granted[model],
                    capacity: room[model],
                });
            }
        }
        let capacity = room.values().sum();
        if total > capacity {
            return Err(PlanError::OverTotal { granted: total, capacity });
        }
        Ok(())
    }

    /// Nobody is granted more than a limit leaves. Who holds more already, because the limit was lowered, may keep it where a plan names changes only.
    fn check_limits(&self, snapshot: &Snapshot) -> Result<(), PlanError> {
        if snapshot.tenants.iter().all(|tenant| tenant.limit.is_none()) {
            return Ok(());
        }
        let named: BTreeSet<JobId> = self.grants.iter().map(|grant| grant.job).collect();
        let granted = self.grants.iter().map(|grant| (grant.job, grant.model(snapshot), grant.gpus));
        let lasting = snapshot.leases.iter().filter(|_| self.others == Others::Keep);
        let lasting = lasting.filter(|lease| lease.is_lasting() && !named.contains(&lease.job));
        let kept = lasting.map(|lease| (lease.job, snapshot.model_of(lease), lease.gpus.count()));
        let (granted, kept) = (by_tenant(snapshot, granted), by_tenant(snapshot, kept));
        for tenant in snapshot.tenants.iter() {
            let (Some(limits), at) = (tenant.limit, tenant.id.index()) else { continue };
            for model in snapshot.cluster.model_indices() {
                let (new, limit) = (granted[at][model], limits[model]);
                let granted = new + kept[at][model];
                if new > GpuCount::ZERO && granted > limit {
                    return Err(PlanError::OverLimit { tenant: tenant.id, model, granted, limit });
                }
            }
        }
        Ok(())
    }
}

impl Grant {
    /// The GPU model granted, if it is known: that of a lease the job keeps, too. Of several, the first.
    pub fn model(&self, snapshot: &Snapshot) -> Option<ModelIndex> {
        match &self.site {
            Site::Model(model) => Some(*model),
            Site::Anywhere | Site::Exactly(_) => {
                let node = self.gpus_known(snapshot)?.seats().first()?.node;
                Some(snapshot.cluster.node(node)?.model)
            }
        }
    }

    /// The GPUs that the grant is for, where they are known before it is seated: by name, or because the job keeps
    /// the lease it holds.
    fn gpus_known<'a>(&'a self, snapshot: &'a Snapshot) -> Option<&'a GpuSet> {
        match &self.site {
            Site::Anywhere => {
                let lease = snapshot.leases.of_job(snapshot.jobs.by_id(self.job))?;
                lease.is_lasting().then_some(&lease.gpus)
            }
            Site::Model(_) => None,
            Site::Exactly(gpus) => Some(gpus),
        }
    }

    /// Adds the GPUs of each model that the grant is known to take.
    fn count_by_model(&self, snapshot: &Snapshot, counts: &mut PerModel<GpuCount>) {
        if let Site::Model(model) = self.site {
            counts[model] += self.gpus;
        }
        // Seat by seat, because a lease may mix models. What a job is granted on top of its lease may be of any.
        let mut left = self.gpus;
        for seat in self.gpus_known(snapshot).iter().flat_map(|gpus| gpus.seats()) {
            let part = left.min(GpuCount(seat.gpus.count()));
            counts[snapshot.cluster.nodes[seat.node.index()].model] += part;
            left = left.less(part);
        }
    }

    fn check_site(&self, snapshot: &Snapshot, job: &Job) -> Result<(), PlanError> {
        let allowed = |model| {
            let known = usize::from(model) < snapshot.cluster.models.len();
            let model = ModelIndex(model);
            let runs = known && job.spec.models.allows(model);
            if runs { Ok(()) } else { Err(PlanError::WrongModel { job: self.job, model }) }
        };
        match &self.site {
            Site::Anywhere => Ok(()),
            Site::Model(model) => allowed(model.0),
            Site::Exactly(gpus) => {
                let cluster = &snapshot.cluster;
                let exists = |seat: &crate::Seat| {
                    cluster.node(seat.node).is_some_and(|node| seat.gpus.without(node.all()).is_empty())
                };
                if gpus.count() != self.gpus || !gpus.seats().iter().all(exists) {
                    return Err(PlanError::WrongSite(self.job));
                }
                if job.spec.packets.is_some_and(|packets| !packets.divide(gpus)) {
                    return Err(PlanError::WrongSite(self.job));
                }
                let models = cluster.models_of(gpus);
                if models.len() > 1 && !job.spec.mixes_models {
                    return Err(PlanError::WrongSite(self.job));
                }
                models.iter().try_for_each(|model| allowed(model.0))
            }
        }
    }
}

/// GPUs of jobs, added up for their tenants and the groups that these are in.
fn by_tenant(
    snapshot: &Snapshot,
    jobs: impl Iterator<Item = (JobId, Option<ModelIndex>, GpuCount)>,
) -> Vec<PerModel<GpuCount>> {
    let mut sums = vec![PerModel::all(GpuCount::ZERO); snapshot.tenants.len()];
    for (job, model, gpus) in jobs {
        let (Some(job), Some(model)) = (snapshot.jobs.by_id(job), model) else { continue };
        for member in snapshot.tenants.lineage(job.spec.tenant) {
            sums[member.id.index()][model] += gpus;
        }
    }
    sums
}
