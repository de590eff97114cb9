//! What a trace looks like in numbers, in the terms in which profiles are written.

mod apps;
mod arrivals;
mod calendar;
mod quantiles;
mod shares;

pub use apps::AppFigures;
pub use arrivals::{ArrivalFigures, BATCH_GAP_S, BatchFigures};
pub use quantiles::Quantiles;
pub use shares::{OutcomeShare, SizeShare, TenantShare, TopShares};

use crate::traces::{Trace, TraceJob};
use serde::Serialize;

/// What a trace looks like.
#[derive(Clone, Debug, Serialize)]
pub struct Portrait {
    /// How many jobs it has.
    pub jobs: u64,
    /// From the first submission to the last.
    pub span_s: f64,
    /// GPU-time on the reference GPU model.
    pub gpu_hours: f64,
    /// GPUs that would be busy on average if every job ran at once until the last submission.
    pub gpus_offered: f64,
    /// How long jobs take alone on the reference GPU model, in seconds.
    pub duration_s: Quantiles,
    /// How many GPUs they want.
    pub gpus: Quantiles,
    /// How long they really waited, of those of which the trace says so.
    pub wait_s: Option<Quantiles>,
    /// By gang size, the smallest first.
    pub sizes: Vec<SizeShare>,
    /// How much of the GPU-time the heaviest jobs hold.
    pub top: TopShares,
    /// By tenant, the one with the most jobs first.
    pub tenants: Vec<TenantShare>,
    /// How jobs really ended, of those of which the trace says so.
    pub outcomes: Vec<OutcomeShare>,
    /// The part of jobs that change their batch size.
    pub dynamic_fraction: f64,
    /// Jobs that belong together, if the trace says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apps: Option<AppFigures>,
    /// When jobs come.
    pub arrivals: ArrivalFigures,
    /// Which of them come together.
    pub batches: BatchFigures,
}

/// What counts about one job.
#[derive(Clone, Copy, Debug)]
struct Seen {
    submit_s: f64,
    gpus: u32,
    duration_s: f64,
    tenant: u32,
}

impl Seen {
    fn of(job: &TraceJob) -> Self {
        Self {
            submit_s: job.submit.seconds(),
            gpus: job.spec.gpus.min.0,
            duration_s: job.duration_s().unwrap_or(0.0),
            tenant: job.spec.tenant.0,
        }
    }

    fn gpu_time_s(&self) -> f64 {
        f64::from(self.gpus) * self.duration_s
    }
}

impl Portrait {
    /// Measures a trace; `None` if it has no jobs.
    pub fn of(trace: &Trace) -> Option<Self> {
        let mut jobs: Vec<Seen> = trace.jobs.iter().map(Seen::of).collect();
        jobs.sort_by(|a, b| a.submit_s.total_cmp(&b.submit_s));
        let (first, last) = (jobs.first()?.submit_s, jobs.last()?.submit_s);
        let gpu_time_s: f64 = jobs.iter().map(Seen::gpu_time_s).sum();
        let waits: Vec<f64> = trace.jobs.iter().filter_map(|job| Some(job.queued?.seconds())).collect();
        let dynamic = trace.jobs.iter().filter(|job| !job.spec.regimes.is_empty()).count();
        Some(Self {
            jobs: jobs.len() as u64,
            span_s: last - first,
            gpu_hours: gpu_time_s / 3600.0,
            gpus_offered: gpu_time_s / (last - first),
            duration_s: Quantiles::of(jobs.iter().map(|job| job.duration_s).collect())?,
            gpus: Quantiles::of(jobs.iter().map(|job| job.gpus.into()).collect())?,
            wait_s: Quantiles::of(waits),
            sizes: shares::sizes(&jobs),
            top: TopShares::of(&jobs),
            tenants: shares::tenants(&jobs, &trace.tenants),
            outcomes: shares::outcomes(trace),
            dynamic_fraction: dynamic as f64 / jobs.len() as f64,
            apps: AppFigures::of(trace),
            arrivals: ArrivalFigures::of(&jobs, trace.anchor.as_deref()),
            batches: BatchFigures::of(&jobs),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{Sides, read};

    #[test]
    fn five_jobs_are_measured() {
        let text = "job_id,submit_s,gpus,duration_s,tenant,speed:p100\n\
            a,0,1,100,ann,0.5\nb,30,1,200,ann,0.5\nc,60,1,300,ann,0.5\nd,60,2,400,bob,0.5\ne,7200,8,500,bob,2\n";
        let portrait =
            Portrait::of(&read(&mut text.as_bytes(), "x.csv", &Sides::default()).unwrap()).unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        near(portrait.duration_s.p50, 300.0);
        near(portrait.duration_s.mean, 300.0);
        near(portrait.gpu_hours, (100.0 + 200.0 + 300.0 + 800.0 + 4000.0) / 3600.0);
        near(portrait.sizes[0].jobs_fraction, 0.6);
        near(portrait.sizes[2].gpu_time_fraction, 4000.0 / 5400.0);
        assert_eq!((portrait.tenants[0].name.as_str(), portrait.tenants[0].jobs), ("ann", 3));
        near(portrait.arrivals.same_second_fraction, 0.25);
        near(portrait.arrivals.gap_median_s, 30.0);
        assert_eq!((portrait.arrivals.busiest_hour_jobs, portrait.arrivals.hours[2]), (4, 1));
        assert_eq!((portrait.batches.count, portrait.batches.largest), (3, 3));
        near(portrait.batches.single_fraction, 2.0 / 3.0);
    }
}
