//! Grants GPUs in a given order: what every policy that ranks jobs has in common.

use evenhand_core::{
    GpuCount, GpuRange, Grant, Job, JobIndex, JobState, Lease, ModelIndex, Occasion, Others, ParameterError,
    ParameterSpec, Parameters, PerModel, Plan, Reason, Site, Snapshot,
};

/// When a policy may take GPUs from a job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preempt {
    /// When its lease is up for renewal.
    AtRounds,
    /// Whenever something happens.
    Anytime,
}

pub(crate) const PREEMPT_AT_ROUNDS: ParameterSpec = ParameterSpec {
    name: "preempt",
    default: "rounds",
    summary: "when a running job may be interrupted: `rounds` (when its lease is up) or `anytime`",
};

pub(crate) const PREEMPT_ANYTIME: ParameterSpec = ParameterSpec { default: "anytime", ..PREEMPT_AT_ROUNDS };

pub(crate) const REPAY: ParameterSpec = ParameterSpec {
    name: "repay",
    default: "1h",
    summary: "the time over which a debt to a tenant is made good",
};

impl Preempt {
    pub fn read(parameters: &Parameters, spec: &ParameterSpec) -> Result<Self, ParameterError> {
        parameters.word(spec, &[("rounds", Self::AtRounds), ("anytime", Self::Anytime)])
    }

    /// Whether running jobs are up for decision now.
    pub fn is_due(self, snapshot: &Snapshot) -> bool {
        self == Self::Anytime || snapshot.occasion == Occasion::Regular
    }
}

/// Grants `gpus.min` GPUs to whoever comes first in the order of `key` and fits; others are passed over.
pub(crate) fn grant_by_key<K: Ord>(
    snapshot: &Snapshot,
    preempt: Preempt,
    reason: Reason,
    key: impl Fn(JobIndex, &Job) -> K,
) -> Plan {
    let due = preempt.is_due(snapshot);
    let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
    let mut order: Vec<_> =
        candidates(snapshot, preempt).map(|(index, job)| (key(index, job), job.queue_key(), index)).collect();
    order.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let others = if due { Others::Release } else { Others::Keep };
    // Whoever is decided about at any time would only be put in to be put out again.
    let passes_over = preempt == Preempt::AtRounds;
    let mut plan = Plan { others, passes_over, ..Plan::default() };
    for (_, _, index) in order {
        let job = snapshot.jobs.get(index);
        match room.grant(index, job, reason) {
            Ok(grant) => plan.grants.push(grant),
            Err(why) => plan.refused.push((job.spec.id, why)),
        }
    }
    plan
}

/// GPUs that a plan can still give away.
pub(crate) struct Room<'a> {
    snapshot: &'a Snapshot,
    free: PerModel<GpuCount>,
    /// What each tenant and group may still take, if any tenant has a limit.
    headroom: Option<Vec<PerModel<GpuCount>>>,
}

impl<'a> Room<'a> {
    /// The whole cluster, for a plan that decides about everybody.
    pub fn whole(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, free: snapshot.cluster.capacities(), headroom: limits(snapshot) }
    }

    /// What nobody holds, for a plan that leaves running jobs alone.
    pub fn left_over(snapshot: &'a Snapshot) -> Self {
        let mut room = Self { snapshot, free: snapshot.available(), headroom: limits(snapshot) };
        if room.headroom.is_some() {
            for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
                if let (Some(job), Some(model)) = (snapshot.jobs.by_id(lease.job), snapshot.model_of(lease)) {
                    room.count_against_limits(job, model, lease.gpus.count());
                }
            }
        }
        room
    }

    /// GPUs of all models that are left.
    pub fn total(&self) -> GpuCount {
        self.free.values().sum()
    }

    /// GPUs of a model that are left.
    pub fn free(&self, model: ModelIndex) -> GpuCount {
        self.free[model]
    }

    /// Whether the limits of a job's tenant or groups are in its way on a model, whatever room there is.
    pub fn is_over_limit(&self, job: &Job, model: ModelIndex) -> bool {
        !self.within_limits(job, model, job.spec.gpus.min)
    }

    /// Grants a job its least number of GPUs on the model it holds already, or else on the one that suits it
    /// best; or says why not.
    pub fn grant(&mut self, index: JobIndex, job: &Job, reason: Reason) -> Result<Grant, Reason> {
        let held = self.snapshot.leases.of_job(Some(job));
        let gpus = held.map_or(job.spec.gpus.min, |lease| lease.gpus.count());
        if let Some(lease) = held
            && let Some(model) = self.snapshot.model_of(lease)
            && self.keeps(lease)
            && self.within_limits(job, model, gpus)
        {
            let needs = self.needs(lease);
            for model in self.snapshot.cluster.model_indices() {
                self.free[model] = self.free[model].less(needs[model]);
            }
            self.count_against_limits(job, model, gpus);
            // A lease on its way out cannot be kept, but the job is to find its like when it is gone.
            let site = if lease.is_lasting() { Site::Anywhere } else { Site::Model(model) };
            return Ok(Grant::new(job.spec.id, gpus, site, reason));
        }
        let gpus = job.spec.gpus.min;
        match self.best_model(index, job, gpus) {
            Ok(model) => {
                self.take(job, model, gpus);
                Ok(Grant::new(job.spec.id, gpus, Site::Model(model), reason))
            }
            // Whoever holds a lease would be taken to keep it, and for that there is no room: it has to be gone first.
            Err(why @ Reason::NoRoom) if job.spec.mixes_models && !held.is_some_and(Lease::is_lasting) => {
                self.grant_mixed(index, job, reason, why)
            }
            Err(why) => Err(why),
        }
    }

    /// Grants a job that mixes models whatever is left of those that will do, the fastest first, as the placer seats it.
    fn grant_mixed(
        &mut self,
        index: JobIndex,
        job: &Job,
        reason: Reason,
        why: Reason,
    ) -> Result<Grant, Reason> {
        let (gpus, forecast) = (job.spec.gpus.min, self.snapshot.forecast(index));
        let speed = |model: &ModelIndex| forecast.speed[*model].mean;
        let mut models: Vec<ModelIndex> = self.snapshot.cluster.model_indices().collect();
        models.retain(|model| job.spec.models.allows(*model) && speed(model).get() > 0.0);
        models.sort_by_key(|model| (std::cmp::Reverse(speed(model).key()), *model));
        if gpus > models.iter().map(|model| self.free[*model]).sum() {
            return Err(why);
        }
        // Which model will count is the placer's choice, so it has to be within the limits of each.
        if !models.iter().all(|model| self.within_limits(job, *model, gpus)) {
            return Err(Reason::OverLimit);
        }
        let mut need = gpus;
        for model in models {
            let part = need.min(self.free[model]);
            self.free[model] = self.free[model].less(part);
            need = need.less(part);
            self.count_against_limits(job, model, gpus);
        }
        Ok(Grant::new(job.spec.id, gpus, Site::Anywhere, reason))
    }

    /// Counts a job that shares GPUs already granted, or that are named one by one: against limits only.
    pub fn beside(&mut self, job: &Job, model: ModelIndex, gpus: GpuCount) -> Result<(), Reason> {
        if !self.within_limits(job, model, gpus) {
            return Err(Reason::OverLimit);
        }
        self.count_against_limits(job, model, gpus);
        Ok(())
    }

    /// Grants a job its GPUs on this model and no other; `None` if it cannot have them.
    pub fn grant_on(
        &mut self,
        index: JobIndex,
        job: &Job,
        model: ModelIndex,
        reason: Reason,
    ) -> Option<Grant> {
        let held = self.snapshot.leases.of_job(Some(job));
        if let Some(lease) = held.filter(|lease| self.snapshot.model_of(lease) == Some(model))
            && self.keeps(lease)
            && self.within_limits(job, model, lease.gpus.count())
        {
            return self.grant(index, job, reason).ok();
        }
        let gpus = job.spec.gpus.min;
        let runs =
            job.spec.models.allows(model) && self.snapshot.forecast(index).speed[model].mean.get() > 0.0;
        if !runs || gpus > self.most_more(job, model) {
            return None;
        }
        self.take(job, model, gpus);
        Some(Grant::new(job.spec.id, gpus, Site::Model(model), reason))
    }

    /// Grants an elastic job the least it takes, preferably on the model it holds, and says on which model it can
    /// be granted more. A job that cannot change its size is granted what [`Self::grant`] grants it.
    pub fn grant_least(
        &mut self,
        index: JobIndex,
        job: &Job,
        reason: Reason,
    ) -> Result<(Grant, Option<ModelIndex>), Reason> {
        let GpuRange { min, max } = job.spec.gpus;
        let held = self.snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting());
        let fixed = |lease: &Lease| {
            self.needs(lease).values().sum::<GpuCount>() < lease.gpus.count()
                || self.snapshot.cluster.models_of(&lease.gpus).len() > 1
        };
        if min == max || held.is_some_and(fixed) {
            return Ok((self.grant(index, job, reason)?, None));
        }
        let kept = held.and_then(|lease| self.snapshot.model_of(lease));
        let model = match kept.filter(|model| min <= self.most_more(job, *model)) {
            Some(model) => model,
            None => match self.best_model(index, job, min) {
                Ok(model) => model,
                Err(_) => return Ok((self.grant(index, job, reason)?, None)),
            },
        };
        self.take(job, model, min);
        Ok((Grant::new(job.spec.id, min, Site::Model(model), reason), Some(model)))
    }

    /// The most GPUs of a model that a job could be granted on top of what this plan has granted already.
    pub fn most_more(&self, job: &Job, model: ModelIndex) -> GpuCount {
        let mut most = self.free[model];
        if let Some(headroom) = &self.headroom {
            for tenant in self.snapshot.tenants.lineage(job.spec.tenant) {
                most = most.min(headroom[tenant.id.index()][model]);
            }
        }
        most
    }

    /// Grants more GPUs of the same model: at most [`Self::most_more`].
    pub fn grow(&mut self, grant: &mut Grant, job: &Job, model: ModelIndex, by: GpuCount) {
        assert!(by <= self.most_more(job, model), "{} would grow beyond the room there is", grant.job);
        self.take(job, model, by);
        grant.gpus += by;
    }

    /// Whether a job can go on where it is, or find its like when a lease on its way out has ended.
    fn keeps(&self, lease: &Lease) -> bool {
        let needs = self.needs(lease);
        let fits = self.snapshot.cluster.model_indices().all(|model| needs[model] <= self.free[model]);
        fits && (lease.is_lasting() || self.snapshot.cluster.models_of(&lease.gpus).len() == 1)
    }

    /// GPUs of each model that the plan has to find for a lease to be kept: those on a node that takes no new leases
    /// are its own whatever the plan says.
    fn needs(&self, lease: &Lease) -> PerModel<GpuCount> {
        let mut needs = PerModel::all(GpuCount::ZERO);
        for seat in lease.gpus.seats() {
            let node = &self.snapshot.cluster.nodes[seat.node.index()];
            if !node.usable().is_empty() || !lease.is_lasting() {
                needs[node.model] += GpuCount(seat.gpus.count());
            }
        }
        needs
    }

    /// The model with room on which a job is believed to run fastest; the first of equals.
    fn best_model(&self, index: JobIndex, job: &Job, gpus: GpuCount) -> Result<ModelIndex, Reason> {
        let forecast = self.snapshot.forecast(index);
        let mut best: Option<(ModelIndex, u64)> = None;
        let mut why = Reason::NoModel;
        for model in self.snapshot.cluster.model_indices() {
            let speed = forecast.speed[model].mean;
            if !job.spec.models.allows(model) || speed.get() <= 0.0 {
                continue;
            }
            if gpus > self.free[model] {
                // A limit is the nearer reason: there is room, and it may not be used.
                why = if why == Reason::OverLimit { why } else { Reason::NoRoom };
            } else if !self.within_limits(job, model, gpus) {
                why = Reason::OverLimit;
            } else if best.is_none_or(|(_, key)| speed.key() > key) {
                best = Some((model, speed.key()));
            }
        }
        best.map(|(model, _)| model).ok_or(why)
    }

    fn take(&mut self, job: &Job, model: ModelIndex, gpus: GpuCount) {
        self.free[model] = self.free[model].less(gpus);
        self.count_against_limits(job, model, gpus);
    }

    fn within_limits(&self, job: &Job, model: ModelIndex, gpus: GpuCount) -> bool {
        self.headroom.as_ref().is_none_or(|headroom| {
            let mut lineage = self.snapshot.tenants.lineage(job.spec.tenant);
            lineage.all(|tenant| gpus <= headroom[tenant.id.index()][model])
        })
    }

    fn count_against_limits(&mut self, job: &Job, model: ModelIndex, gpus: GpuCount) {
        let Some(headroom) = &mut self.headroom else { return };
        for tenant in self.snapshot.tenants.lineage(job.spec.tenant) {
            let left = &mut headroom[tenant.id.index()][model];
            *left = left.less(gpus);
        }
    }
}

fn limits(snapshot: &Snapshot) -> Option<Vec<PerModel<GpuCount>>> {
    let unlimited = PerModel::all(GpuCount(u32::MAX));
    let limited = snapshot.tenants.iter().any(|tenant| tenant.limit.is_some());
    limited.then(|| snapshot.tenants.iter().map(|tenant| tenant.limit.unwrap_or(unlimited)).collect())
}

/// The jobs that may be granted GPUs now: everybody if running jobs are up for decision, else who waits.
pub(crate) fn candidates(snapshot: &Snapshot, preempt: Preempt) -> impl Iterator<Item = (JobIndex, &Job)> {
    let due = preempt.is_due(snapshot);
    let everybody = due.then(|| snapshot.jobs.iter().filter(|(_, job)| job.state != JobState::Held));
    let waiting = (!due).then(|| snapshot.jobs.queue());
    everybody.into_iter().flatten().chain(waiting.into_iter().flatten())
}

/// The GPUs of each model that a fraction of the whole cluster amounts to.
pub(crate) fn slice(snapshot: &Snapshot, gpus: f64) -> PerModel<f64> {
    let total = f64::from(snapshot.cluster.capacity_total().0);
    let mut row = PerModel::all(0.0);
    for model in snapshot.cluster.model_indices() {
        row[model] = gpus * f64::from(snapshot.cluster.capacity(model).0) / total.max(1.0);
    }
    row
}
