//! Made-up apps from a seed: hyper-parameter searches like those for which Themis was built.
//!
//! Published of them (Mahajan et al., NSDI 2020, read off its plots): one app in ten has one job, the others explore with up
//! to 100; most tasks take less than 600 minutes of GPU-time and none more than about 1,600; no app takes more than
//! about 750 GPU-hours; half of the models suffer when their GPUs are on several machines (VGG16: 1.29 times as slow), half
//! do not (Inception-v3). The rest is ours: gang sizes, curves, tuners, log-uniform numbers of jobs.
//!
//! Load counts what tuners leave of the work, not what is declared. That is found without a cluster, by [`rehearse`]:
//! all trials go on side by side, epoch by epoch, and the tuner says who stays. In a cluster where trials wait for each
//! other an app takes more or less than that, because a search that ends with the first job at its target ends
//! at another moment; the test of the load says by how much.

mod draw;
mod rehearsal;

pub use rehearsal::rehearse;

use crate::input::{InputError, gangs_within, within};
use crate::tuners;
use crate::{ClusterSpec, Workload};
use evenhand_core::{Random, Time};
use serde::Deserialize;

/// What kind of apps to make up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Apps {
    /// How many apps.
    pub apps: u32,
    /// GPU-time done, after tuners have ended jobs early, over GPU-time there is.
    pub load: f64,
    /// The part of apps that have a single job.
    pub single: f64,
    /// The most jobs of an app; how many an exploring app has is log-uniform from 2.
    pub jobs_max: u32,
    /// How often each gang size comes up: `[gpus, weight]`. All jobs of an app have one.
    pub gpus: Vec<(u32, f64)>,
    /// Minutes that a job takes up to its iteration limit on the reference GPU model: the median over apps.
    pub minutes_median: f64,
    /// Their spread: the standard deviation of their logarithm.
    pub minutes_sigma: f64,
    /// No job takes longer.
    pub minutes_max: f64,
    /// No app does more than this: it has fewer jobs instead.
    pub gpu_hours_max: f64,
    /// Reports of a job up to its limit.
    pub epochs: u32,
    /// How much a reported loss is off: the deviation of its logarithm.
    pub noise: f64,
    /// The part of apps whose jobs are slower on several nodes.
    pub communication_bound: f64,
    /// The part of exploring apps that are over when the first job reaches the target.
    pub first_to_target: f64,
    /// How often each tuner watches over an exploring app: `["successive-halving eta=4", weight]`.
    pub tuners: Vec<(String, f64)>,
    /// How many tenants; 0: every app has its own.
    pub tenants: u32,
    /// Where it all comes from; the seed of the run if none is given.
    pub seed: Option<u64>,
}

impl Default for Apps {
    fn default() -> Self {
        let tuner = |(name, weight): (&str, f64)| (name.to_owned(), weight);
        let tuners = [
            ("none", 1.0),
            ("successive-halving", 3.0),
            ("hyperband", 2.0),
            ("hyperdrive", 2.0),
            ("median-stopping", 2.0),
        ];
        Self {
            apps: 40,
            load: 0.8,
            single: 0.1,
            jobs_max: 100,
            gpus: vec![(1, 40.0), (2, 30.0), (4, 25.0), (8, 5.0)],
            minutes_median: 200.0,
            minutes_sigma: 0.9,
            minutes_max: 1600.0,
            gpu_hours_max: 750.0,
            epochs: 30,
            noise: 0.01,
            communication_bound: 0.5,
            first_to_target: 0.5,
            tuners: tuners.map(tuner).to_vec(),
            tenants: 0,
            seed: None,
        }
    }
}

impl Apps {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), InputError> {
        within(&[
            ("apps", self.apps.into(), 1.0, 1e6),
            ("load", self.load, 0.001, 1000.0),
            ("single", self.single, 0.0, 1.0),
            ("jobs_max", self.jobs_max.into(), 1.0, 1e5),
            ("minutes_median", self.minutes_median, 0.1, 1e6),
            ("minutes_sigma", self.minutes_sigma, 0.0, 5.0),
            ("minutes_max", self.minutes_max, self.minutes_median, 1e7),
            ("gpu_hours_max", self.gpu_hours_max, 0.01, 1e9),
            ("epochs", self.epochs.into(), 1.0, 1e5),
            ("noise", self.noise, 0.0, 1.0),
            ("communication_bound", self.communication_bound, 0.0, 1.0),
            ("first_to_target", self.first_to_target, 0.0, 1.0),
            ("tenants", self.tenants.into(), 0.0, 1e6),
        ])?;
        gangs_within(&self.gpus)?;
        for (tuner, weight) in &self.tuners {
            tuners::parse(tuner)
                .map_err(|error| InputError::field(0, "a tuner of `tuners`", tuner, error.to_string()))?;
            within(&[("a weight of `tuners`", *weight, 0.0, 1e9)])?;
        }
        let total: f64 = self.tuners.iter().map(|(_, weight)| weight).sum();
        within(&[("the sum of the weights of `tuners`", total, 1e-9, 1e12)])
    }

    /// Makes the apps for a cluster; gangs that no GPU model can seat are left out of the draw. `seed` is that of the run.
    pub fn generate(&self, cluster: &ClusterSpec, seed: u64) -> Workload {
        let seed = self.seed.unwrap_or(seed);
        let mut draw = draw::Draw::new(self, cluster, seed);
        for _ in 0..self.apps {
            draw.app();
        }
        let (mut workload, gpu_time_s) = draw.finish();
        let gap_mean = gpu_time_s / f64::from(self.apps) / (self.load * f64::from(cluster.gpus()));
        let mut random = Random::stream(seed, "arrivals of apps");
        let mut at = 0.0;
        let mut before = None;
        for job in &mut workload.jobs {
            if before.is_some() && before != job.truth.app {
                at += random.exponential(gap_mean);
            }
            before = job.truth.app;
            job.submit = Time::from_seconds(at);
        }
        workload
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Goal, Work};
    use std::collections::BTreeMap;

    // Seen with this seed: 23 jobs in an app; jobs take 34 minutes in the median, 213 at p90; apps 23, 183 and at most 748
    // GPU-hours; tuners leave 31 % of the declared work.
    #[test]
    fn apps_look_as_published() {
        let cluster = ClusterSpec::parse("v100=256", Some(4), Some(8)).unwrap();
        let apps = Apps { apps: 1000, ..Apps::default() };
        let workload = apps.generate(&cluster, 3);
        let mut counts = BTreeMap::new();
        for job in &workload.jobs {
            *counts.entry(job.truth.app).or_insert(0_u32) += 1;
        }
        let part =
            |fits: &dyn Fn(&u32) -> bool| counts.values().filter(|count| fits(count)).count() as f64 / 1000.0;
        assert!((part(&|count| *count == 1) - 0.1).abs() < 0.04, "{}", part(&|count| *count == 1));
        assert!(counts.values().max() <= Some(&100) && counts.values().max() > Some(&80));
        let done = rehearse(&workload, 3);
        let mut minutes: Vec<f64> = done.values().map(|work| work.steps() / 60.0).collect();
        minutes.sort_by(f64::total_cmp);
        assert!(minutes[minutes.len() * 9 / 10] < 600.0 && minutes[minutes.len() - 1] <= 1600.0);
        let mut hours = BTreeMap::new();
        for job in &workload.jobs {
            *hours.entry(job.truth.app).or_insert(0.0) +=
                done[&job.truth.id].steps() / 3600.0 * f64::from(job.truth.gpus.min.0);
        }
        assert!(hours.values().all(|hours| *hours <= 750.0));
        let busy = hours.values().sum::<f64>() * 3600.0 / workload.span().seconds();
        assert!((busy / 256.0 - 0.8).abs() < 0.06, "the load is {}", busy / 256.0);
        let slow = workload.jobs.iter().filter(|job| job.truth.scaling.by_span.is_some()).count() as f64;
        assert!((slow / workload.jobs.len() as f64 - 0.5).abs() < 0.1);
    }

    #[test]
    fn the_seed_of_the_run_counts_unless_another_is_given() {
        let cluster = ClusterSpec::parse("v100=8,k80=8", None, None).unwrap();
        let submits = |apps: &Apps, seed: u64| -> Vec<(Time, Option<Work>)> {
            let workload = apps.generate(&cluster, seed);
            workload.jobs.iter().map(|job| (job.submit, job.truth.work)).collect()
        };
        let free = Apps { apps: 5, tenants: 2, ..Apps::default() };
        assert_ne!(submits(&free, 1), submits(&free, 2));
        let fixed = Apps { seed: Some(1), ..free.clone() };
        assert_eq!(submits(&fixed, 2), submits(&free, 1));
        let workload = free.generate(&cluster, 1);
        assert_eq!((workload.tenants.len(), workload.apps.len()), (2, 5));
        assert!(workload.apps.iter().any(|app| app.app.goal == Goal::FirstToTarget));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let tuners = vec![("hyperbnd".to_owned(), 1.0)];
        let error = Apps { tuners, ..Apps::default() }.check().unwrap_err().to_string();
        assert!(error.contains("did you mean `hyperband`?"), "{error}");
        assert!(Apps { single: 1.5, ..Apps::default() }.check().is_err());
        assert!(Apps { gpus: Vec::new(), ..Apps::default() }.check().is_err());
        assert!(Apps::default().check().is_ok());
    }
}
