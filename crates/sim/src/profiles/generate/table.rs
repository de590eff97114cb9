//! Work of a profile as a scenario asks for it: made in memory, so that batch sizes that change are kept.

use super::{Plan, Wanted};
use crate::input::InputError;
use crate::profiles::{PROFILES, find};
use crate::{ClusterSpec, Workload};
use evenhand_core::nearest;
use serde::Deserialize;

/// Which profile, and how much of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileTable {
    /// The profile.
    pub name: String,
    /// How many jobs; without a number, as many as come in `days`.
    pub jobs: Option<u64>,
    /// For how long jobs come.
    pub days: Option<f64>,
    /// The GPUs that the load is relative to; those of the cluster if none are given.
    pub gpus: Option<u32>,
    /// GPU-time asked for, over GPU-time there is until the last submission; without it, the published rate.
    pub load: Option<f64>,
    /// Where it all comes from; the seed of the run if none is given.
    pub seed: Option<u64>,
}

impl ProfileTable {
    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), InputError> {
        if find(&self.name).is_none() {
            let known: Vec<&'static str> = PROFILES.iter().map(|profile| profile.name).collect();
            let near =
                nearest(&self.name, &known).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let allowed = format!("it is one of {}{near}", known.join(", "));
            return Err(InputError::field(0, "the name of a profile", &self.name, allowed));
        }
        Plan::check(&self.wanted(1, 1))
    }

    fn wanted(&self, gpus: u32, seed: u64) -> Wanted {
        Wanted {
            seed: self.seed.unwrap_or(seed),
            jobs: self.jobs,
            days: self.days,
            gpus: Some(self.gpus.unwrap_or(gpus)),
            load: self.load,
        }
    }

    /// Makes the work for a cluster. `seed` is that of the run.
    pub fn generate(&self, cluster: &ClusterSpec, seed: u64) -> Result<Workload, InputError> {
        self.check()?;
        let profile = find(&self.name).expect("it was just looked up");
        Plan::new(profile, self.wanted(cluster.gpus(), seed))?.trace().bind(cluster)
    }
}
