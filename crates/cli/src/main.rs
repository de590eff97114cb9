//! `evenhand`: schedules GPU clusters fairly, in simulation and for real.

mod args;
mod bench_args;
mod client;
mod clock;
mod commands;
mod comparison;
mod division_files;
mod failure;
mod gauges;
mod graph_args;
mod inputs;
mod job_args;
mod job_file;
mod ledger_file;
mod live_args;
mod local_clock;
mod number_table;
mod numbers;
mod ops_args;
mod output;
mod predict_args;
mod progress;
mod promises;
mod run_table;
mod shadow_args;
mod table;
mod trace_args;
mod trust;
mod whatif_args;
mod works;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::exit_code(commands::run(args::Cli::parse().command))
}
