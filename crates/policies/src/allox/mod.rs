//! AlloX: mean completion time as a matching of waiting jobs to GPUs and positions in their queues.
//!
//! ```text
//! minimise  sum_i c(i, v, q) ,   c(i, v, q) = q * p_ij(v) + d_v      each job once, each (GPU v, position q) at most once
//! p_ij = W_i / r_ij       time of job i on GPU model j           q = position from the end of v's queue
//! d_v  = time until the job that is on GPU v is believed to end
//! ```
//!
//! A job in the q-th position from the end delays q jobs, itself included, by its own time, so the sum of costs is the
//! sum of completion times. Jobs that come first on GPUs that are free now start; a job that started runs to its end;
//! the rest is matched anew next time. Only the oldest max(alpha N, free GPUs) of N waiting jobs enter, so that with
//! alpha < 1 long jobs are not overtaken for ever.
//!
//! GPUs of one model are merged: free ones exactly, busy ones into bands of like d_v (`bands=0`: busy GPUs do not
//! count, as in the public code). A gang counts as g_i single jobs, on whichever model most of them fall, and starts
//! when g_i GPUs are free; those that come free meanwhile are kept for it. So this policy may leave GPUs idle, on
//! purpose: a job may be better off waiting for a faster GPU.
//!
//! Cost: O(n^2 S) at worst (see `matching`), nothing while no GPU is free. So that it stays below about a tenth of a
//! second, at most eight GPUs' worth of jobs enter for every GPU there is, and at most 2,000 or as many as are free:
//! the oldest. Of busy GPUs the same part is counted, or they would seem less sought after than they are. Measured
//! once (release, busy 2-core machine, 3 models, all but 3 GPUs busy), the matching alone: 1,074 jobs of 1 to 8 GPUs on
//! 999 GPUs in 107 ms, 171 jobs on 60 GPUs in 17 ms.

mod matching;

use crate::fill::Room;
use crate::gavel_rounds::{RESET, ROUND, VARIANT, fork};
use crate::published::ForkMatching;
use crate::registry::{Entry, Promise};
use evenhand_core::{
    GpuCount, Job, JobIndex, Limits, ModelIndex, Others, ParameterSpec, PerModel, Plan, Policy, PolicyError,
    QueueKey, Reason, Snapshot, Span,
};
use matching::{Group, Row, Slot, cheapest};
use std::cmp::Reverse;
use std::collections::BTreeSet;

const UNITS_PER_GPU: u32 = 8;
const UNITS_MAX: u32 = 2000;

const ALPHA: ParameterSpec = ParameterSpec {
    name: "alpha",
    default: "1",
    summary: "the oldest fraction of waiting jobs that may be started, 0 to 1; less is fairer to long jobs",
};

const BANDS: ParameterSpec = ParameterSpec {
    name: "bands",
    default: "4",
    summary: "busy GPUs of a model are told apart in so many bands by when they come free; 0: they do not count",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "allox",
    summary: "Matches waiting jobs to GPUs so that they finish soonest on average; runs them to their end.",
    paper: "AlloX, EuroSys 2020",
    promises: &[Promise::NeverPreempts],
    parameters: &[ALPHA, BANDS, VARIANT, RESET, ROUND],
    divide: None,
    build: |parameters| {
        let alpha = parameters.number(&ALPHA, 0.0, 1.0)?;
        let bands: usize = parameters.read(&BANDS, "it is a whole number")?;
        if let Some(rounds) = fork(parameters)? {
            // The fork's own default.
            let alpha = if parameters.0.contains_key(ALPHA.name) { alpha } else { 0.2 };
            return Ok(Box::new(ForkMatching { rounds, alpha }));
        }
        Ok(Box::new(Allox { alpha, bands }))
    },
};

struct Allox {
    alpha: f64,
    bands: usize,
}

/// GPUs of one model that come free together.
struct Band {
    model: ModelIndex,
    group: Group,
    /// Whether they are free now.
    free: bool,
}

/// The longest queue behind it first, then the shortest job, then the order of the queue.
type Rank = (Reverse<u32>, u64, QueueKey);

/// A job that comes first on some free GPU.
struct Starter {
    order: Rank,
    index: JobIndex,
    model: ModelIndex,
}

impl Policy for Allox {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut room = Room::left_over(snapshot);
        if room.total() == GpuCount::ZERO {
            return Ok(plan);
        }
        let (jobs, part) = self.enter(snapshot, &mut plan, &room);
        let bands = self.bands(snapshot, part);
        let rows = rows(snapshot, &jobs, &bands);
        let groups: Vec<Group> = bands.iter().map(|band| band.group).collect();
        let places = cheapest(&groups, &rows);
        let mut kept = PerModel::all(GpuCount::ZERO);
        let mut starters = starters(&jobs, &rows, &places, &bands);
        starters.sort_by_key(|starter| starter.order);
        for Starter { index, model, .. } in &starters {
            let job = snapshot.jobs.get(*index);
            let free = room.most_more(job, *model).less(kept[*model]);
            if job.spec.gpus.min <= free {
                plan.grants.extend(room.grant_on(*index, job, *model, Reason::Matched));
            } else if job.spec.gpus.min > room.free(*model).less(kept[*model]) {
                // It is this gang's turn: what is free, and what comes free, is kept for it.
                kept[*model] += job.spec.gpus.min;
            }
        }
        let started: BTreeSet<_> = plan.grants.iter().map(|grant| grant.job).collect();
        let later = jobs.iter().map(|(_, job)| job.spec.id).filter(|id| !started.contains(id));
        plan.refused.extend(later.map(|id| (id, Reason::MatchedLater)));
        Ok(plan)
    }
}

impl Allox {
    /// The waiting jobs that take part: the oldest of those that could run on the cluster as it is.
    ///
    /// Also the part of the GPUs asked for by waiting jobs that these ask for.
    fn enter<'a>(
        &self,
        snapshot: &'a Snapshot,
        plan: &mut Plan,
        room: &Room<'_>,
    ) -> (Vec<(JobIndex, &'a Job)>, f64) {
        let share = (self.alpha * snapshot.jobs.queue_len() as f64).ceil() as usize;
        let most = share.max(room.total().0 as usize);
        let capacity = snapshot.cluster.capacity_total().0;
        let units_max = capacity.saturating_mul(UNITS_PER_GPU).min(UNITS_MAX.max(room.total().0));
        let (mut entered, mut units, mut left_out) = (Vec::new(), 0, 0);
        let mut counted = 0;
        for (index, job) in snapshot.jobs.queue() {
            if counted >= most {
                break;
            }
            if units >= units_max {
                (counted, left_out) = (counted + 1, left_out + job.spec.gpus.min.0);
                continue;
            }
            let models = || usable_models(snapshot, index, job);
            if models().next().is_none() {
                plan.refused.push((job.spec.id, Reason::NoModel));
            } else if models().all(|model| room.is_over_limit(job, model)) {
                plan.refused.push((job.spec.id, Reason::OverLimit));
            } else {
                entered.push((index, job));
                (counted, units) = (counted + 1, units + job.spec.gpus.min.0);
            }
        }
        (entered, f64::from(units) / f64::from((units + left_out).max(1)))
    }

    /// The GPUs of the cluster by model and by when they come free; of the busy ones only this part.
    fn bands(&self, snapshot: &Snapshot, part: f64) -> Vec<Band> {
        let free = snapshot.available();
        let mut bands = Vec::new();
        for model in snapshot.cluster.model_indices() {
            let group = Group { count: free[model].0, delay: 0 };
            bands.push(Band { model, group, free: true });
        }
        if self.bands == 0 {
            return bands;
        }
        let mut busy = PerModel::default().0.map(|()| Vec::<(Span, u32)>::new());
        for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
            let Some(index) = snapshot.jobs.index(lease.job) else { continue };
            let left = left_of(snapshot, index, snapshot.jobs.get(index));
            for seat in lease.gpus.seats() {
                let node = &snapshot.cluster.nodes[seat.node.index()];
                let count = seat.gpus.and(node.usable()).count();
                if count > 0 {
                    busy[usize::from(node.model.0)].push((left, count));
                }
            }
        }
        for (model, mut gpus) in snapshot.cluster.model_indices().zip(busy) {
            gpus.sort_unstable();
            let each = gpus.len().div_ceil(self.bands).max(1);
            for band in gpus.chunks(each) {
                let count: u32 = band.iter().map(|(_, count)| count).sum();
                let sum: u128 = band.iter().map(|(left, gpus)| u128::from(left.0) * u128::from(*gpus)).sum();
                let delay = (sum / u128::from(count)) as u64;
                let group = Group { count: (f64::from(count) * part).round() as u32, delay };
                bands.push(Band { model, group, free: false });
            }
        }
        bands
    }
}

/// How long a running job is believed to go on; an hour if nothing is known.
fn left_of(snapshot: &Snapshot, index: JobIndex, job: &Job) -> Span {
    let rate = snapshot.rate_now(index, job);
    let left = snapshot.remaining(index, job).and_then(|work| work.span_at(rate));
    left.or(snapshot.remaining_time(index, job)).unwrap_or(Span::from_minutes(60))
}

/// The models of which the cluster has enough GPUs for a job.
fn usable_models(snapshot: &Snapshot, index: JobIndex, job: &Job) -> impl Iterator<Item = ModelIndex> {
    let runs = move |model: &ModelIndex| {
        job.spec.models.allows(*model)
            && snapshot.forecast(index).speed[*model].mean.get() > 0.0
            && job.spec.gpus.min <= snapshot.cluster.capacity(*model)
    };
    snapshot.cluster.model_indices().filter(runs)
}

/// What every job would take in every band. A job of which nothing is known counts as long as the longest known.
fn rows(snapshot: &Snapshot, jobs: &[(JobIndex, &Job)], bands: &[Band]) -> Vec<Row> {
    let time = |index: JobIndex, job: &Job, model: ModelIndex| -> Option<Span> {
        snapshot.remaining(index, job)?.span_at(snapshot.forecast(index).speed[model].mean)
    };
    let known = jobs.iter().filter_map(|(index, job)| snapshot.remaining_time(*index, job));
    let longest = known.max().unwrap_or(Span::from_minutes(60));
    let row = |(index, job): &(JobIndex, &Job)| {
        let usable: Vec<_> = usable_models(snapshot, *index, job).collect();
        let times = bands.iter().map(|band| {
            let time = || time(*index, job, band.model).unwrap_or(longest).0.max(1);
            usable.contains(&band.model).then(time)
        });
        Row { units: job.spec.gpus.min.0, times: times.collect() }
    };
    jobs.iter().map(row).collect()
}

/// The jobs that come first on GPUs that are free.
fn starters(jobs: &[(JobIndex, &Job)], rows: &[Row], places: &[Vec<Slot>], bands: &[Band]) -> Vec<Starter> {
    // Per band: whose units are there, those that come first first.
    let mut queues: Vec<Vec<(Rank, usize)>> = bands.iter().map(|_| Vec::new()).collect();
    for (at, slots) in places.iter().enumerate() {
        let Some(home) = home(slots, bands) else { continue };
        let here = slots.iter().filter(|slot| slot.group == home);
        for slot in here {
            let time = rows[at].times[home].unwrap_or(u64::MAX);
            queues[home].push(((Reverse(slot.from_end), time, jobs[at].1.queue_key()), at));
        }
    }
    let mut starters: Vec<Starter> = Vec::new();
    for (band, mut queue) in bands.iter().zip(queues) {
        queue.sort_unstable();
        // As many units come first as there are GPUs; a gang is named once.
        let mut named = BTreeSet::new();
        for (order, at) in queue.into_iter().take(band.group.count as usize) {
            if band.free && named.insert(at) {
                starters.push(Starter { order, index: jobs[at].0, model: band.model });
            }
        }
    }
    starters
}

/// The free band where a job's units come first, if most of its units are on that model.
fn home(slots: &[Slot], bands: &[Band]) -> Option<usize> {
    let mut counts = PerModel::all(0_u32);
    for slot in slots {
        counts[bands[slot.group].model] += 1;
    }
    let model = bands.iter().map(|band| band.model).max_by_key(|model| (counts[*model], Reverse(*model)))?;
    let free = slots.iter().find(|slot| bands[slot.group].free && bands[slot.group].model == model)?;
    Some(free.group)
}
