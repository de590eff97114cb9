//! All that a policy may look at, frozen at one instant.
//!
//! Taking a snapshot copies no table: it is a handful of reference counts onto the tables that the engine edits
//! in place. Inside it everything is dense; ids appear only where something leaves it.

use crate::{
    App, AppId, Balances, BidTable, Classes, Cluster, Demand, Estimate, Forecast, GpuCount, GpuTime,
    Interference, Job, JobId, JobIndex, Lease, LeaseState, Leases, ModelIndex, PerModel, Plan, QueueKey,
    Rate, Ratio, Round, SharingMode, Span, Table, Tenants, Time, Work,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Why a decision is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A round is over: leases are up for renewal.
    Regular,
    /// Something happened in between: a job came, a lease ended, a node was lost.
    Early,
    /// The bids that the last plan asked for are in; offers are no longer possible.
    Bids,
}

/// The active jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Jobs {
    rows: Table<JobIndex, Job>,
    by_id: BTreeMap<JobId, JobIndex>,
    queue: BTreeMap<QueueKey, JobIndex>,
}

impl Jobs {
    /// Adds a job.
    pub fn insert(&mut self, job: Job) -> JobIndex {
        let (id, key, queued) = (job.spec.id, job.queue_key(), job.is_queued());
        let index = self.rows.insert(job);
        self.by_id.insert(id, index);
        if queued {
            self.queue.insert(key, index);
        }
        index
    }

    /// Takes a job out.
    pub fn remove(&mut self, id: JobId) -> Option<Job> {
        let index = self.by_id.remove(&id)?;
        let job = self.rows.remove(index)?;
        self.queue.remove(&job.queue_key());
        Some(job)
    }

    /// Changes a job; the queue follows its state.
    pub fn change(&mut self, id: JobId, edit: impl FnOnce(&mut Job)) {
        let Some(index) = self.by_id.get(&id).copied() else { return };
        let job = &mut self.rows[index];
        let before = job.is_queued();
        edit(job);
        match (before, job.is_queued()) {
            (false, true) => {
                self.queue.insert(job.queue_key(), index);
            }
            (true, false) => {
                self.queue.remove(&job.queue_key());
            }
            _ => {}
        }
    }

    /// The place of a job.
    pub fn index(&self, id: JobId) -> Option<JobIndex> {
        self.by_id.get(&id).copied()
    }
    /// The job of this number.
    pub fn by_id(&self, id: JobId) -> Option<&Job> {
        Some(&self.rows[*self.by_id.get(&id)?])
    }
    /// The job in a place.
    pub fn get(&self, index: JobIndex) -> &Job {
        &self.rows[index]
    }
    /// All active jobs, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (JobIndex, &Job)> {
        self.rows.iter()
    }
    /// Jobs that wait for GPUs: the most urgent first, then first come first.
    pub fn queue(&self) -> impl Iterator<Item = (JobIndex, &Job)> {
        self.queue.values().map(|index| (*index, &self.rows[*index]))
    }
    /// How many jobs wait for GPUs.
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }
    /// How many jobs are active.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The length of a dense array beside the jobs.
    pub fn places(&self) -> usize {
        self.rows.places()
    }
}

/// All that a policy may look at, frozen at one instant.
#[derive(Clone)]
pub struct Snapshot {
    /// The instant.
    pub now: Time,
    /// The number of this decision.
    pub round: Round,
    /// Why it is asked for.
    pub occasion: Occasion,
    /// When the next regular round is due: leases end then unless they are renewed.
    pub next_round: Time,
    /// For policies that draw lots.
    pub seed: u64,
    /// Machines and free GPUs.
    pub cluster: Arc<Cluster>,
    /// Whom fairness is between.
    pub tenants: Arc<Tenants>,
    /// Jobs with a common goal.
    pub apps: Arc<BTreeMap<AppId, App>>,
    /// Active jobs.
    pub jobs: Arc<Jobs>,
    /// What is believed of each, by place.
    pub forecasts: Arc<Vec<Arc<Forecast>>>,
    /// Jobs that need not be told apart.
    pub classes: Arc<Classes>,
    /// Who holds what.
    pub leases: Arc<Leases>,
    /// GPUs of leases that are being stopped and are promised to nobody.
    pub leaving: PerModel<GpuCount>,
    /// Owed minus received.
    pub balances: Arc<Balances>,
    /// Answers of outside agents.
    pub bids: Arc<BTreeMap<AppId, BidTable>>,
    /// How much jobs on one GPU slow each other down.
    pub interference: Arc<dyn Interference>,
    /// Jobs that were measured to break a contract: the host's, and the guest that did.
    pub apart: Arc<BTreeSet<(JobId, JobId)>>,
    /// The last plan: its window, its memory, its warm start.
    pub previous: Option<Arc<Plan>>,
}

impl Snapshot {
    /// What is believed of a job.
    pub fn forecast(&self, index: JobIndex) -> &Forecast {
        &self.forecasts[index.0 as usize]
    }

    /// The believed slowdown of one of several jobs on a GPU of this model; `None` if one of them is not active.
    pub fn slowdown_among(
        &self,
        jobs: &[JobId],
        own: usize,
        model: ModelIndex,
        mode: SharingMode,
    ) -> Option<Estimate<Ratio>> {
        let demand = |id: &JobId| Some(&self.forecast(self.jobs.index(*id)?).demand[model]);
        let demands = jobs.iter().map(demand).collect::<Option<Vec<&Demand>>>()?;
        let others: Vec<&Demand> =
            demands.iter().enumerate().filter(|(at, _)| *at != own).map(|(_, demand)| *demand).collect();
        let model = &self.cluster.models[usize::from(model.0)];
        Some(self.interference.slowdown(demands[own], &others, model, mode))
    }

    /// GPUs that a plan may give away without preempting anybody: free, or about to be.
    pub fn available(&self) -> PerModel<GpuCount> {
        let mut room = self.cluster.free.counts();
        for (model, leaving) in self.cluster.model_indices().zip(self.leaving.values()) {
            room[model] += leaving;
        }
        room
    }

    /// The GPU model of a lease; of a mixed one, the first.
    pub fn model_of(&self, lease: &Lease) -> Option<ModelIndex> {
        Some(self.cluster.nodes[lease.gpus.seats().first()?.node.index()].model)
    }

    /// GPU-time a job has received until now, on all models.
    pub fn attained(&self, job: &Job) -> GpuTime {
        let settled: GpuTime = job.attained.values().sum();
        settled + self.attained_in_lease(job)
    }

    fn attained_in_lease(&self, job: &Job) -> GpuTime {
        match self.leases.of_job(Some(job)) {
            Some(lease) if lease.is_seated() => GpuTime::new(lease.gpus.count(), self.now.since(lease.taken)),
            _ => GpuTime::ZERO,
        }
    }

    /// How fast a job is believed to run now: zero if it does not.
    pub fn rate_now(&self, index: JobIndex, job: &Job) -> Rate {
        match self.leases.of_job(Some(job)) {
            Some(lease) if lease.state == LeaseState::Held => self.rate_on(index, job, lease),
            _ => Rate::ZERO,
        }
    }

    fn rate_on(&self, index: JobIndex, job: &Job, lease: &Lease) -> Rate {
        let span = self.cluster.span_of(&lease.gpus);
        let forecast = self.forecast(index);
        // A synchronous job runs at its slowest worker.
        let rates = lease.gpus.seats().iter().map(|seat| {
            let model = self.cluster.nodes[seat.node.index()].model;
            forecast.rate(model, job.spec.gpus, lease.gpus.count(), span)
        });
        rates.reduce(|a, b| if b < a { b } else { a }).unwrap_or_default()
    }

    /// Work that a job is believed to have done by now.
    pub fn done(&self, index: JobIndex, job: &Job) -> Work {
        job.done + self.rate_now(index, job).work_in(self.now.since(job.heard))
    }

    /// Work that is believed to be left: zero for a job that outran its forecast, `None` if nothing is known.
    pub fn remaining(&self, index: JobIndex, job: &Job) -> Option<Work> {
        let done = self.done(index, job);
        Some(self.forecast(index).total_after(done)?.mean.less(done))
    }

    /// Seconds that a job is believed to need still, alone on `gpus.min` GPUs of a model in one place, with the changes of
    /// regime that are expected. `None` if unknown, or if it cannot run there.
    pub fn remaining_seconds(&self, index: JobIndex, job: &Job, model: ModelIndex) -> Option<Estimate<f64>> {
        self.forecast(index).seconds_from(model, self.done(index, job))
    }

    /// Time a job is believed to need as fast as it is now, alone on `gpus.min` GPUs of its fastest model. `None` if unknown.
    pub fn remaining_time(&self, index: JobIndex, job: &Job) -> Option<Span> {
        let forecast = self.forecast(index);
        let models =
            self.cluster.model_indices().filter(|model| self.cluster.capacity(*model) > GpuCount::ZERO);
        let fastest =
            models.map(|model| forecast.speed[model].mean).reduce(|a, b| if b > a { b } else { a })?;
        self.remaining(index, job)?.span_at(fastest)
    }
}
