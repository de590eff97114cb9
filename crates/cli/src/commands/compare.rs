//! `evenhand compare`: the same work under several policies, side by side.

use crate::args::Compare;
use crate::progress::Progress;
use crate::run_table::{self, Row};
use crate::{failure, inputs, ledger_file, output, promises};
use anyhow::{Context, Result};
use evenhand_core::Choice;
use evenhand_report::Summary;
use evenhand_sim::{Cell, ClusterSpec, Finished, Run, Scenario, Setup, Workload};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All that is to be compared.
pub struct Comparison {
    /// On these machines.
    pub cluster: ClusterSpec,
    /// This work.
    pub workload: Arc<Workload>,
    /// In these ways.
    pub setups: Vec<Setup>,
}

/// Runs that came to their end, and how many did not.
pub struct Compared {
    runs: Vec<(Finished, Summary)>,
    failed: usize,
}

/// Runs them all and says what came of it.
pub fn run(args: &Compare) -> Result<()> {
    let comparison = args.scenario.as_deref().map_or_else(|| typed(args), |path| read(args, path))?;
    let ledgers = args.ledgers.then(|| args.out.join("ledgers"));
    output::make_folder(ledgers.as_deref().unwrap_or(&args.out))?;
    let compared = comparison.run(inputs::threads(args.threads), ledgers.as_deref())?;
    let what = args.scenario.as_ref().or(args.trace.as_ref()).map(|path| path.display().to_string());
    let page = args.out.join("report.html");
    compared.write_page(&page, &format!("Policies compared on {}", what.unwrap_or_default()))?;
    if args.json {
        compared.say_json()?;
        return compared.check();
    }
    compared.say_table()?;
    output::say(&format!("\nreport   {}", page.display()))?;
    if let Some(folder) = ledgers {
        output::say(&format!("ledgers  {}", folder.display()))?;
    }
    compared.check()
}

/// What the flags describe.
fn typed(args: &Compare) -> Result<Comparison> {
    let trace = args.trace.as_deref().context("clap lets no comparison pass without a trace")?;
    let cluster = args.work.cluster()?;
    let base = args.work.setup()?;
    let setups = inputs::choices(&args.policy, &args.set)?;
    let setups = setups.into_iter().map(|policy| Setup { policy, ..base.clone() }).collect();
    let setups = adjusted(args, setups, None)?;
    let workload = args.work.workload(trace, &cluster)?;
    Ok(Comparison { cluster, workload, setups })
}

/// What a scenario describes; flags for policies, seeds, placer and predictor take precedence.
fn read(args: &Compare, path: &Path) -> Result<Comparison> {
    let scenario = Scenario::read(path)?;
    let cluster = scenario.cluster()?;
    let mut setups = scenario.setups()?;
    if args.policy.is_empty() && !args.set.is_empty() {
        let hint =
            format!("{} sets the parameters of its policies; give --policy to set others", path.display());
        return Err(failure::wrong("--set", hint));
    }
    if setups.is_empty() && args.policy.is_empty() {
        let what = "it has no [[policy]] table, and no --policy is given: there is nothing to compare";
        return Err(failure::wrong(path.display(), what));
    }
    if !args.policy.is_empty() {
        let (base, seeds) = (scenario.base()?, scenario.seeds());
        let with = |policy: Choice| {
            let base = &base;
            seeds.iter().map(move |seed| Setup { policy: policy.clone(), seed: *seed, ..base.clone() })
        };
        setups = inputs::choices(&args.policy, &args.set)?.into_iter().flat_map(with).collect();
    }
    let setups = adjusted(args, setups, Some(path))?;
    let workload = Arc::new(scenario.workload(&cluster, 1)?);
    Ok(Comparison { cluster, workload, setups })
}

/// With the seeds, the placer and the predictor of the flags; each run once; checked.
fn adjusted(args: &Compare, setups: Vec<Setup>, scenario: Option<&Path>) -> Result<Vec<Setup>> {
    let mut adjusted: Vec<Setup> = Vec::new();
    for setup in setups {
        let seeds = if args.seeds.is_empty() { vec![setup.seed] } else { args.seeds.clone() };
        for seed in seeds {
            let mut setup = Setup { seed, ..setup.clone() };
            setup.placer = args.placer.as_deref().map_or(setup.placer, Choice::named);
            setup.predictor = args.predictor.as_deref().map_or(setup.predictor, Choice::named);
            setup.use_published_variant();
            if adjusted.iter().all(|known| (known.seed, &known.policy) != (seed, &setup.policy)) {
                adjusted.push(setup);
            }
        }
    }
    let flags = !args.policy.is_empty() || args.placer.is_some() || args.predictor.is_some();
    for setup in &adjusted {
        inputs::check(setup, scenario.filter(|_| !flags))?;
    }
    Ok(adjusted)
}

impl Comparison {
    /// Runs everything, several at a time; keeps ledgers in a folder if there is one.
    pub fn run(&self, threads: usize, ledgers: Option<&Path>) -> Result<Compared> {
        let progress = Progress::new(self.setups.len(), self.workload.jobs.len());
        let tells: Vec<_> = (0..self.setups.len())
            .map(|at| {
                let progress = &progress;
                move |ended: u64| progress.tell(at, ended)
            })
            .collect();
        let cells: Vec<Cell<'_>> = self
            .setups
            .iter()
            .zip(&tells)
            .map(|(setup, tell)| {
                let path = ledgers.map(|folder| ledger_path(folder, setup));
                let open = move || {
                    let ledger = path.as_deref().map(ledger_file::create).transpose()?;
                    let ledger_path = path.as_ref().map(|path| path.display().to_string());
                    Ok(Run { ledger, ledger_path, progress: tell })
                };
                Cell { setup: setup.clone(), open: Box::new(open) }
            })
            .collect();
        let mut runs = Vec::new();
        let results = evenhand_sim::compare(&self.cluster, &self.workload, &cells, threads);
        drop(cells);
        drop(tells);
        drop(progress);
        for (setup, result) in self.setups.iter().zip(results) {
            // One policy that cannot do the work does not take the others' results along.
            let what = || format!("policy {}, seed {}", setup.policy.name, setup.seed);
            let run = match result {
                Ok(run) => run,
                Err(error) if self.setups.len() == 1 => return Err(error).with_context(what),
                Err(error) => {
                    output::note(&format!("error: {}: {error}", what()));
                    continue;
                }
            };
            let summary = promises::told(run.report.summary(&run.costs));
            inputs::warn_about_unended(&summary.policy, summary.jobs, summary.finished);
            runs.push((run, summary));
        }
        let failed = self.setups.len() - runs.len();
        anyhow::ensure!(!runs.is_empty(), "none of {failed} runs came to its end");
        Ok(Compared { runs, failed })
    }
}

impl Compared {
    /// An error if some runs did not come to their end: to be raised when the others have been told of.
    pub fn check(&self) -> Result<()> {
        anyhow::ensure!(
            self.failed == 0,
            "{} of {} runs did not come to their end",
            self.failed,
            self.failed + self.runs.len()
        );
        Ok(())
    }

    /// Writes one page about all runs.
    pub fn write_page(&self, path: &Path, title: &str) -> Result<()> {
        let runs: Vec<_> = self.runs.iter().map(|(run, summary)| (&run.report, summary)).collect();
        output::write_file(path, &evenhand_report::html(title, &runs))
    }

    /// Prints the JSON array.
    pub fn say_json(&self) -> Result<()> {
        output::say_json(&self.runs.iter().map(|(_, summary)| summary).collect::<Vec<_>>())
    }

    /// Prints the table and what its words mean.
    pub fn say_table(&self) -> Result<()> {
        let rows: Vec<_> =
            self.runs.iter().map(|(run, summary)| Row { report: &run.report, summary }).collect();
        let best = if output::is_styled() { "in bold" } else { "marked *" };
        output::say(&run_table::comparison(&rows))?;
        output::say(&format!("\nThe best of each column is {best}.\n{}", run_table::LEGEND))?;
        let apps = self.runs.iter().any(|(_, summary)| summary.has_apps);
        if apps { output::say(run_table::APPS_LEGEND) } else { Ok(()) }
    }
}

/// A file name that says which run it is.
fn ledger_path(folder: &Path, setup: &Setup) -> PathBuf {
    let settings = setup.policy.parameters.0.iter().map(|(key, value)| format!("-{key}={value}"));
    let name = format!("{}{}-seed{}", setup.policy.name, settings.collect::<String>(), setup.seed);
    let safe = |c: char| if c.is_ascii_alphanumeric() || "=.-_".contains(c) { c } else { '_' };
    folder.join(format!("{}.jsonl", name.chars().map(safe).collect::<String>()))
}
