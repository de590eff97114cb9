//! What the policies that choose how many GPUs a job gets have in common.
//!
//! First everybody in turn is granted the least it takes; then what is left goes, in steps, to whoever gains most.
//! A running job that changes its size is stopped and started again, so every size but the one it has is charged
//! the restart:
//!
//! ```text
//! T_i(n) = W_i / r_i(n) + (n is not what i holds ? restart_i : 0)      seconds left on n GPUs
//! ```
//!
//! With that charge a curve is not concave, so a step may be several GPUs at once: from n to the n' > n with the
//! largest gain per GPU (the upper concave envelope). Between rounds only jobs that hold nothing, or are on their
//! way to a new size, are granted anything.

pub(crate) mod afs;
pub(crate) mod optimus;
pub(crate) mod slaq;

use crate::fill::{Preempt, Room, candidates};
use evenhand_core::{
    GpuCount, Grant, Job, JobIndex, LeaseState, Locality, ModelIndex, Others, Plan, Reason, Snapshot,
};

/// One job in the making of a plan.
struct Part<'a> {
    snapshot: &'a Snapshot,
    index: JobIndex,
    job: &'a Job,
    grant: Grant,
    /// The model it may be granted more of; `None` if its size is settled.
    model: Option<ModelIndex>,
    /// What it is worth to the job to have `least + 0, 1, 2, ..` GPUs; larger is better.
    worth: Vec<f64>,
}

/// From the size it has to a larger one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    by: GpuCount,
    /// Per GPU: positive.
    gain: f64,
}

impl Part<'_> {
    /// What the present size is worth.
    fn worth_now(&self) -> f64 {
        self.worth_after(GpuCount::ZERO)
    }

    fn worth_after(&self, by: GpuCount) -> f64 {
        let at = (self.grant.gpus + by).less(self.job.spec.gpus.min);
        self.worth.get(at.0 as usize).copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The step with the largest gain per GPU that there is room for; the smallest of equals.
    fn best_step(&self, room: &Room<'_>) -> Option<Step> {
        let most = room.most_more(self.job, self.model?);
        let mut best: Option<Step> = None;
        for by in (1..=most.0.min(self.job.spec.gpus.max.less(self.grant.gpus).0)).map(GpuCount) {
            let gain = (self.worth_after(by) - self.worth_now()) / f64::from(by.0);
            if gain > best.map_or(0.0, |step| step.gain) {
                best = Some(Step { by, gain });
            }
        }
        best
    }

    fn take(&mut self, step: Step, room: &mut Room<'_>) {
        if let Some(model) = self.model {
            room.grow(&mut self.grant, self.job, model, step.by);
        }
    }

    /// Seconds the job is believed to need on this many GPUs, a restart included if that is not what it holds;
    /// `None` if nothing is known of it.
    fn seconds(&self, model: ModelIndex, gpus: GpuCount) -> Option<f64> {
        let left = self.snapshot.remaining(self.index, self.job)?;
        let forecast = self.snapshot.forecast(self.index);
        let rate = forecast.rate(model, self.job.spec.gpus, gpus, Locality::Socket).get();
        (rate > 0.0).then(|| left.steps() / rate + self.restart(gpus))
    }

    /// Seconds lost by having this many GPUs.
    fn restart(&self, gpus: GpuCount) -> f64 {
        let held = self.snapshot.leases.of_job(Some(self.job)).filter(|lease| lease.is_lasting());
        let resized = held.is_some_and(|lease| lease.gpus.count() != gpus);
        if resized { self.snapshot.forecast(self.index).restart.mean.seconds() } else { 0.0 }
    }
}

/// Grants everybody the least, in the order of `key`, then lets `grow` hand out the rest.
///
/// `worth` values a job on a number of GPUs of a model; a job of unknown worth stays at its least.
fn decide<K: Ord>(
    snapshot: &Snapshot,
    preempt: Preempt,
    key: impl Fn(JobIndex, &Job) -> K,
    worth: impl Fn(&Part<'_>, ModelIndex, GpuCount) -> Option<f64>,
    grow: impl FnOnce(&mut [Part<'_>], &mut Room<'_>),
) -> Plan {
    let due = preempt.is_due(snapshot);
    let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
    let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
    let mut order: Vec<_> = candidates(snapshot, preempt)
        .chain(resizing(snapshot).filter(|_| !due))
        .map(|(index, job)| (key(index, job), job.queue_key(), index))
        .collect();
    order.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut parts = Vec::new();
    for (_, _, index) in order {
        let job = snapshot.jobs.get(index);
        match room.grant_least(index, job, Reason::LargestGain) {
            Ok((grant, model)) => {
                let mut part = Part { snapshot, index, job, grant, model, worth: Vec::new() };
                part.value(&worth);
                parts.push(part);
            }
            Err(why) => plan.refused.push((job.spec.id, why)),
        }
    }
    grow(&mut parts, &mut room);
    for part in &mut parts {
        part.keep_what_nobody_else_wants(&mut room);
    }
    plan.grants = parts.into_iter().map(|part| part.grant).collect();
    plan
}

impl Part<'_> {
    /// A job that runs is not made smaller for GPUs that would then idle: the restart would be for nothing.
    fn keep_what_nobody_else_wants(&mut self, room: &mut Room<'_>) {
        let held = self.snapshot.leases.of_job(Some(self.job)).filter(|lease| lease.is_lasting());
        let (Some(model), Some(lease)) = (self.model, held) else { return };
        let back = lease.gpus.count().less(self.grant.gpus);
        let same_model = self.snapshot.model_of(lease) == Some(model);
        if same_model && back > GpuCount::ZERO && back <= room.most_more(self.job, model) {
            room.grow(&mut self.grant, self.job, model, back);
        }
    }

    /// Fills in what each size is worth; a job of unknown worth is settled at its least.
    fn value(&mut self, worth: impl Fn(&Self, ModelIndex, GpuCount) -> Option<f64>) {
        let Some(model) = self.model else { return };
        let range = self.job.spec.gpus;
        // Sizes that no cluster of this kind can hold need no value.
        let most = range.max.min(self.snapshot.cluster.capacity(model));
        let values: Option<Vec<f64>> =
            (range.min.0..=most.0).map(|gpus| worth(self, model, GpuCount(gpus))).collect();
        match values {
            Some(values) => self.worth = values,
            None => self.model = None,
        }
    }
}

/// Jobs between two sizes: stopped, and not yet started again. What they will need is not to be given away.
fn resizing(snapshot: &Snapshot) -> impl Iterator<Item = (JobIndex, &Job)> {
    let stopping = snapshot.leases.iter().filter(|lease| lease.state == LeaseState::Stopping);
    stopping.filter_map(|lease| {
        let index = snapshot.jobs.index(lease.job)?;
        let job = snapshot.jobs.get(index);
        (job.lease() == Some(lease.id)).then_some((index, job))
    })
}

/// Gives each step to whoever gains most per GPU from it. O((n + M) log n) steps for n jobs and M GPUs, each a look
/// at the sizes a job may still grow to.
fn largest_gain_first(parts: &mut [Part<'_>], room: &mut Room<'_>) {
    use evenhand_core::Ratio;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    let entry = |at: usize, part: &Part<'_>, room: &Room<'_>| {
        let step = part.best_step(room)?;
        let gain = Ratio::new(step.gain).ok()?;
        Some((gain.key(), Reverse((part.job.queue_key(), at))))
    };
    let mut heap: BinaryHeap<_> =
        parts.iter().enumerate().filter_map(|(at, part)| entry(at, part, room)).collect();
    while let Some((gain, Reverse((_, at)))) = heap.pop() {
        // The room may have shrunk since the step was entered: then a smaller one stands in line again.
        let Some(step) = parts[at].best_step(room) else { continue };
        if step.gain.to_bits() >= gain {
            parts[at].take(step, room);
        }
        heap.extend(entry(at, &parts[at], room));
    }
}
