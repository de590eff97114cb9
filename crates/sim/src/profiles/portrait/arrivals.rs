//! When jobs come, and which of them come together.

use super::{Seen, calendar};
use serde::Serialize;
use std::collections::BTreeMap;

/// Jobs of one tenant and size belong to one batch if no gap between them is longer.
pub const BATCH_GAP_S: f64 = 60.0;

/// When jobs come.
#[derive(Clone, Debug, Serialize)]
pub struct ArrivalFigures {
    /// Over the whole span.
    pub jobs_per_hour: f64,
    /// Mean time between two submissions.
    pub gap_mean_s: f64,
    /// Its median.
    pub gap_median_s: f64,
    /// Its coefficient of variation: 1 for a Poisson process.
    pub gap_cv: f64,
    /// The part of jobs that come in the same second as the one before.
    pub same_second_fraction: f64,
    /// Variance over mean of the jobs in an hour: 1 for a Poisson process.
    pub dispersion_hourly: f64,
    /// Jobs in the busiest hour.
    pub busiest_hour_jobs: u64,
    /// Whether hours and weekdays below are those of the wall clock; otherwise they count from time 0.
    pub wall_clock: bool,
    /// Jobs in each hour of the day.
    pub hours: [u64; 24],
    /// Jobs on each day of the week, from Monday.
    pub weekdays: [u64; 7],
    /// Jobs on each day from the first.
    pub days: Vec<u64>,
}

impl ArrivalFigures {
    pub(super) fn of(jobs: &[Seen], anchor: Option<&str>) -> Self {
        let first_s = jobs.first().map_or(0.0, |job| job.submit_s);
        let mut gaps: Vec<f64> = jobs.windows(2).map(|pair| pair[1].submit_s - pair[0].submit_s).collect();
        let same =
            jobs.windows(2).filter(|pair| pair[0].submit_s.floor() >= pair[1].submit_s.floor()).count();
        let (gap_mean_s, gap_variance) = moments(&gaps);
        gaps.sort_by(f64::total_cmp);
        let by_hour = counts(jobs.iter().map(|job| (job.submit_s - first_s) / 3600.0));
        let (per_hour, variance) = moments(&by_hour.iter().map(|count| *count as f64).collect::<Vec<_>>());
        let start = anchor.and_then(calendar::week_second);
        let (mut hours, mut weekdays) = ([0; 24], [0; 7]);
        for job in jobs {
            let hour = (job.submit_s as u64 + start.unwrap_or(0)) / 3600;
            hours[(hour % 24) as usize] += 1;
            weekdays[(hour / 24 % 7) as usize] += 1;
        }
        let day_start = start.unwrap_or(0) % 86_400;
        let first_day = ((first_s + day_start as f64) / 86_400.0).floor();
        Self {
            jobs_per_hour: 3600.0 / gap_mean_s,
            gap_mean_s,
            gap_median_s: gaps.get(gaps.len() / 2).copied().unwrap_or(f64::NAN),
            gap_cv: gap_variance.sqrt() / gap_mean_s,
            same_second_fraction: same as f64 / gaps.len() as f64,
            dispersion_hourly: variance / per_hour,
            busiest_hour_jobs: by_hour.iter().copied().max().unwrap_or(0),
            wall_clock: start.is_some(),
            hours,
            weekdays,
            days: counts(jobs.iter().map(|job| (job.submit_s + day_start as f64) / 86_400.0 - first_day)),
        }
    }
}

/// How many fall on 0, 1, 2 and so on, rounded down; of at most ten million.
fn counts(places: impl Iterator<Item = f64>) -> Vec<u64> {
    const MOST: usize = 10_000_000;
    let mut counts = Vec::new();
    for place in places.map(|place| place as usize).filter(|place| *place < MOST) {
        if counts.len() <= place {
            counts.resize(place + 1, 0);
        }
        counts[place] += 1;
    }
    counts
}

/// Mean and variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
}

/// Jobs that come together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BatchFigures {
    /// How many batches, single jobs included.
    pub count: u64,
    /// Jobs in a batch on average.
    pub mean: f64,
    /// The part of batches that are a single job.
    pub single_fraction: f64,
    /// The part of jobs in batches of five and more.
    pub jobs_in_5_fraction: f64,
    /// The part of jobs in batches of twenty and more.
    pub jobs_in_20_fraction: f64,
    /// Jobs in the largest batch.
    pub largest: u64,
}

impl BatchFigures {
    pub(super) fn of(jobs: &[Seen]) -> Self {
        let mut open: BTreeMap<(u32, u32), (f64, u64)> = BTreeMap::new();
        let mut sizes = Vec::new();
        for job in jobs {
            let (last_s, size) = open.entry((job.tenant, job.gpus)).or_insert((job.submit_s, 0));
            if job.submit_s - *last_s > BATCH_GAP_S {
                sizes.push(std::mem::take(size));
            }
            (*last_s, *size) = (job.submit_s, *size + 1);
        }
        sizes.extend(open.values().map(|(_, size)| *size));
        let (count, total) = (sizes.len() as f64, jobs.len() as f64);
        let in_batches = |least: u64| sizes.iter().filter(|size| **size >= least).sum::<u64>() as f64 / total;
        Self {
            count: sizes.len() as u64,
            mean: total / count,
            single_fraction: sizes.iter().filter(|size| **size == 1).count() as f64 / count,
            jobs_in_5_fraction: in_batches(5),
            jobs_in_20_fraction: in_batches(20),
            largest: sizes.iter().copied().max().unwrap_or(0),
        }
    }
}
