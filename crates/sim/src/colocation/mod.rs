//! What jobs really ask of a GPU, what is foretold of that, and how much pairs of them really slow each other down, in tables.
//!
//! ```text
//! profiles   name,gpu,duty,sm,tensor,bandwidth,memory_mb[,speed]             one row for each kind of job and GPU model
//! pairs      gpu,mode,one,other,slowdown_one,slowdown_other                  mode: time-slicing or mps
//! foretold   as profiles, and memory_high_mb                                 what submitters declare; without it, the truth
//! ```
//!
//! A pair that was measured several times counts with the mean; a slowdown below 1 is noise and counts as 1. A pair that was
//! not measured follows from what the two ask for, and is counted as such:
//!
//! ```text
//! time-slicing   1 + d_i sum_j d_j              processor sharing on duty
//! mps            max(1, max_r sum_j demand_jr)  over multiprocessors, tensor cores, bandwidth
//! ```
//!
//! The rules are kind: on an H200 pairs were slower than they say by 0.16 (time-slicing) and 0.20 (mps) on average. With
//! `unmeasured = "like-measured"` such a pair is as far off its rule as some measured pair in the same mode, drawn by lot from the two names.
//!
//! Beside two others a job loses what it loses beside each of them, 1 + sum (s_j - 1): more than beside the worse of them, less than
//! the product, and exact where saturated jobs take turns.

mod pairs;
mod rows;

use crate::{ClusterSpec, InputError, Workload};
use evenhand_core::{Demand, ModelIndex, PerModel, Random, Rate, SharingMode};
pub use pairs::PairTruth;
use pairs::by_demand;
use rows::{PairRow, ProfileRow, parsed, rows};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What is known of kinds of jobs on shared GPUs, by name.
#[derive(Clone, Debug, Default)]
pub struct Colocation {
    profiles: Vec<ProfileRow>,
    pairs: Vec<PairRow>,
    foretold: Vec<ProfileRow>,
    /// With what the names begin that are given by lot; all if empty.
    kinds: Vec<String>,
    like_measured: bool,
}

impl Colocation {
    /// Reads both tables, or the one there is.
    pub fn open(profiles: Option<&Path>, pairs: Option<&Path>) -> Result<Self, InputError> {
        let profiles: Vec<ProfileRow> = profiles.map_or(Ok(Vec::new()), rows)?;
        let pairs: Vec<PairRow> = pairs.map_or(Ok(Vec::new()), rows)?;
        Ok(Self { profiles: each_once(profiles)?, pairs, ..Self::default() })
    }

    /// Reads both tables from text.
    pub fn parse(profiles: &str, pairs: &str) -> Result<Self, InputError> {
        let (profiles, pairs) = (parsed(profiles.as_bytes())?, parsed(pairs.as_bytes())?);
        Ok(Self { profiles: each_once(profiles)?, pairs, ..Self::default() })
    }

    /// Lets pairs that nobody measured be as far off their rule as those that somebody did.
    pub fn like_measured(mut self) -> Self {
        self.like_measured = true;
        self
    }

    /// Lets submitters declare what a table says instead of the truth.
    pub fn foretold(mut self, path: &Path) -> Result<Self, InputError> {
        self.foretold = each_once(rows(path)?)?;
        let told: BTreeSet<&str> = self.foretold.iter().map(|row| row.name.as_str()).collect();
        match self.profiles.iter().find(|row| !told.contains(row.name.as_str())) {
            Some(row) => Err(InputError::field(
                0,
                "foretold",
                path.display(),
                format!("nothing is said of {}", row.name),
            )),
            None => Ok(self),
        }
    }

    /// Gives only profiles by lot whose names begin with one of these.
    pub fn of_kinds(mut self, kinds: &[String]) -> Result<Self, InputError> {
        let is_known = |kind: &&String| self.profiles.iter().any(|row| row.name.starts_with(kind.as_str()));
        if let Some(kind) = kinds.iter().find(|kind| !is_known(kind)) {
            return Err(InputError::field(
                0,
                "kinds",
                kind,
                "no name in the table of profiles begins with it",
            ));
        }
        self.kinds = kinds.to_vec();
        Ok(self)
    }

    /// Gives every job of a workload its profile, and the workload the truth about pairs. A job that names no profile gets one by lot.
    pub fn apply(&self, workload: &mut Workload, cluster: &ClusterSpec, seed: u64) -> Result<(), InputError> {
        let names: BTreeSet<&str> = self.profiles.iter().map(|row| row.name.as_str()).collect();
        let profile = |rows, name| profile(rows, name, cluster);
        let known: BTreeMap<&str, _> =
            names.iter().map(|name| (*name, profile(&self.profiles, name))).collect();
        let told = names.iter().filter(|_| !self.foretold.is_empty());
        let told: BTreeMap<&str, _> = told.map(|name| (*name, profile(&self.foretold, name).0)).collect();
        let is_given = |name: &&str| {
            self.kinds.is_empty() || self.kinds.iter().any(|kind| name.starts_with(kind.as_str()))
        };
        let given: Vec<&str> = names.iter().copied().filter(is_given).collect();
        for job in &mut workload.jobs {
            if job.profile.is_none() && !names.is_empty() {
                let mut lot = Random::stream(seed ^ job.truth.id.0.wrapping_mul(0x9e37_79b9), "profile");
                job.profile = lot.pick(&given).map(|name| Arc::from(*name));
            }
            let Some(name) = job.profile.as_deref().filter(|_| !names.is_empty()) else { continue };
            let Some((demand, speeds)) = known.get(name) else {
                return Err(InputError::field(0, "profile", name, "the table of profiles has no such name"));
            };
            job.foretold = told.get(name).cloned();
            let truth = Arc::make_mut(&mut job.truth);
            truth.demand = Some(demand.clone());
            truth.memory = Some(demand[ModelIndex(0)].memory.mean);
            if truth.speeds.is_none() {
                truth.speeds = *speeds;
            }
        }
        // A trace may bring pairs of its own.
        if workload.truth.is_none() || !self.pairs.is_empty() {
            workload.truth = Some(Arc::new(self.bind(cluster)));
        }
        Ok(())
    }

    /// The pairs on the GPU models of a cluster.
    fn bind(&self, cluster: &ClusterSpec) -> PairTruth {
        let mut truth = PairTruth::default();
        for row in &self.pairs {
            let Some(model) = cluster.model_index(&row.gpu) else { continue };
            truth.add(model, row.mode, (&row.one, &row.other), row.slowdown_one);
            truth.add(model, row.mode, (&row.other, &row.one), row.slowdown_other);
            let demand = |name: &str| {
                let own = || self.profiles.iter().filter(|profile| profile.name == name);
                own().find(|profile| profile.gpu == row.gpu).or_else(|| own().next()).map(ProfileRow::demand)
            };
            let (Some(one), Some(other), true) = (demand(&row.one), demand(&row.other), self.like_measured)
            else {
                continue;
            };
            let off = truth.off.entry((model, row.mode == SharingMode::Mps)).or_default();
            off.push(row.slowdown_one.max(1.0) / by_demand(&one, &other, row.mode));
            off.push(row.slowdown_other.max(1.0) / by_demand(&other, &one, row.mode));
        }
        truth
    }
}

/// Rows of kinds and GPU models that have one row each.
fn each_once(rows: Vec<ProfileRow>) -> Result<Vec<ProfileRow>, InputError> {
    let mut seen = BTreeSet::new();
    match rows.iter().find(|row| !seen.insert((&row.name, &row.gpu))) {
        Some(row) => {
            let allowed = format!("it has another row for {} already", row.gpu);
            Err(InputError::field(0, "profile", &row.name, &allowed))
        }
        None => Ok(rows),
    }
}

/// What a kind of job asks of each GPU model, and its speeds relative to the first if they are all known. A model without a row of
/// its own counts as the first that has one.
fn profile(
    rows: &[ProfileRow],
    name: &str,
    cluster: &ClusterSpec,
) -> (Arc<PerModel<Demand>>, Option<PerModel<Rate>>) {
    let own: Vec<&ProfileRow> = rows.iter().filter(|row| row.name == name).collect();
    let row = |model: &str| own.iter().find(|row| row.gpu == model).or(own.first()).copied();
    let mut demands = PerModel::default();
    let mut speeds = PerModel::all(Rate::ONE);
    let first = cluster.models.first().and_then(|model| row(&model.name)?.speed);
    let mut all = cluster.models.len() > 1;
    for (at, model) in cluster.models.iter().enumerate() {
        let Some(found) = row(&model.name) else { continue };
        demands.0[at] = found.demand();
        let speed = found.speed.zip(first).and_then(|(own, first)| Rate::new(own / first).ok());
        all &= found.gpu == model.name && speed.is_some();
        speeds.0[at] = speed.unwrap_or(Rate::ONE);
    }
    (Arc::new(demands), all.then_some(speeds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Throughputs;
    use crate::truth::{Resident, TrueInterference};
    use evenhand_core::{JobId, JobSpec, TenantId};

    #[test]
    fn pairs_of_a_table_of_throughputs_are_the_truth_under_mps() {
        let text = r#"{"v100":{"('LM (batch size 5)', 1)":{"null":24.0,"('A3C', 1)":[12.0,3.5],"('GAN', 1)":[0.0,0.0]},
            "('A3C', 1)":{"null":7.0},"('GAN', 1)":{"null":1.0}}}"#;
        let table = Throughputs::read(&mut text.as_bytes()).unwrap();
        let cluster = ClusterSpec::parse("v100=1", None, None).unwrap();
        let truth = PairTruth::of_throughputs(&table, &cluster);
        let spec = JobSpec::new(JobId(0), TenantId(0), 1, None);
        let names: Vec<Arc<str>> = ["LM (batch size 5)", "A3C", "GAN"].map(Arc::from).to_vec();
        let [lm, a3c, gan] = [0, 1, 2].map(|at| Resident { spec: &spec, profile: Some(&names[at]) });
        let model = ModelIndex(0);
        assert!((truth.slowdown(&lm, &[a3c], model, SharingMode::Mps) - 2.0).abs() < 1e-12);
        assert!(truth.is_measured(&lm, &a3c, model, SharingMode::Mps));
        assert!(truth.fits(&lm, &a3c, model) && !truth.fits(&lm, &gan, model));
        // Nobody measured them taking turns: saturated jobs, half the speed.
        assert!(!truth.is_measured(&lm, &a3c, model, SharingMode::TimeSlicing));
        assert!((truth.slowdown(&lm, &[a3c], model, SharingMode::TimeSlicing) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn tables_that_make_no_sense_are_refused_with_their_field() {
        let profiles = "name,gpu,duty,sm,tensor,bandwidth,memory_mb\nx,h200,1.5,0,0,0,1\n";
        let error = Colocation::parse(profiles, "").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("duty is `1.5`"), "{error}");
        let title = "name,gpu,duty,sm,tensor,bandwidth,memory_mb,speed";
        for (rows, what) in [
            ("x,h200,NaN,0,0,0,1,1", "duty is `NaN`"),
            ("x,h200,1,0,0,0,-1,1", "memory_mb is `-1`"),
            ("x,h200,1,0,0,0,1,0", "speed is `0`"),
            ("x,h200,1,0,0,0,1,1\nx,h200,1,0,0,0,1,1", "another row for h200"),
        ] {
            let error = Colocation::parse(&format!("{title}\n{rows}\n"), "").unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let pairs = "gpu,mode,one,other,slowdown_one,slowdown_other\nh200,turns,a,b,1,1\n";
        assert!(Colocation::parse("", pairs).unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn pairs_that_nobody_measured_may_be_as_far_off_their_rule_as_those_that_somebody_did() {
        let profiles = "name,gpu,duty,sm,tensor,bandwidth,memory_mb\na,h200,0.5,0,0,0,1\nb,h200,1,0,0,0,1\n";
        let pairs = "gpu,mode,one,other,slowdown_one,slowdown_other\nh200,time-slicing,a,a,2.5,2.5\n";
        let cluster = ClusterSpec::parse("h200=1", None, None).unwrap();
        let truth = Colocation::parse(profiles, pairs).unwrap().like_measured().bind(&cluster);
        let mut spec = JobSpec::new(JobId(0), TenantId(0), 1, None);
        spec.demand = Some(Arc::new(PerModel::all(Demand { duty: 1.0, ..Demand::default() })));
        let name: Arc<str> = "b".into();
        let resident = Resident { spec: &spec, profile: Some(&name) };
        // The rule says 2 for this pair; it said 1.25 for the one that was measured, and it was twice that.
        let slowdown = truth.slowdown(&resident, &[resident], ModelIndex(0), SharingMode::TimeSlicing);
        assert!((slowdown - 4.0).abs() < 1e-12);
    }
}
