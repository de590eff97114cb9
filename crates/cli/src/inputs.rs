//! What was typed, made into what it means. Everything is checked here, before anything is written.

use crate::args::Work;
use crate::failure::{Wrong, wrong};
use crate::output;
use anyhow::Result;
use evenhand_core::{Abilities, Choice, Restart, Span};
use evenhand_policies::POLICIES;
use evenhand_sim::traces::{Sides, Throughputs, Warnings};
use evenhand_sim::{ClusterSpec, InputError, Semantics, Setup, SetupError, Workload, engine_for, traces};
use std::path::Path;
use std::sync::Arc;

/// Rounds and restarts as in Shockwave's published runs.
const ORIGINAL_ROUND: Span = Span::from_secs(120);
const ORIGINAL_RESTORE: Span = Span::from_secs(20);

impl Work {
    /// The machines.
    pub fn cluster(&self) -> Result<ClusterSpec> {
        let Some(text) = &self.cluster else {
            return Err(wrong("--cluster", "it is needed: v100=32, say, or a TOML file"));
        };
        let path = Path::new(text);
        match ending(path) {
            Some("toml") => {
                refuse_said(text, "--gpus-per-node", self.gpus_per_node.is_some())?;
                refuse_said(text, "--nodes-per-rack", self.nodes_per_rack.is_some())?;
                Ok(ClusterSpec::read(path)?)
            }
            Some("csv") => {
                // A list of nodes says nothing of racks.
                refuse_said(text, "--gpus-per-node", self.gpus_per_node.is_some())?;
                Ok(nodes_listed(path, self.nodes_per_rack)?)
            }
            _ => {
                let spec = ClusterSpec::parse(text, self.gpus_per_node, self.nodes_per_rack);
                // Its fields are flags here.
                Ok(spec.map_err(|error| InputError { field: format!("--{}", error.field), ..error })?)
            }
        }
    }

    /// The work of a trace, with the costs of stopping that were asked for.
    pub fn workload(&self, trace: &Path, cluster: &ClusterSpec) -> Result<Arc<Workload>> {
        let found = traces::open_trace(trace, &sides(self.throughputs.as_deref())?)?;
        tell_warnings(trace, &found.warnings);
        let mut workload = found.bind(cluster).map_err(|error| error.within(&trace.display().to_string()))?;
        if self.semantics == Semantics::Original && !workload.apps.is_empty() {
            return Err(wrong("--semantics", "original rules know no apps, and the trace has some"));
        }
        let usual = Restart::default();
        let mut restart = usual;
        restart.save = self.save.unwrap_or(usual.save);
        let restore = if self.semantics == Semantics::Original { ORIGINAL_RESTORE } else { usual.restore };
        restart.restore = self.restore.unwrap_or(restore);
        restart.interval = self.checkpoint.unwrap_or(usual.interval);
        workload.set_restart(restart);
        for (tenant, model, factor) in &self.lie {
            let lie = workload.misreport(cluster, (tenant, model, *factor));
            lie.map_err(|error| error.within("--lie"))?;
        }
        Ok(Arc::new(workload))
    }

    /// How runs are set up, up to policy and seed.
    pub fn setup(&self) -> Result<Setup> {
        let mut setup = Setup::default();
        if self.round == Some(Span::ZERO) {
            return Err(InputError::field(0, "--round", "0s", "a round takes time").into());
        }
        let round = if self.semantics == Semantics::Original { ORIGINAL_ROUND } else { setup.engine.round };
        setup.engine.round = self.round.unwrap_or(round);
        setup.semantics = self.semantics;
        Ok(setup)
    }
}

/// Refuses a flag for what the file of the machines says itself.
fn refuse_said(file: &str, flag: &str, given: bool) -> Result<()> {
    if given { Err(wrong(flag, format!("{file} says this itself; set it there"))) } else { Ok(()) }
}

/// How a file's name ends, compressed or not.
fn ending(path: &Path) -> Option<&str> {
    let packed = path.extension().is_some_and(|ending| ending == "gz");
    let name = if packed { path.file_stem().map(Path::new) } else { Some(path) };
    name?.extension()?.to_str()
}

/// The cluster of a list of nodes.
fn nodes_listed(path: &Path, nodes_per_rack: Option<u32>) -> Result<ClusterSpec, InputError> {
    let place = path.display().to_string();
    let mut source = traces::open_file(path)
        .map_err(|error| InputError::whole(&place, format!("the file cannot be read: {error}")))?;
    let cluster = traces::cluster_from_openb_nodes(&mut source, nodes_per_rack);
    cluster.map_err(|error| error.within(&place))
}

/// The files that belong to a trace.
pub fn sides(throughputs: Option<&Path>) -> Result<Sides> {
    let throughputs = throughputs.map(Throughputs::open).transpose()?;
    Ok(Sides { throughputs: throughputs.map(Arc::new) })
}

/// Says what a reader skipped or changed.
pub fn tell_warnings(trace: &Path, warnings: &Warnings) {
    for (warning, count, line) in warnings.iter() {
        let rows = if count == 1 { "row" } else { "rows" };
        output::note(&format!(
            "{}: {count} {rows} {} (the first in line {line})",
            trace.display(),
            warning.sentence()
        ));
    }
}

/// Refuses a setup whose policy, parameters or parts do not exist. `scenario` is where they were named, if not by
/// flags.
pub fn check(setup: &Setup, scenario: Option<&Path>) -> Result<()> {
    let Err(error) = engine_for(&setup.header(Abilities::default(), "")) else { return Ok(()) };
    let flag = match &error {
        SetupError::Name(name) if name.what == "placer" => "--placer",
        SetupError::Name(name) if name.what == "predictor" => "--predictor",
        SetupError::Name(_) => "--policy",
        SetupError::Parameter { .. } => "--set",
        SetupError::Sharing { .. } => "--sharing",
    };
    Err(wrong(scenario.map_or_else(|| flag.to_owned(), |path| path.display().to_string()), error))
}

/// The policies that were asked for, each once; `all` is every one there is.
pub fn choices(names: &[String], settings: &[(String, String)]) -> Result<Vec<Choice>> {
    let mut choices: Vec<Choice> = Vec::new();
    for name in names {
        let named: Vec<&str> =
            if name == "all" { POLICIES.iter().map(|entry| entry.name).collect() } else { vec![name] };
        for name in named {
            if choices.iter().all(|choice| choice.name != name) {
                choices.push(Choice::named(name));
            }
        }
    }
    for (key, value) in settings {
        set(&mut choices, key, value)?;
    }
    Ok(choices)
}

/// Gives a parameter to the policy it is for: `fifo.backfill` names one, a plain `backfill` means the only one.
fn set(choices: &mut [Choice], key: &str, value: &str) -> Result<()> {
    let (choice, parameter) = match (key.split_once('.'), choices) {
        (Some((policy, parameter)), choices) => {
            let chosen = choices.iter_mut().find(|choice| choice.name == policy);
            let unknown =
                || wrong("--set", format!("{key}={value} is for `{policy}`, which is not compared"));
            (chosen.ok_or_else(unknown)?, parameter)
        }
        (None, [only]) => (only, key),
        (None, choices) => {
            let first = choices.first().map_or("fifo", |choice| choice.name.as_str());
            let hint = format!("with several policies, say for which: --set {first}.{key}={value}");
            return Err(wrong("--set", hint));
        }
    };
    if choice.parameters.0.insert(parameter.to_owned(), value.to_owned()).is_some() {
        return Err(wrong("--set", format!("{key} is given twice")));
    }
    Ok(())
}

/// One policy, and not `all`.
pub fn only(name: &str, settings: &[(String, String)]) -> Result<Choice> {
    if name == "all" {
        return Err(Wrong(
            "--policy: this takes one policy; `evenhand compare --policy all` runs them all".into(),
        )
        .into());
    }
    let mut choices = choices(&[name.to_owned()], settings)?;
    Ok(choices.remove(0))
}

/// How many runs go on at once.
pub fn threads(asked: Option<u32>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(cores, |asked| asked as usize)
}

/// A word about results that say less than they seem to. A job that its tuner stopped counts as ended well.
pub fn warn_about_unended(summary: &evenhand_report::Summary) {
    let (name, jobs) = (&summary.policy, summary.jobs);
    let unended = jobs.saturating_sub(summary.finished + summary.retired);
    if unended > 0 {
        output::note(&format!("warning: {name}: {unended} of {jobs} jobs did not finish"));
    }
    if summary.out_of_memory > 0 {
        let count = summary.out_of_memory;
        output::note(&format!("warning: {name}: {count} starts beside other jobs ran out of memory"));
    }
    if summary.pairings_unmeasured > 0 {
        let count = summary.pairings_unmeasured;
        output::note(&format!(
            "note: {name}: {count} times a job came beside one with which nobody has measured it; a rule said how they get along"
        ));
    }
}
