//! Jobs that belong together.

use super::Quantiles;
use crate::traces::Trace;
use crate::tuners;
use evenhand_core::Goal;
use serde::Serialize;
use std::collections::BTreeMap;

/// The apps of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct AppFigures {
    /// How many.
    pub count: u64,
    /// Those with a single job.
    pub single: u64,
    /// Those that are over when their first job reaches its target.
    pub first_to_target: u64,
    /// Jobs of an app.
    pub jobs: Quantiles,
    /// Declared GPU-time of an app on the reference GPU model, in hours: tuners leave less.
    pub gpu_hours: Quantiles,
    /// Apps by tuner.
    pub tuners: BTreeMap<String, u64>,
}

impl AppFigures {
    /// Measures the apps of a trace; `None` if it has none.
    pub(super) fn of(trace: &Trace) -> Option<Self> {
        let mut sums = vec![(0.0, 0.0); trace.apps.len()];
        for job in &trace.jobs {
            if let Some(sum) = job.spec.app.and_then(|app| sums.get_mut(app.0 as usize)) {
                let gpu_time_s = job.duration_s().unwrap_or(0.0) * f64::from(job.spec.gpus.min.0);
                *sum = (sum.0 + 1.0, sum.1 + gpu_time_s / 3600.0);
            }
        }
        let mut tuners = BTreeMap::new();
        for app in &trace.apps {
            *tuners.entry(tuners::text(&app.tuner)).or_insert(0) += 1;
        }
        Some(Self {
            count: sums.len() as u64,
            single: sums.iter().filter(|sum| sum.0 < 1.5).count() as u64,
            first_to_target: trace.apps.iter().filter(|app| app.goal == Goal::FirstToTarget).count() as u64,
            jobs: Quantiles::of(sums.iter().map(|sum| sum.0).collect())?,
            gpu_hours: Quantiles::of(sums.iter().map(|sum| sum.1).collect())?,
            tuners,
        })
    }
}
