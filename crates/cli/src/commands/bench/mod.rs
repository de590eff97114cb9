//! `evenhand bench`: how fast this is, on this machine.

pub mod auction;
mod bids;
pub mod plan;
pub mod predict;
mod scale;
pub mod serve;
pub mod share;
mod stub;
mod throughput;
mod totals;

use crate::bench_args::BenchSimulate;
use crate::output;
use anyhow::Result;
use serde_json::json;

pub use throughput::run_one;

/// Jobs per CPU second of the published Python simulators.
const REFERENCE_JOBS_PER_CPU_S: f64 = 90.0;

/// Measures the simulator, then the cost of a decision at scale.
pub fn run(args: &BenchSimulate) -> Result<()> {
    let runs = throughput::measure(args)?;
    if !args.json {
        output::say(&throughput::table(args, &runs))?;
    }
    let costs = scale::measure()?;
    if args.json {
        return output::say_json(&json!({
            "jobs": args.jobs,
            "gpus": args.gpus,
            "seed": args.seed,
            "reference_jobs_per_cpu_s": REFERENCE_JOBS_PER_CPU_S,
            "simulate": runs,
            "decide": { "jobs": scale::JOBS, "nodes": scale::NODES, "policies": costs },
        }));
    }
    output::say(&scale::table(&costs))
}
