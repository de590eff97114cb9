//! The commands: one per file.

mod app;
mod audit;
mod backup;
mod bench;
mod cancel;
mod compare;
mod completions;
mod demo;
mod explain;
mod graph;
mod hold;
mod nodes;
mod output;
mod placers;
mod policies;
mod policy;
mod predict;
mod predictors;
mod queue;
mod replay;
mod report;
mod restore;
mod serve;
mod serve_kubernetes;
mod shadow;
mod share;
mod simulate;
mod submit;
mod tenants;
mod token;
mod top;
mod trace;
mod traces;
mod train;
mod whatif;

pub use serve::{ADDRESS_FILE, state_folder};

use crate::args::Command;
use crate::bench_args::Bench;

/// Does what was asked for.
pub fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Policies(args) => policies::run(&args),
        Command::Placers(args) => placers::run(&args),
        Command::Predictors(args) => predictors::run(&args),
        Command::Traces(args) => traces::run(&args),
        Command::Share(args) => share::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Shadow(args) => shadow::run(&args),
        Command::WhatIf(args) => whatif::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Graph(args) => graph::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Train(args) => train::run(&args),
        Command::Bench(Bench::Simulate(args)) => bench::run(&args),
        Command::Bench(Bench::Share(args)) => bench::share::run(&args),
        Command::Bench(Bench::Auction(args)) => bench::auction::run(&args),
        Command::Bench(Bench::Plan(args)) => bench::plan::run(&args),
        Command::Bench(Bench::Predict(args)) => bench::predict::run(&args),
        Command::Bench(Bench::Serve(args)) => bench::serve::run(&args),
        Command::BenchOne(args) => bench::run_one(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Submit(args) => submit::run(&args),
        Command::Queue(args) => queue::run(&args),
        Command::Cancel(args) => cancel::run(&args),
        Command::Output(args) => output::run(&args),
        Command::App(command) => app::run(&command),
        Command::Token(command) => token::run(&command),
        Command::Hold(args) => hold::hold(&args),
        Command::Release(args) => hold::release(&args),
        Command::Nodes(args) => nodes::run(&args),
        Command::Tenants(args) => tenants::run(&args),
        Command::Policy(args) => policy::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Supervise(args) => serve::supervise(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
