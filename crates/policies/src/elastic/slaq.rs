//! SLAQ: GPUs go where the loss is expected to fall most in the next epoch.
//!
//! ```text
//! f_i = work done / work in all ;  l(f) = exp(-decay f)          normalised loss: 1 at the start, near 0 at the end
//! drop_i(n) = l(f_i) - l(f_i + (epoch - restart) r_i(n) / W_i)    W_i = work in all, r_i(n) = speed on n GPUs
//! the least to the largest drop_i(min) / min first ;  then each step to the largest gain in drop per GPU
//! ```
//!
//! Differs from the paper: jobs tell no loss yet, so the fitted curve is a surrogate in which every job loses loss
//! alike over its life, and the paper's normalisation by the largest drop seen is built in (l falls from 1). What is
//! left of the paper is its character: young jobs first, because their loss falls fastest. A job of unknown size
//! comes after the others, by least attained GPU-time, and stays at its least.

use super::{Part, decide, largest_gain_first};
use crate::fill::{PREEMPT_AT_ROUNDS, Preempt};
use crate::registry::{Entry, Promise};
use evenhand_core::{
    GpuCount, Job, JobIndex, Limits, Locality, ModelIndex, ParameterSpec, Plan, Policy, PolicyError, Ratio,
    Snapshot,
};
use std::cmp::Reverse;

const EPOCH: ParameterSpec =
    ParameterSpec { name: "epoch", default: "6m", summary: "how far ahead the loss is foretold" };

const DECAY: ParameterSpec = ParameterSpec {
    name: "decay",
    default: "5",
    summary: "how steeply loss falls: over its life a job's loss falls by a factor e to this power",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "slaq",
    summary: "GPUs go where the loss is expected to fall most (a surrogate curve of progress).",
    paper: "SLAQ, SoCC 2017",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS, EPOCH, DECAY],
    divide: None,
    build: |parameters| {
        let (epoch, decay) = (parameters.span(&EPOCH)?, parameters.number(&DECAY, 0.001, 1000.0)?);
        let preempt = Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?;
        Ok(Box::new(Slaq { preempt, epoch_s: epoch.seconds(), decay }))
    },
};

struct Slaq {
    preempt: Preempt,
    epoch_s: f64,
    decay: f64,
}

impl Policy for Slaq {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let worth = |part: &Part<'_>, model: ModelIndex, gpus: GpuCount| {
            let rate =
                snapshot.forecast(part.index).rate(model, part.job.spec.gpus, gpus, Locality::Socket).get();
            self.drop(snapshot, part.index, part.job, rate, self.epoch_s - part.restart(gpus))
        };
        let key = |index: JobIndex, job: &Job| {
            let forecast = snapshot.forecast(index);
            let usable = |model: &ModelIndex| snapshot.cluster.capacity(*model) > GpuCount::ZERO;
            let rates = snapshot.cluster.model_indices().filter(usable).map(|m| forecast.speed[m].mean.get());
            let drop = self.drop(snapshot, index, job, rates.fold(0.0, f64::max), self.epoch_s);
            let each = drop.map(|drop| Ratio::new(drop / f64::from(job.spec.gpus.min.0)).unwrap_or_default());
            (Reverse(each.map(Ratio::key)), drop.is_none().then(|| snapshot.attained(job)))
        };
        Ok(decide(snapshot, self.preempt, key, worth, largest_gain_first))
    }
}

impl Slaq {
    /// By how much the loss is expected to fall in so many seconds at this speed.
    fn drop(&self, snapshot: &Snapshot, index: JobIndex, job: &Job, rate: f64, seconds: f64) -> Option<f64> {
        let done = snapshot.done(index, job);
        let total = snapshot.forecast(index).total_after(done)?.mean.steps();
        let done = done.steps();
        let progress = |steps: f64| if total > 0.0 { (steps / total).min(1.0) } else { 1.0 };
        let loss = |progress: f64| (-self.decay * progress).exp();
        Some(loss(progress(done)) - loss(progress(done + rate * seconds.max(0.0))))
    }
}
