//! Who and what holds which part of the jobs and of the GPU-time.

use super::Seen;
use crate::traces::Trace;
use evenhand_core::Outcome;
use serde::Serialize;
use std::collections::BTreeMap;

/// Jobs of one gang size.
#[derive(Clone, Debug, Serialize)]
pub struct SizeShare {
    /// The size.
    pub gpus: u32,
    /// Jobs of it.
    pub jobs: u64,
    /// Of all jobs.
    pub jobs_fraction: f64,
    /// Of all GPU-time.
    pub gpu_time_fraction: f64,
    /// How long they take on average.
    pub duration_mean_s: f64,
}

/// Jobs of one tenant.
#[derive(Clone, Debug, Serialize)]
pub struct TenantShare {
    /// Its name.
    pub name: String,
    /// Its jobs.
    pub jobs: u64,
    /// Of all jobs.
    pub jobs_fraction: f64,
    /// Of all GPU-time.
    pub gpu_time_fraction: f64,
}

/// Jobs with one end.
#[derive(Clone, Debug, Serialize)]
pub struct OutcomeShare {
    /// How they ended.
    pub outcome: &'static str,
    /// Of the jobs whose end is known.
    pub jobs_fraction: f64,
    /// Of their GPU-time.
    pub gpu_time_fraction: f64,
}

/// How much of the GPU-time the heaviest jobs hold.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TopShares {
    /// The heaviest hundredth.
    pub top_1_percent: f64,
    /// The heaviest tenth.
    pub top_10_percent: f64,
}

impl TopShares {
    pub(super) fn of(jobs: &[Seen]) -> Self {
        let mut times: Vec<f64> = jobs.iter().map(Seen::gpu_time_s).collect();
        times.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = times.iter().sum();
        let top = |part: usize| times[..times.len().div_ceil(part)].iter().sum::<f64>() / total;
        Self { top_1_percent: top(100), top_10_percent: top(10) }
    }
}

/// Jobs, GPU-time and duration, by something.
fn sums<K: Ord>(rows: impl Iterator<Item = (K, f64, f64)>) -> (BTreeMap<K, (u64, f64, f64)>, f64, f64) {
    let mut sums = BTreeMap::new();
    let (mut count, mut total) = (0.0, 0.0);
    for (key, gpu_time_s, duration_s) in rows {
        let sum = sums.entry(key).or_insert((0, 0.0, 0.0));
        *sum = (sum.0 + 1, sum.1 + gpu_time_s, sum.2 + duration_s);
        count += 1.0;
        total += gpu_time_s;
    }
    (sums, count, total)
}

pub(super) fn sizes(jobs: &[Seen]) -> Vec<SizeShare> {
    let (sums, count, total) = sums(jobs.iter().map(|job| (job.gpus, job.gpu_time_s(), job.duration_s)));
    let share = |(gpus, (jobs, gpu_time_s, duration_s)): (u32, (u64, f64, f64))| SizeShare {
        gpus,
        jobs,
        jobs_fraction: jobs as f64 / count,
        gpu_time_fraction: gpu_time_s / total,
        duration_mean_s: duration_s / jobs as f64,
    };
    sums.into_iter().map(share).collect()
}

pub(super) fn tenants(jobs: &[Seen], names: &[String]) -> Vec<TenantShare> {
    let (sums, count, total) = sums(jobs.iter().map(|job| (job.tenant, job.gpu_time_s(), 0.0)));
    let share = |(tenant, (jobs, gpu_time_s, _)): (u32, (u64, f64, f64))| TenantShare {
        name: names.get(tenant as usize).cloned().unwrap_or_default(),
        jobs,
        jobs_fraction: jobs as f64 / count,
        gpu_time_fraction: gpu_time_s / total,
    };
    let mut shares: Vec<_> = sums.into_iter().map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.jobs));
    shares
}

pub(super) fn outcomes(trace: &Trace) -> Vec<OutcomeShare> {
    let known = trace.jobs.iter().filter_map(|job| Some((job.outcome?, Seen::of(job).gpu_time_s())));
    let name = |outcome: Outcome| match outcome {
        Outcome::Finished => "finished",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => "failed",
        Outcome::Retired => "retired",
    };
    let (sums, count, total) = sums(known.map(|(outcome, gpu_time_s)| (name(outcome), gpu_time_s, 0.0)));
    let share = |(outcome, (jobs, gpu_time_s, _)): (&'static str, (u64, f64, f64))| OutcomeShare {
        outcome,
        jobs_fraction: jobs as f64 / count,
        gpu_time_fraction: gpu_time_s / total,
    };
    let mut shares: Vec<_> = sums.into_iter().map(share).collect();
    shares.sort_by(|a, b| b.jobs_fraction.total_cmp(&a.jobs_fraction));
    shares
}
