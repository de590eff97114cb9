//! Horus: jobs share GPUs where their predicted utilisations and memories do each other the least harm.
//!
//! ```text
//! (3)  min sum_j sum_g Cost_jg X_jg                      Cost: see `cost.rs`, eq. (7) to (10)
//! (4)  sum_g X_jg = RQ_j                                 all GPUs of a gang or none
//! (5)  sum_j memory_j X_jg + 500 MiB <= capacity_g       upper ends of the predictions; at most 3 jobs on a GPU; likewise cores and main memory of nodes
//! ```
//!
//! `horus` looks at the five jobs that ask least of their GPUs and places the first that fits, over and over. `horus-plus` sorts jobs that
//! look alike into queues, and takes from each by its weight (`queues.rs`). Nobody is ever interrupted.
//!
//! Utilisation is the predicted duty. No bound is put on the slowdown of anybody, as in the paper, so every lease lets others come. Jobs that never consented, and jobs that
//! have run out of memory beside others, get GPUs of their own. A gang takes GPUs of one model, the one where it costs least.

mod cost;
mod desks;
pub(crate) mod lucid;
pub(crate) mod packing;
mod queues;

use crate::registry::{Entry, Promise};
use cost::{Cost, OVER, TASKS_WEIGHT, W1, W2};
use desks::{Desk, Desks, MODE, mode};
use evenhand_core::{
    Demand, Job, JobIndex, JobState, Limits, Others, ParameterError, ParameterSpec, Parameters, Plan, Policy,
    PolicyError, Reason, SharingMode, Snapshot,
};
use queues::{Waiting, choose};
use std::cmp::Reverse;

const JOBS_MAX: ParameterSpec =
    ParameterSpec { name: "jobs_max", default: "3", summary: "jobs on one GPU at most" };
const LOOK_AHEAD: ParameterSpec = ParameterSpec {
    name: "look_ahead",
    default: "5",
    summary: "jobs that are looked at before the others have to wait",
};
const QUEUES: ParameterSpec =
    ParameterSpec { name: "queues", default: "3", summary: "queues of jobs that look alike, k" };
const JOBS_PER_ROUND: ParameterSpec = ParameterSpec {
    name: "jobs_per_round",
    default: "32",
    summary: "jobs that the queues send into one decision, beta",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "horus",
    summary: "Jobs share GPUs where predicted utilisation and memory fit best; who asks least of a GPU goes first.",
    paper: "Horus, IEEE TPDS 2022",
    promises: &[Promise::NeverPreempts],
    parameters: &[W1, W2, OVER, TASKS_WEIGHT, JOBS_MAX, LOOK_AHEAD, MODE],
    divide: None,
    build: |parameters| {
        let ahead = parameters.number(&LOOK_AHEAD, 1.0, 1e6)? as usize;
        Ok(Box::new(Horus { order: Order::LeastFirst { ahead }, ..Horus::read(parameters)? }))
    },
};

pub(crate) const PLUS: Entry = Entry {
    name: "horus-plus",
    summary: "As horus, but jobs that look alike wait in queues of their own, and each queue gets its part.",
    paper: "Horus, IEEE TPDS 2022",
    promises: &[Promise::NeverPreempts],
    parameters: &[W1, W2, OVER, TASKS_WEIGHT, JOBS_MAX, QUEUES, JOBS_PER_ROUND, MODE],
    divide: None,
    build: |parameters| {
        let k = parameters.number(&QUEUES, 1.0, 1000.0)? as usize;
        let beta = parameters.number(&JOBS_PER_ROUND, 1.0, 1e6)? as usize;
        Ok(Box::new(Horus { order: Order::Queues { k, beta }, ..Horus::read(parameters)? }))
    },
};

/// Who comes first.
#[derive(Clone, Copy)]
enum Order {
    /// Who asks least, among so many.
    LeastFirst { ahead: usize },
    /// So many jobs from so many queues.
    Queues { k: usize, beta: usize },
}

struct Horus {
    cost: Cost,
    jobs_max: usize,
    mode: SharingMode,
    order: Order,
}

impl Horus {
    fn read(parameters: &Parameters) -> Result<Self, ParameterError> {
        Ok(Self {
            cost: Cost::read(parameters)?,
            jobs_max: parameters.number(&JOBS_MAX, 1.0, 64.0)? as usize,
            mode: mode(parameters)?,
            order: Order::LeastFirst { ahead: 1 },
        })
    }

    /// Places the first of a few jobs that fits, until none of them does.
    fn least_first(&self, snapshot: &Snapshot, ahead: usize, desks: &mut Desks<'_>, plan: &mut Plan) {
        let mut queue: Vec<_> = snapshot.jobs.queue().collect();
        queue.sort_by(|(a, job), (b, other)| {
            let urgency = Reverse(job.spec.priority).cmp(&Reverse(other.spec.priority));
            let use_of = |index| utilisation(snapshot, index);
            urgency.then(use_of(*a).total_cmp(&use_of(*b))).then(job.queue_key().cmp(&other.queue_key()))
        });
        let mut waiting = queue.into_iter();
        let mut window: Vec<(JobIndex, &Job)> = waiting.by_ref().take(ahead).collect();
        // Seats only fill up, so a job that was refused is not looked at again.
        let mut at = 0;
        while at < window.len() {
            match desks.seat(window[at], Reason::LeastUse, |_, desk, own| Some(self.price(desk, own))) {
                Ok(grant) => {
                    plan.grants.push(grant);
                    window.remove(at);
                    window.extend(waiting.next());
                }
                Err(why) => {
                    plan.refused.push((window[at].1.spec.id, why));
                    at += 1;
                }
            }
        }
        plan.refused.extend(waiting.map(|(_, job)| (job.spec.id, Reason::BehindLarger)));
    }

    /// Places the jobs that the queues send, and leaves the others.
    fn by_queues(
        &self,
        snapshot: &Snapshot,
        (k, beta): (usize, usize),
        desks: &mut Desks<'_>,
        plan: &mut Plan,
    ) {
        let mut waiting: Vec<Waiting> =
            snapshot.jobs.queue().map(|(index, job)| described(snapshot, index, job)).collect();
        waiting.sort_by_key(|waiting| waiting.job);
        let chosen = choose(&waiting, k, beta, snapshot.seed);
        for id in &chosen {
            let Some(index) = snapshot.jobs.index(*id) else { continue };
            let job = snapshot.jobs.get(index);
            let price = |_: usize, desk: &Desk, own: &Demand| Some(self.price(desk, own));
            match desks.seat((index, job), Reason::EarlierQueue, price) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((*id, why)),
            }
        }
        let left = waiting.iter().filter(|waiting| !chosen.contains(&waiting.job));
        plan.refused.extend(left.map(|waiting| (waiting.job, Reason::BehindLarger)));
    }

    fn price(&self, desk: &Desk, own: &Demand) -> f64 {
        self.cost.of(own, &desk.demands(), desk.memory.0)
    }
}

impl Policy for Horus {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut desks = Desks::new(snapshot, self.mode, self.jobs_max);
        match self.order {
            Order::LeastFirst { ahead } => self.least_first(snapshot, ahead, &mut desks, &mut plan),
            Order::Queues { k, beta } => self.by_queues(snapshot, (k, beta), &mut desks, &mut plan),
        }
        Ok(plan)
    }
}

/// The mean of what a job is believed to use of one GPU, over the models that it runs on.
fn utilisation(snapshot: &Snapshot, index: JobIndex) -> f64 {
    mean(snapshot, index, |demand| demand.duty)
}

fn mean(snapshot: &Snapshot, index: JobIndex, of: impl Fn(&Demand) -> f64) -> f64 {
    let forecast = snapshot.forecast(index);
    let runs = snapshot.cluster.model_indices().filter(|model| forecast.speed[*model].mean.get() > 0.0);
    let (sum, count) =
        runs.fold((0.0, 0.0), |(sum, count), model| (sum + of(&forecast.demand[model]), count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

/// What `horus-plus` tells a job apart by.
fn described(snapshot: &Snapshot, index: JobIndex, job: &Job) -> Waiting {
    let since = if let JobState::Queued { since } = job.state { since } else { snapshot.now };
    let memory = mean(snapshot, index, |demand| demand.memory.mean.0 as f64);
    Waiting {
        job: job.spec.id,
        features: [f64::from(job.spec.gpus.min.0), utilisation(snapshot, index), 1.0, memory],
        wait_s: (job.waited + snapshot.now.since(since)).seconds(),
    }
}
