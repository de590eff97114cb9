//! What jobs really ask of a GPU, and how much pairs of them really slow each other down: measured, in two tables.
//!
//! ```text
//! profiles   name,gpu,duty,sm,tensor,bandwidth,memory_mb[,speed]             one row for each kind of job and GPU model
//! pairs      gpu,mode,one,other,slowdown_one,slowdown_other                  mode: time-slicing or mps
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

use crate::traces::Throughputs;
use crate::truth::{Resident, TrueInterference};
use crate::{ClusterSpec, InputError, Workload};
use evenhand_core::{Bytes, Demand, Estimate, ModelIndex, PerModel, Random, Rate, SharingMode};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// One row of a table of profiles.
#[derive(Clone, Debug, Deserialize)]
struct ProfileRow {
    name: String,
    gpu: String,
    duty: f64,
    sm: f64,
    tensor: f64,
    bandwidth: f64,
    memory_mb: f64,
    /// Steps per second alone; of use where a kind has rows on several GPU models.
    #[serde(default)]
    speed: Option<f64>,
}

/// One row of a table of pairs.
#[derive(Clone, Debug, Deserialize)]
struct PairRow {
    gpu: String,
    mode: SharingMode,
    one: String,
    other: String,
    slowdown_one: f64,
    slowdown_other: f64,
}

/// What is known of kinds of jobs on shared GPUs, by name.
#[derive(Clone, Debug, Default)]
pub struct Colocation {
    profiles: Vec<ProfileRow>,
    pairs: Vec<PairRow>,
    like_measured: bool,
}

impl Colocation {
    /// Lets pairs that nobody measured be as far off their rule as those that somebody did.
    pub fn like_measured(mut self) -> Self {
        self.like_measured = true;
        self
    }

    /// Reads both tables, or the one there is.
    pub fn open(profiles: Option<&Path>, pairs: Option<&Path>) -> Result<Self, InputError> {
        let profiles: Vec<ProfileRow> = profiles.map_or(Ok(Vec::new()), rows)?;
        let pairs: Vec<PairRow> = pairs.map_or(Ok(Vec::new()), rows)?;
        Self { profiles, pairs, like_measured: false }.checked()
    }

    /// Reads both tables from text.
    pub fn parse(profiles: &str, pairs: &str) -> Result<Self, InputError> {
        let (profiles, pairs) = (parsed(profiles.as_bytes())?, parsed(pairs.as_bytes())?);
        Self { profiles, pairs, like_measured: false }.checked()
    }

    fn checked(self) -> Result<Self, InputError> {
        let mut seen = BTreeSet::new();
        match self.profiles.iter().find(|row| !seen.insert((&row.name, &row.gpu))) {
            Some(row) => {
                let allowed = format!("it has another row for {} already", row.gpu);
                Err(InputError::field(0, "profile", &row.name, &allowed))
            }
            None => Ok(self),
        }
    }

    /// Gives every job of a workload its profile, and the workload the truth about pairs. A job that names no profile gets one by lot.
    pub fn apply(&self, workload: &mut Workload, cluster: &ClusterSpec, seed: u64) -> Result<(), InputError> {
        let names: BTreeSet<&str> = self.profiles.iter().map(|row| row.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let known: BTreeMap<&str, _> =
            names.iter().map(|name| (*name, self.profile(name, cluster))).collect();
        for job in &mut workload.jobs {
            if job.profile.is_none() && !names.is_empty() {
                let mut lot = Random::stream(seed ^ job.truth.id.0.wrapping_mul(0x9e37_79b9), "profile");
                job.profile = lot.pick(&names).map(|name| Arc::from(*name));
            }
            let Some(name) = job.profile.as_deref().filter(|_| !names.is_empty()) else { continue };
            let Some((demand, speeds)) = known.get(name) else {
                return Err(InputError::field(0, "profile", name, "the table of profiles has no such name"));
            };
            let truth = Arc::make_mut(&mut job.truth);
            truth.demand = Some(demand.clone());
            truth.memory = Some(demand[ModelIndex(0)].memory.mean);
            if truth.speeds.is_none() {
                truth.speeds = *speeds;
            }
        }
        workload.truth = Some(Arc::new(self.bind(cluster)));
        Ok(())
    }

    /// What a kind of job asks of each GPU model, and its speeds relative to the first if they are all known. A model without a row of
    /// its own counts as the first that has one.
    fn profile(&self, name: &str, cluster: &ClusterSpec) -> (Arc<PerModel<Demand>>, Option<PerModel<Rate>>) {
        let own: Vec<&ProfileRow> = self.profiles.iter().filter(|row| row.name == name).collect();
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

impl ProfileRow {
    fn demand(&self) -> Demand {
        let memory = Estimate::exact(Bytes((self.memory_mb * 1e6) as u64));
        Demand { duty: self.duty, sm: self.sm, tensor: self.tensor, bandwidth: self.bandwidth, memory }
    }
}

/// A row that can be out of range: the field, its value, and what is allowed.
trait Ranged {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)>;
}

impl Ranged for ProfileRow {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)> {
        let share = "it is a share from 0 to 1";
        let fields = [
            ("duty", self.duty, 0.0..=1.0, share),
            ("sm", self.sm, 0.0..=1.0, share),
            ("tensor", self.tensor, 0.0..=1.0, share),
            ("bandwidth", self.bandwidth, 0.0..=1.0, share),
            ("memory_mb", self.memory_mb, 0.0..=1e9, "it is a number of megabytes"),
            (
                "speed",
                self.speed.unwrap_or(1.0),
                f64::MIN_POSITIVE..=1e12,
                "it is a number of steps a second above 0",
            ),
        ];
        let out = fields.into_iter().find(|(_, value, range, _)| !range.contains(value));
        out.map(|(field, value, _, allowed)| (field, value, allowed))
    }
}

impl Ranged for PairRow {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)> {
        let fields = [("slowdown_one", self.slowdown_one), ("slowdown_other", self.slowdown_other)];
        let out = fields.into_iter().find(|(_, value)| !(0.0..=1e6).contains(value));
        out.map(|(field, value)| (field, value, "it is a number from 0 to 1000000"))
    }
}

fn rows<T: for<'a> Deserialize<'a> + Ranged>(path: &Path) -> Result<Vec<T>, InputError> {
    let place = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| InputError::whole(&place, format!("the table cannot be read: {error}")))?;
    let rows = parsed(file).map_err(|error| error.within(&place))?;
    if rows.is_empty() {
        return Err(InputError::whole(&place, "the table has no rows".to_owned()));
    }
    Ok(rows)
}

fn parsed<T: for<'a> Deserialize<'a> + Ranged>(source: impl std::io::Read) -> Result<Vec<T>, InputError> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(source);
    let columns = reader.headers().cloned();
    let mut rows = Vec::new();
    for record in reader.records() {
        let line = |error: &csv::Error| error.position().map_or(0, csv::Position::line);
        let unread = |error: csv::Error| InputError {
            line: line(&error),
            allowed: format!("the row cannot be read: {error}"),
            ..InputError::default()
        };
        let record = record.map_err(unread)?;
        let row: T = record.deserialize(columns.as_ref().ok()).map_err(unread)?;
        if let Some((field, value, allowed)) = row.out_of_range() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(InputError::field(line, field, value, allowed));
        }
        rows.push(row);
    }
    Ok(rows)
}

/// How often a pair was measured, and the sum of what came out.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

/// The key of a measurement: where, how, whose slowdown, beside whom.
type Key = (ModelIndex, bool, Arc<str>, Arc<str>);

/// Measured slowdowns of pairs, and what follows from their demands where nobody measured.
#[derive(Clone, Debug, Default)]
pub struct PairTruth {
    measured: BTreeMap<Key, Mean>,
    /// Pairs that do not fit into the memory of a GPU together.
    unfit: BTreeSet<(ModelIndex, Arc<str>, Arc<str>)>,
    /// By which factor measured pairs were off their rule.
    off: BTreeMap<(ModelIndex, bool), Vec<f64>>,
}

impl PairTruth {
    fn add(&mut self, model: ModelIndex, mode: SharingMode, (own, other): (&str, &str), slowdown: f64) {
        let mean =
            self.measured.entry((model, mode == SharingMode::Mps, own.into(), other.into())).or_default();
        mean.sum += slowdown.max(1.0);
        mean.count += 1;
    }

    /// The pairs of a table of throughputs, on the models that the cluster has too. They were measured under MPS; a pair of zeros on one
    /// GPU does not fit.
    pub(crate) fn of_throughputs(table: &Throughputs, cluster: &ClusterSpec) -> Self {
        let mut truth = Self::default();
        for ((own, other), row) in table.pairs() {
            let (Some(alone), true) = (table.alone(&own.0, own.1), own.1 == 1 && other.1 == 1) else {
                continue;
            };
            for (at, name) in table.models.iter().enumerate() {
                let Some(model) = cluster.model_index(name) else { continue };
                let [mine, theirs] = row.0[at];
                if mine > 0.0 && alone.0[at] > 0.0 {
                    truth.add(model, SharingMode::Mps, (&own.0, &other.0), alone.0[at] / mine);
                } else if mine + theirs <= 0.0 {
                    truth.unfit.insert((model, own.0.as_str().into(), other.0.as_str().into()));
                }
            }
        }
        truth
    }

    fn of(
        &self,
        own: &Resident<'_>,
        other: &Resident<'_>,
        model: ModelIndex,
        mode: SharingMode,
    ) -> Option<f64> {
        let (own, other) = (own.profile?.clone(), other.profile?.clone());
        let mean = self.measured.get(&(model, mode == SharingMode::Mps, own, other))?;
        Some(mean.sum / f64::from(mean.count))
    }
}

impl PairTruth {
    /// What becomes of a job beside another with which nobody has measured it.
    fn by_rule(&self, own: &Resident<'_>, other: &Resident<'_>, model: ModelIndex, mode: SharingMode) -> f64 {
        let rule = by_demand(&own.demand(model), &other.demand(model), mode);
        let (Some(off), Some(one), Some(two)) =
            (self.off.get(&(model, mode == SharingMode::Mps)), own.profile, other.profile)
        else {
            return rule;
        };
        let mut lot = Random::stream(0, &format!("{one} beside {two}"));
        (rule * lot.pick(off).copied().unwrap_or(1.0)).max(1.0)
    }
}

impl TrueInterference for PairTruth {
    fn slowdown(
        &self,
        own: &Resident<'_>,
        others: &[Resident<'_>],
        model: ModelIndex,
        mode: SharingMode,
    ) -> f64 {
        let beside = |other: &Resident<'_>| {
            let known = self.of(own, other, model, mode);
            known.unwrap_or_else(|| self.by_rule(own, other, model, mode)) - 1.0
        };
        1.0 + others.iter().map(beside).sum::<f64>()
    }

    fn is_measured(
        &self,
        own: &Resident<'_>,
        other: &Resident<'_>,
        model: ModelIndex,
        mode: SharingMode,
    ) -> bool {
        self.of(own, other, model, mode).is_some()
    }

    fn fits(&self, own: &Resident<'_>, other: &Resident<'_>, model: ModelIndex) -> bool {
        let (Some(own), Some(other)) = (own.profile, other.profile) else { return true };
        !self.unfit.contains(&(model, own.clone(), other.clone()))
    }
}

/// What becomes of a job beside another when nobody has measured the two.
fn by_demand(own: &Demand, other: &Demand, mode: SharingMode) -> f64 {
    match mode {
        SharingMode::TimeSlicing => 1.0 + own.duty * other.duty,
        SharingMode::Mps => {
            let worst = (own.sm + other.sm).max(own.tensor + other.tensor);
            worst.max(own.bandwidth + other.bandwidth).max(1.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
