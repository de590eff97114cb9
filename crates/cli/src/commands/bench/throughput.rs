//! The simulator on generated jobs. Every policy runs in a process of its own, so that its peak memory is its own.

use super::REFERENCE_JOBS_PER_CPU_S;
use crate::bench_args::{BenchOne, BenchSimulate};
use crate::numbers::{count, moment, plain};
use crate::table::{Side, Table};
use crate::{clock, inputs, ledger_file, output};
use anyhow::{Context, Result, bail};
use evenhand_core::Choice;
use evenhand_sim::traces::synthetic::Synthetic;
use evenhand_sim::{ClusterSpec, Run, Setup, simulate};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// One without preemption, decided at events; one that thinks again every six minutes.
const POLICIES: &[&str] = &["fifo", "las"];

/// What one run cost.
#[derive(Serialize, Deserialize)]
pub struct Cost {
    policy: String,
    jobs_per_cpu_s: f64,
    cpu_s: f64,
    peak_rss_mb: f64,
    decisions: u64,
    decide_ms_p50: f64,
    decide_ms_p99: f64,
    ledger_mb: f64,
    finished: u64,
}

/// Runs every policy in a fresh process.
pub fn measure(args: &BenchSimulate) -> Result<Vec<Cost>> {
    let program = std::env::current_exe().context("this program cannot find itself")?;
    let mut costs = Vec::new();
    for policy in POLICIES {
        output::note(&format!("simulating {} jobs on {} GPUs under {policy} ...", args.jobs, args.gpus));
        let numbers = [args.jobs.to_string(), args.gpus.to_string(), args.seed.to_string()];
        let mut child = Command::new(&program);
        child.arg("bench-one").arg(policy).args(numbers).stderr(Stdio::inherit());
        let result = child.output().context("a run could not be begun")?;
        if !result.status.success() {
            bail!("the run under {policy} failed");
        }
        costs.push(serde_json::from_slice(&result.stdout).context("a run did not say what it cost")?);
    }
    Ok(costs)
}

/// A file that goes when it is no longer needed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // If it is gone already, so much the better.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The child: one run, its ledger written to a temporary file, its cost to stdout.
pub fn run_one(args: &BenchOne) -> Result<()> {
    let cluster = ClusterSpec::parse(&format!("v100={}", args.gpus), None, None)?;
    let work = Synthetic { jobs: args.jobs, seed: args.seed, ..Synthetic::default() };
    let workload = Arc::new(work.generate(&cluster));
    let setup = Setup { policy: Choice::named(&args.policy), seed: args.seed, ..Setup::default() };
    inputs::check(&setup, None)?;
    let name = format!("evenhand-bench-{}.jsonl", std::process::id());
    let file = Temporary(std::env::temp_dir().join(name));
    let ledger = ledger_file::create(&file.0);
    let ledger = ledger.with_context(|| format!("{} cannot be written", file.0.display()))?;
    let how = Run { ledger: Some(ledger), ledger_path: None, progress: &|_| {} };
    let finished = simulate(&cluster, &workload, &setup, how)?;
    let summary = finished.report.summary(&finished.costs);
    let bytes = std::fs::metadata(&file.0).map_or(0, |metadata| metadata.len());
    let cpu_s = clock::whole_cpu_s();
    output::say_json(&Cost {
        policy: args.policy.clone(),
        jobs_per_cpu_s: f64::from(args.jobs) / cpu_s,
        cpu_s,
        peak_rss_mb: summary.peak_rss_mb,
        decisions: summary.rounds,
        decide_ms_p50: summary.decide_ms_p50,
        decide_ms_p99: summary.decide_ms_p99,
        ledger_mb: bytes as f64 / 1e6,
        finished: summary.finished,
    })
}

/// For people.
pub fn table(args: &BenchSimulate, costs: &[Cost]) -> String {
    let mut table = Table::new([
        ("policy", Side::Left),
        ("jobs per\nCPU second", Side::Right),
        ("times the\nreference", Side::Right),
        ("CPU", Side::Right),
        ("peak\nmemory", Side::Right),
        ("decisions", Side::Right),
        ("decision\np50", Side::Right),
        ("\np99", Side::Right),
        ("ledger", Side::Right),
    ]);
    for cost in costs {
        table.row([
            cost.policy.clone(),
            count(cost.jobs_per_cpu_s),
            format!("{} x", plain(cost.jobs_per_cpu_s / REFERENCE_JOBS_PER_CPU_S)),
            moment(cost.cpu_s),
            format!("{} MB", plain(cost.peak_rss_mb)),
            count(cost.decisions as f64),
            moment(cost.decide_ms_p50 / 1e3),
            moment(cost.decide_ms_p99 / 1e3),
            format!("{} MB", plain(cost.ledger_mb)),
        ]);
    }
    format!(
        "{} generated jobs (load 0.8) on v100={} in nodes of 8; rounds of 6 min, and a decision at every event.\n\
         Each run in a process of its own: all its CPU time, with making the jobs, the report, and writing the\n\
         ledger to a temporary file, which is then removed.\n\
         Reference: the published Python simulators do about {REFERENCE_JOBS_PER_CPU_S} jobs per CPU second.\n\n{}",
        count(args.jobs.into()),
        args.gpus,
        table.render()
    )
}
