//! A comparison: runs of the same work under several policies and seeds, and what came of them.

use crate::progress::Progress;
use crate::run_table::{self, Row};
use crate::works::{Work, Works};
use crate::{inputs, ledger_file, output, promises};
use anyhow::{Context, Result};
use evenhand_core::Reading;
use evenhand_report::{DRAWN_MAX, Report, Summary, TenantRow};
use evenhand_sim::{ClusterSpec, Run, Setup, in_parallel, simulate};
use std::path::{Path, PathBuf};

/// All that is to be compared.
pub struct Comparison {
    /// On these machines.
    pub cluster: ClusterSpec,
    /// This work.
    pub work: Work,
    /// In these ways.
    pub setups: Vec<Setup>,
}

/// Runs that came to their end, and how many did not.
pub struct Compared {
    runs: Vec<Ran>,
    failed: usize,
}

/// One run that came to its end.
struct Ran {
    summary: Summary,
    readings: Vec<Reading>,
    /// All of it, if it is to be drawn. A report takes some megabytes, and there may be hundreds.
    report: Option<Report>,
}

impl Comparison {
    /// Runs everything, several at a time; keeps ledgers in a folder if there is one.
    pub fn run(&self, threads: usize, ledgers: Option<&Path>) -> Result<Compared> {
        let works = Works::new(&self.cluster, &self.work, &self.setups)?;
        let progress = Progress::new(self.setups.len(), works.jobs_count());
        // Seed by seed, so that few workloads are in memory at once.
        let mut order: Vec<usize> = (0..self.setups.len()).collect();
        order.sort_by_key(|at| self.setups[*at].seed);
        let results = in_parallel(order.len(), threads, &|turn| {
            let at = order[turn];
            self.one(at, &works, ledgers, &|ended| progress.tell(at, ended))
        });
        drop(progress);
        let mut results: Vec<_> = order.into_iter().zip(results).collect();
        results.sort_by_key(|(at, _)| *at);
        let mut runs = Vec::new();
        for (at, result) in results {
            // One policy that cannot do the work does not take the others' results along.
            let what = || format!("policy {}, seed {}", self.setups[at].policy.name, self.setups[at].seed);
            match result {
                Ok(run) => {
                    inputs::warn_about_unended(&run.summary);
                    runs.push(run);
                }
                Err(error) if self.setups.len() == 1 => return Err(error).with_context(what),
                Err(error) => output::note(&format!("error: {}: {error}", what())),
            }
        }
        let failed = self.setups.len() - runs.len();
        anyhow::ensure!(!runs.is_empty(), "none of {failed} runs came to its end");
        Ok(Compared { runs, failed })
    }

    fn one(
        &self,
        at: usize,
        works: &Works<'_>,
        ledgers: Option<&Path>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Ran> {
        let setup = &self.setups[at];
        let workload = works.take(setup.seed)?;
        let path = ledgers.map(|folder| ledger_path(folder, setup));
        let ledger = path.as_deref().map(ledger_file::create).transpose();
        let ledger = ledger.map_err(evenhand_sim::RunError::Ledger)?;
        let ledger_path = path.map(|path| path.display().to_string());
        let run = simulate(&self.cluster, &workload, setup, Run { ledger, ledger_path, progress })?;
        let summary = promises::told(run.report.summary(&run.costs));
        let readings = run.report.readings();
        Ok(Ran { summary, readings, report: self.is_drawn(at).then_some(run.report) })
    }

    /// Whether a run is drawn: runs with the first seed, as many as a page has room for.
    fn is_drawn(&self, at: usize) -> bool {
        let seed = self.setups[0].seed;
        let before = self.setups[..at].iter().filter(|setup| setup.seed == seed).count();
        self.setups[at].seed == seed && before < DRAWN_MAX
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

    /// With a run before all others that was not made here.
    pub fn after(mut self, report: Report, summary: Summary) -> Self {
        let readings = report.readings();
        self.runs.insert(0, Ran { summary, readings, report: Some(report) });
        self
    }

    /// What each tenant got in each run that is drawn, in order.
    pub fn tenants(&self) -> Vec<(&str, Vec<TenantRow>)> {
        let drawn = self.runs.iter().filter_map(|run| Some((run, run.report.as_ref()?)));
        drawn.map(|(run, report)| (run.summary.policy.as_str(), report.tenants())).collect()
    }

    /// Writes one page about all runs.
    pub fn write_page(&self, path: &Path, title: &str) -> Result<()> {
        let all: Vec<&Summary> = self.runs.iter().map(|run| &run.summary).collect();
        let drawn: Vec<_> =
            self.runs.iter().filter_map(|run| Some((run.report.as_ref()?, &run.summary))).collect();
        output::write_file(path, &evenhand_report::html_with(title, &all, &drawn))
    }

    /// What is on that page, without its style and script.
    pub fn parts(&self) -> String {
        let all: Vec<&Summary> = self.runs.iter().map(|run| &run.summary).collect();
        let drawn: Vec<_> =
            self.runs.iter().filter_map(|run| Some((run.report.as_ref()?, &run.summary))).collect();
        evenhand_report::body(&all, &drawn)
    }

    /// What came of each run, in order.
    pub fn summaries(&self) -> Vec<&Summary> {
        self.runs.iter().map(|run| &run.summary).collect()
    }

    /// Prints the JSON array.
    pub fn say_json(&self) -> Result<()> {
        output::say_json(&self.runs.iter().map(|run| &run.summary).collect::<Vec<_>>())
    }

    /// Prints the table and what its words mean.
    pub fn say_table(&self) -> Result<()> {
        let rows: Vec<_> =
            self.runs.iter().map(|run| Row { readings: &run.readings, summary: &run.summary }).collect();
        let best = if output::is_styled() { "in bold" } else { "marked *" };
        output::say(&run_table::comparison(&rows))?;
        output::say(&format!("\nThe best of each column is {best}.\n{}", run_table::legend(&rows)))
    }
}

/// A file name that says which run it is.
fn ledger_path(folder: &Path, setup: &Setup) -> PathBuf {
    let settings = setup.policy.parameters.0.iter().map(|(key, value)| format!("-{key}={value}"));
    let name = format!("{}{}-seed{}", setup.policy.name, settings.collect::<String>(), setup.seed);
    let safe = |c: char| if c.is_ascii_alphanumeric() || "=.-_".contains(c) { c } else { '_' };
    folder.join(format!("{}.jsonl", name.chars().map(safe).collect::<String>()))
}
