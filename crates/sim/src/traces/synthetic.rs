//! Made-up work from a seed, for demos, benchmarks and storms.
//!
//! Poisson arrivals and log-normal durations: a named baseline, not a likeness of any real cluster.

use crate::input::{InputError, gangs_within, within};
use crate::{ClusterSpec, SimJob, Workload};
use evenhand_core::{JobId, JobSpec, ModelIndex, PerModel, Random, Rate, Tenant, TenantId, Time, Work};
use serde::Deserialize;
use std::sync::Arc;

/// What kind of work to make up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Synthetic {
    /// How many jobs.
    pub jobs: u32,
    /// GPU-time asked for, over GPU-time there is.
    pub load: f64,
    /// Mean duration in seconds on the reference GPU model.
    pub duration_mean_s: f64,
    /// Spread of durations: the standard deviation of their logarithm.
    pub duration_sigma: f64,
    /// How often each gang size comes up: `[gpus, weight]`.
    pub gpus: Vec<(u32, f64)>,
    /// How many tenants, each with as many jobs as the others on average.
    pub tenants: u32,
    /// How many kinds of jobs there are: jobs of a kind are equally fast on every GPU model. 0: no two jobs are alike.
    pub kinds: u32,
    /// Where it all comes from.
    pub seed: u64,
}

impl Default for Synthetic {
    /// Gang sizes as in the Venus cluster of Helios (SC 2021), cut at 64.
    fn default() -> Self {
        Self {
            jobs: 1000,
            load: 0.8,
            duration_mean_s: 3600.0,
            duration_sigma: 1.2,
            gpus: vec![(1, 51.8), (2, 5.6), (4, 7.3), (8, 24.7), (16, 4.2), (32, 2.7), (64, 1.5)],
            tenants: 8,
            kinds: 0,
            seed: 1,
        }
    }
}

impl Synthetic {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), InputError> {
        within(&[
            ("jobs", self.jobs.into(), 1.0, 1e8),
            ("load", self.load, 0.001, 1000.0),
            ("duration_mean_s", self.duration_mean_s, 1.0, 1e9),
            ("duration_sigma", self.duration_sigma, 0.0, 5.0),
            ("tenants", self.tenants.into(), 1.0, 1e6),
            ("kinds", self.kinds.into(), 0.0, 1e6),
        ])?;
        gangs_within(&self.gpus)
    }

    /// Refuses work of which a cluster can seat no gang at all.
    pub fn check_for(&self, cluster: &ClusterSpec) -> Result<(), InputError> {
        let most = largest(cluster);
        let drawn = self.gpus.iter().filter(|(_, weight)| *weight > 0.0);
        match drawn.map(|(gang, _)| *gang).min() {
            Some(least) if least > most => {
                let allowed = format!(
                    "no GPU model of this cluster has more than {most} GPUs, so none of these gangs could ever run"
                );
                Err(InputError::field(0, "gpus", format!("{:?}", self.gpus), allowed))
            }
            _ => Ok(()),
        }
    }

    /// Makes the work for a cluster; gangs that no GPU model can seat are left out of the draw.
    pub fn generate(&self, cluster: &ClusterSpec) -> Workload {
        let largest = largest(cluster);
        let sizes: Vec<_> = self.gpus.iter().filter(|(gpus, _)| *gpus <= largest).copied().collect();
        let weights: Vec<_> = sizes.iter().map(|(_, weight)| *weight).collect();
        let total: f64 = weights.iter().sum();
        let gang_mean: f64 =
            sizes.iter().map(|(gpus, weight)| f64::from(*gpus) * weight).sum::<f64>() / total.max(1e-9);
        let gap_mean = gang_mean * self.duration_mean_s / (self.load * f64::from(cluster.gpus()));
        let mu = self.duration_mean_s.ln() - self.duration_sigma * self.duration_sigma / 2.0;
        let mut random = Random::stream(self.seed, "synthetic");
        let mut taste = Random::stream(self.seed, "kinds");
        let kinds: Vec<_> = (0..self.kinds).map(|_| speeds(cluster, &mut taste)).collect();
        let mut at = 0.0;
        let mut jobs = Vec::with_capacity(self.jobs as usize);
        for id in 0..self.jobs {
            let gpus = random.weighted(&weights).map_or(1, |place| sizes[place].0);
            let duration = random.log_normal(mu, self.duration_sigma).max(1.0);
            let tenant = TenantId(random.below(u64::from(self.tenants.max(1))) as u32);
            let mut spec = JobSpec::new(JobId(id.into()), tenant, gpus, Some(Work::from_steps(duration)));
            spec.speeds = match kinds.as_slice() {
                [] => speeds(cluster, &mut random),
                kinds => kinds[random.below(kinds.len() as u64) as usize],
            };
            jobs.push(SimJob::new(Time::from_seconds(at), Arc::new(spec)));
            at += random.exponential(gap_mean);
        }
        let tenants =
            (0..self.tenants.max(1)).map(|id| Tenant::new(TenantId(id), &format!("team-{id}"))).collect();
        Workload { jobs, tenants, ..Workload::default() }
    }
}

/// The most GPUs that there are of one model.
fn largest(cluster: &ClusterSpec) -> u32 {
    let models = 0..cluster.models.len() as u16;
    models.map(|model| cluster.gpus_of(ModelIndex(model))).max().unwrap_or(1)
}

/// Speeds that fall off from model to model, differently for every job; none for a cluster of one model.
pub(crate) fn speeds(cluster: &ClusterSpec, random: &mut Random) -> Option<PerModel<Rate>> {
    (cluster.models.len() > 1).then(|| {
        let mut row = PerModel::all(Rate::ONE);
        let mut speed = 1.0;
        for model in 1..cluster.models.len() as u16 {
            speed *= random.between(0.3, 0.95);
            row[ModelIndex(model)] = Rate::new(speed).unwrap_or(Rate::ONE);
        }
        row
    })
}

/// The built-in workload of the demo, and its cluster: three teams of different habits on three GPU models.
pub fn demo(seed: u64) -> (ClusterSpec, Workload) {
    let cluster =
        ClusterSpec::parse("v100=16,p100=16,k80=16", Some(4), Some(4)).expect("the demo's cluster is valid");
    let teams = [
        ("vision", 90, 4800.0, 0.6, vec![(1, 5.0), (4, 3.0), (8, 1.0)]),
        ("language", 50, 7200.0, 0.5, vec![(4, 3.0), (8, 2.0), (16, 0.5)]),
        ("tuning", 360, 1200.0, 0.8, vec![(1, 9.0), (2, 1.0)]),
    ];
    let mut all = Workload::default();
    for (number, (name, jobs, duration_mean_s, duration_sigma, gpus)) in teams.into_iter().enumerate() {
        let team = Synthetic {
            jobs,
            load: 0.4,
            duration_mean_s,
            duration_sigma,
            gpus,
            tenants: 1,
            kinds: 4,
            seed: seed + number as u64,
        };
        let mut part = team.generate(&cluster);
        for job in &mut part.jobs {
            let spec = Arc::make_mut(&mut job.truth);
            spec.tenant = TenantId(number as u32);
            spec.restart.restore = evenhand_core::Span::from_secs(20);
        }
        all.jobs.append(&mut part.jobs);
        all.tenants.push(Tenant::new(TenantId(number as u32), name));
    }
    all.jobs.sort_by_key(|job| job.submit);
    for (number, job) in all.jobs.iter_mut().enumerate() {
        Arc::make_mut(&mut job.truth).id = JobId(number as u64);
    }
    (cluster, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::GpuCount;

    #[test]
    fn work_that_fits_nowhere_is_refused_and_gangs_that_do_not_are_left_out() {
        let cluster = ClusterSpec::parse("v100=8,p100=4", None, None).unwrap();
        let of = |gpus: &[(u32, f64)]| Synthetic { jobs: 50, gpus: gpus.to_vec(), ..Synthetic::default() };
        let told = of(&[(16, 1.0), (32, 1.0)]).check_for(&cluster).unwrap_err().to_string();
        assert!(
            told.contains("gpus") && told.contains("no GPU model of this cluster has more than 8 GPUs"),
            "{told}"
        );
        let some = of(&[(8, 1.0), (16, 1.0)]);
        some.check_for(&cluster).unwrap();
        assert!(some.generate(&cluster).jobs.iter().all(|job| job.truth.gpus.min == GpuCount(8)));
    }

    #[test]
    fn the_load_is_what_was_asked_for() {
        let cluster = ClusterSpec::parse("v100=1000", None, None).unwrap();
        let workload = Synthetic { jobs: 20_000, ..Synthetic::default() }.generate(&cluster);
        let work: f64 = workload
            .jobs
            .iter()
            .map(|job| job.truth.work.map_or(0.0, Work::steps) * f64::from(job.truth.gpus.min.0))
            .sum();
        let load = work / (workload.span().seconds() * 1000.0);
        assert!((load - 0.8).abs() < 0.08, "the load is {load}");
    }
}
