//! Scenarios: a cluster, some work, how to simulate it, and which policies to compare, in one TOML file.

mod policies;
mod tenants;

use crate::apps::Apps;
use crate::profiles::ProfileTable;
use crate::traces::synthetic::Synthetic;
use crate::traces::{self, Sides, Throughputs};
use crate::{ClusterSpec, Colocation, Faults, InputError, NodeGroup, Semantics, Setup, Workload};
use evenhand_core::{Choice, EngineConfig, Restart, Span};
use policies::PolicyTable;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tenants::TenantTable;

/// A scenario as read from its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    cluster: ClusterTable,
    /// What is to be done.
    pub workload: WorkloadChoice,
    #[serde(default)]
    simulation: SimulationTable,
    #[serde(default)]
    tenant: Vec<TenantTable>,
    #[serde(default)]
    policy: Vec<PolicyTable>,
    #[serde(skip)]
    folder: PathBuf,
    #[serde(skip)]
    path: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClusterTable {
    gpus: Option<String>,
    gpus_per_node: Option<u8>,
    nodes_per_rack: Option<u32>,
    #[serde(default)]
    nodes: Vec<NodeGroup>,
}

/// A file of which only the `[cluster]` table counts.
#[derive(Deserialize)]
struct ClusterFile {
    cluster: ClusterTable,
}

impl ClusterTable {
    fn spec(&self) -> Result<ClusterSpec, InputError> {
        match &self.gpus {
            Some(text) if self.nodes.is_empty() => {
                ClusterSpec::parse(text, self.gpus_per_node, self.nodes_per_rack)
            }
            None if !self.nodes.is_empty() => ClusterSpec::of_groups(&self.nodes, self.nodes_per_rack),
            _ => Err(InputError::whole("", "[cluster] has either `gpus` or [[cluster.nodes]]")),
        }
    }
}

impl ClusterSpec {
    /// Reads the `[cluster]` table of a TOML file; other tables are left alone, so that a whole scenario will do.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let file: ClusterFile = read_toml(path)?;
        file.cluster.spec().map_err(|error| error.within(&path.display().to_string()))
    }
}

/// Reads a TOML file; what is wrong with it is named with its line.
fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, InputError> {
    let place = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| InputError::whole(&place, format!("the file cannot be read: {error}")))?;
    toml::from_str(&text).map_err(|error| {
        let before = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count());
        let line = before.map_or(0, |before| before as u64 + 1);
        InputError { line, ..InputError::whole(&place, explained(error.message())) }
    })
}

/// Where the work comes from: a trace, or one of three generators.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadChoice {
    trace: Option<PathBuf>,
    throughputs: Option<PathBuf>,
    generate: Option<Synthetic>,
    apps: Option<Apps>,
    profile: Option<ProfileTable>,
    profiles: Option<PathBuf>,
    colocation: Option<PathBuf>,
    unmeasured: Option<String>,
    foretold: Option<PathBuf>,
    #[serde(default)]
    kinds: Vec<String>,
    /// By which jobs that name no profile get one.
    #[serde(default)]
    profiles_seed: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SimulationTable {
    semantics: Option<String>,
    round: Option<String>,
    early_round_min: Option<String>,
    grace: Option<String>,
    save: Option<String>,
    restore: Option<String>,
    checkpoint: Option<String>,
    placer: Option<String>,
    predictor: Option<String>,
    sharing: Option<String>,
    declares_work: Option<bool>,
    declares_modes: Option<bool>,
    announces_regimes: Option<bool>,
    seeds: Vec<u64>,
    faults: Faults,
}

impl Scenario {
    /// Reads a scenario.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let mut scenario: Self = read_toml(path)?;
        scenario.folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        scenario.path = path.display().to_string();
        if let Some(generate) = &scenario.workload.generate {
            generate.check().map_err(|error| error.within(&scenario.path))?;
        }
        if let Some(apps) = &scenario.workload.apps {
            apps.check().map_err(|error| error.within(&scenario.path))?;
        }
        if let Some(profile) = &scenario.workload.profile {
            profile.check().map_err(|error| error.within(&scenario.path))?;
        }
        scenario.simulation.faults.check().map_err(|error| error.within(&scenario.path))?;
        Ok(scenario)
    }

    /// Its machines.
    pub fn cluster(&self) -> Result<ClusterSpec, InputError> {
        self.cluster.spec().map_err(|error| error.within(&self.path))
    }

    /// Whether runs with different seeds have different work.
    pub fn varies(&self) -> bool {
        let WorkloadChoice { apps, profile, .. } = &self.workload;
        apps.as_ref().is_some_and(|apps| apps.seed.is_none())
            || profile.as_ref().is_some_and(|profile| profile.seed.is_none())
    }

    /// Its work in the run of this seed, fitted to its machines.
    pub fn workload(&self, cluster: &ClusterSpec, seed: u64) -> Result<Workload, InputError> {
        let choice = &self.workload;
        let mut workload = match (&choice.trace, &choice.generate, &choice.apps, &choice.profile) {
            (Some(trace), None, None, None) => {
                traces::open(&self.folder.join(trace), &self.sides()?, cluster)?
            }
            (None, Some(generate), None, None) => {
                generate.check_for(cluster).map_err(|error| error.within(&self.path))?;
                generate.generate(cluster)
            }
            (None, None, Some(apps), None) => apps.generate(cluster, seed),
            (None, None, None, Some(profile)) => {
                profile.generate(cluster, seed).map_err(|error| error.within(&self.path))?
            }
            _ => {
                let allowed = "[workload] has one of `trace`, [workload.generate], [workload.apps] and [workload.profile]";
                return Err(InputError::whole(&self.path, allowed));
            }
        };
        if !workload.apps.is_empty() && self.semantics()? == Semantics::Original {
            let allowed = "those rules know no apps: leave `semantics` out";
            return Err(InputError::field(0, "semantics", "original", allowed).within(&self.path));
        }
        workload.set_restart(self.restart()?);
        if self.simulation.declares_work == Some(false) {
            workload.withhold_work();
        }
        if self.simulation.declares_modes == Some(false) {
            workload.withhold_modes();
        }
        if self.simulation.announces_regimes == Some(true) {
            workload.announce_regimes();
        }
        self.share(&mut workload, cluster)?;
        self.name_tenants(&mut workload, cluster)?;
        self.check_tenants(&workload, cluster)?;
        for table in &self.tenant {
            for (model, factor) in &table.reports {
                let lie = (table.name.as_str(), model.as_str(), *factor);
                workload.misreport(cluster, lie).map_err(|error| error.within(&self.path))?;
            }
        }
        Ok(workload)
    }

    /// Lets jobs be of the kinds, and do to each other on one GPU, what its tables say.
    fn share(&self, workload: &mut Workload, cluster: &ClusterSpec) -> Result<(), InputError> {
        let choice = &self.workload;
        let path = |name: &Option<PathBuf>| name.as_ref().map(|name| self.folder.join(name));
        let (profiles, pairs) = (path(&choice.profiles), path(&choice.colocation));
        if profiles.is_none() && (choice.foretold.is_some() || !choice.kinds.is_empty()) {
            return Err(InputError::whole(&self.path, "`foretold` and `kinds` are about `profiles`"));
        }
        if profiles.is_none() && pairs.is_none() {
            return Ok(());
        }
        let mut tables = Colocation::open(profiles.as_deref(), pairs.as_deref())?;
        match choice.unmeasured.as_deref() {
            None | Some("rule") => {}
            Some("like-measured") => tables = tables.like_measured(),
            Some(text) => {
                let allowed = "it is rule or like-measured";
                return Err(InputError::field(0, "unmeasured", text, allowed).within(&self.path));
            }
        }
        if let Some(foretold) = path(&choice.foretold) {
            tables = tables.foretold(&foretold)?;
        }
        let applied = tables.of_kinds(&choice.kinds);
        let applied = applied.and_then(|tables| tables.apply(workload, cluster, choice.profiles_seed));
        applied.map_err(|error| error.within(&self.path))
    }

    /// The files that belong to its trace.
    fn sides(&self) -> Result<Sides, InputError> {
        let throughputs =
            self.workload.throughputs.as_ref().map(|path| Throughputs::open(&self.folder.join(path)));
        Ok(Sides { throughputs: throughputs.transpose()?.map(Arc::new) })
    }

    fn restart(&self) -> Result<Restart, InputError> {
        let mut restart = Restart::default();
        let table = &self.simulation;
        restart.save = self.span("save", table.save.as_deref())?.unwrap_or(restart.save);
        restart.restore = self.span("restore", table.restore.as_deref())?.unwrap_or(restart.restore);
        restart.interval = self.span("checkpoint", table.checkpoint.as_deref())?.unwrap_or(restart.interval);
        Ok(restart)
    }

    fn span(&self, field: &str, text: Option<&str>) -> Result<Option<Span>, InputError> {
        let read = text.map(|text| {
            text.parse::<Span>()
                .map_err(|allowed| InputError::field(0, field, text, allowed).within(&self.path))
        });
        read.transpose()
    }

    /// How its runs are set up, up to policy and seed.
    pub fn base(&self) -> Result<Setup, InputError> {
        let table = &self.simulation;
        let usual = Setup::default();
        let named =
            |name: &Option<String>, usual: &Choice| name.as_deref().map_or(usual.clone(), Choice::named);
        let placer = named(&table.placer, &usual.placer);
        let predictor = table.predictor.as_deref().map(Choice::named);
        let mut engine = EngineConfig::default();
        engine.round = self.span("round", table.round.as_deref())?.unwrap_or(engine.round);
        engine.early_round_min =
            self.span("early_round_min", table.early_round_min.as_deref())?.unwrap_or(engine.early_round_min);
        engine.grace = self.span("grace", table.grace.as_deref())?.unwrap_or(engine.grace);
        if engine.round == Span::ZERO {
            return Err(InputError::field(0, "round", "0s", "a round takes time").within(&self.path));
        }
        let semantics = self.semantics()?;
        let sharing = table.sharing.as_ref().map(|name| match name.as_str() {
            "rule" | "learned" => name.clone(),
            file => self.folder.join(file).display().to_string(),
        });
        Ok(Setup { engine, faults: table.faults.clone(), placer, predictor, sharing, semantics, ..usual })
    }

    /// Whose rules of time it follows.
    fn semantics(&self) -> Result<Semantics, InputError> {
        let text = self.simulation.semantics.as_deref().unwrap_or("exact");
        let wrong = |allowed: &str| InputError::field(0, "semantics", text, allowed).within(&self.path);
        match text {
            "exact" => Ok(Semantics::Exact),
            "original" if self.simulation.faults == Faults::default() => Ok(Semantics::Original),
            "original" => Err(wrong("nothing goes wrong under those rules: leave [simulation.faults] out")),
            _ => Err(wrong("it is exact or original")),
        }
    }

    /// Its seeds: 1 if it names none.
    pub fn seeds(&self) -> Vec<u64> {
        let seeds = &self.simulation.seeds;
        if seeds.is_empty() { vec![1] } else { seeds.clone() }
    }

    /// How its runs are set up: every policy with every seed.
    pub fn setups(&self) -> Result<Vec<Setup>, InputError> {
        let base = self.base()?;
        let seeds = self.seeds();
        let mut setups = Vec::new();
        for table in &self.policy {
            for policy in table.choices().map_err(|error| error.within(&self.path))? {
                let with = |seed: &u64| Setup { policy: policy.clone(), seed: *seed, ..base.clone() };
                setups.extend(seeds.iter().map(with));
            }
        }
        Ok(setups)
    }
}

/// The words of the TOML reader, with a suggestion for a misspelt key.
fn explained(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((found, known)) if message.starts_with("unknown field") => {
            let leaked: Vec<&'static str> = KEYS.iter().copied().filter(|key| known.contains(key)).collect();
            let near = evenhand_core::nearest(found, &leaked);
            near.map_or_else(
                || message.to_owned(),
                |near| format!("unknown key `{found}`; did you mean `{near}`?"),
            )
        }
        _ => message.to_owned(),
    }
}

/// Keys that a suggestion may name.
const KEYS: &[&str] = &[
    "cluster",
    "workload",
    "simulation",
    "tenant",
    "policy",
    "gpus",
    "gpus_per_node",
    "nodes_per_rack",
    "nodes",
    "model",
    "count",
    "slots",
    "memory_gb",
    "gpus_per_socket",
    "trace",
    "throughputs",
    "generate",
    "apps",
    "profile",
    "profiles",
    "profiles_seed",
    "unmeasured",
    "colocation",
    "foretold",
    "kinds",
    "demand_error",
    "single",
    "jobs_max",
    "minutes_median",
    "minutes_sigma",
    "minutes_max",
    "gpu_hours_max",
    "epochs",
    "noise",
    "communication_bound",
    "first_to_target",
    "tuners",
    "jobs",
    "days",
    "load",
    "duration_mean_s",
    "duration_sigma",
    "tenants",
    "seed",
    "round",
    "early_round_min",
    "grace",
    "save",
    "restore",
    "checkpoint",
    "placer",
    "predictor",
    "sharing",
    "declares_work",
    "declares_modes",
    "announces_regimes",
    "seeds",
    "semantics",
    "faults",
    "node_failure_every_s",
    "node_repair_s",
    "job_crash_every_s",
    "straggling",
    "forecast_error",
    "forecast_lies",
    "until_s",
    "every_s",
    "for_s",
    "speed",
    "name",
    "weight",
    "parent",
    "limit",
    "guaranteed",
    "reports",
    "set",
    "sweep",
];
