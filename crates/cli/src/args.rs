//! What was typed.

use crate::bench_args::{Bench, BenchOne};
use crate::graph_args;
use crate::job_args;
use crate::live_args;
use crate::ops_args;
use crate::predict_args;
use crate::trace_args::Trace;
use clap::{Args, Parser, Subcommand};
use evenhand_core::Span;
use evenhand_sim::Semantics;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  evenhand demo                                         see every policy on a built-in workload
  evenhand simulate --trace jobs.csv --cluster v100=32  simulate your own work
  evenhand compare scenarios/twenty.toml                compare policies on one scenario
  evenhand report evenhand-out/ledger.jsonl             what happened in a run
  evenhand explain 17 --ledger evenhand-out/ledger.jsonl
                                                        why job 17 ran when it did
  evenhand replay evenhand-out/ledger.jsonl             check that every decision can be repeated
  evenhand policies                                     what there is to choose from
  evenhand audit --speedups w.csv --capacity 8,8 --shares x.csv
                                                        which fairness properties a division has
  evenhand trace inspect jobs.csv                       what a trace holds
  evenhand trace generate --profile philly -o jobs.csv  make one up from published statistics
  evenhand graph model.onnx --batch 64                  what a training step of a model costs
  evenhand predict model.onnx --batch 64 --with other.onnx:32   what it asks of a GPU, beside another
  evenhand serve --fake-gpus v100=4                     run jobs for real, on this machine
  evenhand submit --gpus 2 -- python train.py           hand it a job

Exit codes: 0 done, 1 the work failed, 2 the input was wrong.";

/// Divides GPU clusters fairly among the jobs and tenants that want them.
#[derive(Debug, Parser)]
#[command(name = "evenhand", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate a built-in workload under every policy and compare them
    Demo(Demo),
    /// Simulate a trace under one policy; write its ledger and a report
    Simulate(Simulate),
    /// Simulate the same work under several policies and compare them
    Compare(Compare),
    /// List the policies: papers, parameters, promises
    Policies(ops_args::Policies),
    /// List the placers
    Placers(Listing),
    /// List the predictors: whose speeds are believed
    Predictors(Listing),
    /// List the trace formats and the columns of the native one
    Traces(Listing),
    /// Divide a cluster once by a policy, without jobs: shares, throughputs, prices, certificate
    #[command(after_help = SHARE_EXAMPLE)]
    Share(Share),
    /// Say which fairness properties a division of the cluster has, and who suffers most where it has not
    #[command(after_help = AUDIT_EXAMPLE)]
    Audit(Audit),
    /// Look at a trace, convert it, or make one up
    #[command(subcommand)]
    Trace(Trace),
    /// Fold a ledger into metrics and a page
    Report(Report),
    /// Say why a job ran when it did, and why it waited
    Explain(Explain),
    /// Run your own history again under other policies: what a ledger recorded, with the times that jobs really took
    #[command(name = "whatif")]
    WhatIf(crate::whatif_args::WhatIf),
    /// Watch a Slurm or Kubernetes cluster without touching it, to see what Evenhand would have done there
    #[command(after_help = crate::shadow_args::EXAMPLES)]
    Shadow(crate::shadow_args::Shadow),
    /// Feed a ledger back and check that every decision is the same
    Replay(Replay),
    /// Say what a training step of an ONNX model computes, moves and keeps, and how long it takes at least
    #[command(after_help = graph_args::EXAMPLE)]
    Graph(graph_args::Graph),
    /// Predict what a training job asks of a GPU from its ONNX graph, and how it gets on beside others
    #[command(after_help = predict_args::EXAMPLE)]
    Predict(predict_args::Predict),
    /// Fit what `predict` says to measured profiles, and say how good it is on unseen ones
    Train(predict_args::Train),
    /// Measure how fast Evenhand is on this machine
    #[command(subcommand)]
    Bench(Bench),
    /// Run the scheduler as a service on this machine
    #[command(after_help = live_args::SERVE_EXAMPLE)]
    Serve(live_args::Serve),
    /// Hand a job to the service, or many
    #[command(after_help = job_args::SUBMIT_EXAMPLE)]
    Submit(job_args::Submit),
    /// List the jobs of the service
    Queue(job_args::Queue),
    /// End jobs of the service
    Cancel(job_args::Cancel),
    /// Print what a job of the service printed
    #[command(visible_alias = "logs")]
    Output(job_args::Output),
    /// List the apps of the service, or end one
    #[command(subcommand)]
    App(job_args::App),
    /// Say who may use the service, and for what
    #[command(subcommand, after_help = live_args::TOKEN_EXAMPLE)]
    Token(live_args::Token),
    /// Keep jobs of the service from running, or stop them, until they are released
    Hold(ops_args::Jobs),
    /// Let jobs go on that are held
    Release(ops_args::Jobs),
    /// List the machines of the service; empty one for repair, take it back
    Nodes(ops_args::Nodes),
    /// List the tenants of the service with what they hold; change weights, groups, limits, guarantees
    #[command(after_help = ops_args::TENANTS_EXAMPLE)]
    Tenants(ops_args::Tenants),
    /// Let another policy decide for the service, or see what it would change
    #[command(subcommand)]
    Policy(ops_args::Policy),
    /// Watch the service: GPUs, who runs, who waits and why, shares
    Top(ops_args::Top),
    /// Copy the store of the service, also while it runs
    Backup(live_args::Backup),
    /// Make a state folder from such a copy
    Restore(live_args::Restore),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Stays with a job of the service; not for people
    #[command(hide = true)]
    Supervise(live_args::Supervise),
    /// One run of a benchmark, in a process of its own
    #[command(hide = true)]
    BenchOne(BenchOne),
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Where chance comes from; the same seed gives the same results
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder for report.html
    #[arg(long, value_name = "DIR", default_value = "evenhand-demo")]
    pub out: PathBuf,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<u32>,
}

/// The work and the machines.
#[derive(Debug, Args)]
pub struct Work {
    /// The machines: v100=32, or v100=36,p100=36,k80=36, or a TOML file with a cluster table, or a list of nodes as Alibaba
    /// publishes it with the openb trace (CSV, may be compressed)
    #[arg(long, value_name = "CLUSTER")]
    pub cluster: Option<String>,
    /// GPUs in a node [default: 8]
    #[arg(long, value_name = "N")]
    pub gpus_per_node: Option<u8>,
    /// Nodes in a rack [default: all in one]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub nodes_per_rack: Option<u32>,
    /// The table of throughputs that belongs to a Gavel or Shockwave trace
    #[arg(long, value_name = "FILE")]
    pub throughputs: Option<PathBuf>,
    /// Whose rules of time: ours (exact finish times), or those of the published simulators (everything happens at the ends
    /// of rounds; policies in their published variants)
    #[arg(long, value_name = "RULES", default_value = "exact", value_parser = semantics)]
    pub semantics: Semantics,
    /// Time between two regular rounds, such as 90s, 6m or 1h [default: 6m; original semantics: 120s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub round: Option<Span>,
    /// Time a job needs to be running again after a stop, unless the trace says so [default: 0s; original
    /// semantics: 20s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub restore: Option<Span>,
    /// Time a job needs to write a checkpoint when stopped, unless the trace says so [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub save: Option<Span>,
    /// Time between the checkpoints a job writes by itself, unless the trace says so [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub checkpoint: Option<Span>,
    /// Let a tenant report a multiple of its true speed on a GPU model, such as vision:v100=0.5; may be given several times
    #[arg(long, value_name = "TENANT:MODEL=FACTOR", value_parser = evenhand_sim::parse_report)]
    pub lie: Vec<(String, String, f64)>,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct Simulate {
    /// The work: a trace file (see `evenhand traces`)
    #[arg(long, value_name = "FILE")]
    pub trace: PathBuf,
    #[command(flatten)]
    pub work: Work,
    /// Who decides (see `evenhand policies`)
    #[arg(long, value_name = "NAME", default_value = evenhand_policies::DEFAULT_POLICY)]
    pub policy: String,
    /// A parameter of the policy; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Who places (see `evenhand placers`) [default: topology]
    #[arg(long, value_name = "NAME")]
    pub placer: Option<String>,
    /// Whose speeds are believed (see `evenhand predictors`) [default: declared]
    #[arg(long, value_name = "NAME")]
    pub predictor: Option<String>,
    /// Whose slowdowns on shared GPUs are believed: rule, learned, or a model file of `evenhand train` [default: rule]
    #[arg(long, value_name = "NAME|FILE")]
    pub sharing: Option<String>,
    /// Where chance comes from; the same seed gives the same results
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder for ledger.jsonl and report.html
    #[arg(long, value_name = "DIR", default_value = "evenhand-out")]
    pub out: PathBuf,
    /// Keep no ledger, only the report
    #[arg(long)]
    pub no_ledger: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// A TOML file with cluster, workload and policies; or give --trace and --cluster
    #[arg(value_name = "SCENARIO.toml", conflicts_with_all = [
        "trace", "throughputs", "semantics", "cluster", "gpus_per_node", "nodes_per_rack", "round", "restore", "save", "checkpoint", "lie",
    ])]
    pub scenario: Option<PathBuf>,
    /// The work: a trace file (see `evenhand traces`)
    #[arg(long, value_name = "FILE", required_unless_present = "scenario")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub work: Work,
    /// A policy to compare, or `all`; may be given several times, and replaces those of a scenario
    #[arg(long, value_name = "NAME", required_unless_present = "scenario")]
    pub policy: Vec<String>,
    /// A parameter: KEY=VALUE with one policy, POLICY.KEY=VALUE with several; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Who places (see `evenhand placers`) [default: topology]
    #[arg(long, value_name = "NAME")]
    pub placer: Option<String>,
    /// Whose speeds are believed (see `evenhand predictors`) [default: declared]
    #[arg(long, value_name = "NAME")]
    pub predictor: Option<String>,
    /// Whose slowdowns on shared GPUs are believed: rule, learned, or a model file of `evenhand train` [default: rule]
    #[arg(long, value_name = "NAME|FILE")]
    pub sharing: Option<String>,
    /// Seeds and ranges of seeds, separated by commas, such as 1..20; every policy runs with each, figures are means over
    /// them [default: 1]
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = seeds)]
    pub seeds: Vec<Seeds>,
    /// Runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<u32>,
    /// The folder for report.html
    #[arg(long, value_name = "DIR", default_value = "evenhand-compare")]
    pub out: PathBuf,
    /// Keep the ledger of every run, under DIR/ledgers
    #[arg(long)]
    pub ledgers: bool,
    /// Print one JSON array instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The job: its number or its name; with the service also an array, or 17_3 for one of its jobs
    pub job: String,
    /// The ledger of a run, as `simulate` writes it [default: ask the service]
    #[arg(long, value_name = "LEDGER", conflicts_with = "server")]
    pub ledger: Option<PathBuf>,
    #[command(flatten)]
    pub server: live_args::Server,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// A seed, or a range of them, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    first: u64,
    last: u64,
}

impl Seeds {
    /// Each of them.
    pub fn all(&self) -> std::ops::RangeInclusive<u64> {
        self.first..=self.last
    }
}

/// Arguments of the lists.
#[derive(Debug, Args)]
pub struct Listing {
    /// Print one JSON array instead of text
    #[arg(long)]
    pub json: bool,
}

const AUDIT_EXAMPLE: &str = "\
Example:
  w.csv:  tenant,k80,v100      x.csv:  tenant,k80,v100
          ann,1,2                      ann,1,0.25
          bob,1,5                      bob,0,0.75

  evenhand audit --speedups w.csv --capacity k80=1,v100=1 --shares x.csv

The header and the column of names may be left out; what is named in both files is matched by name.";

/// What is divided, and what each tenant makes of it.
#[derive(Debug, Args)]
pub struct MarketFiles {
    /// How fast each tenant is on each GPU model: a CSV file with a row per tenant and a column per model, all relative to
    /// one model; 0 = it cannot run there
    #[arg(long, value_name = "FILE.csv")]
    pub speedups: PathBuf,
    /// GPUs of each model: 8,8,8 in the order of the columns, or k80=8,v100=8 by name
    #[arg(long, value_name = "GPUS", allow_hyphen_values = true)]
    pub capacity: String,
    /// The weight of each tenant, in the order of the rows [default: 1 each]
    #[arg(long, value_name = "N,...", allow_hyphen_values = true)]
    pub weights: Option<String>,
}

const SHARE_EXAMPLE: &str = "\
Example:
  w.csv:  tenant,k80,v100
          ann,1,2
          bob,1,5

  evenhand share --policy oef-cooperative --speedups w.csv --capacity k80=1,v100=1";

/// Arguments of `share`.
#[derive(Debug, Args)]
pub struct Share {
    /// The policy that divides (see `evenhand policies`)
    #[arg(long, value_name = "NAME")]
    pub policy: String,
    #[command(flatten)]
    pub market: MarketFiles,
    /// A parameter of the policy; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub struct Audit {
    #[command(flatten)]
    pub market: MarketFiles,
    /// GPUs that each tenant has of each model, in the same form as the speedups
    #[arg(long, value_name = "FILE.csv")]
    pub shares: PathBuf,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The ledger of a run [default: that of the service, copied into evenhand-ledger.jsonl]
    pub ledger: Option<PathBuf>,
    #[command(flatten)]
    pub server: live_args::Server,
    /// The page to write [default: beside the ledger, named like it; none with --json]
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// The ledger of a run
    pub ledger: PathBuf,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

fn semantics(text: &str) -> Result<Semantics, String> {
    match text {
        "exact" => Ok(Semantics::Exact),
        "original" => Ok(Semantics::Original),
        _ => Err("it is exact or original".into()),
    }
}

pub fn span(text: &str) -> Result<Span, &'static str> {
    text.parse()
}

pub fn at_least_one(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|number| *number > 0).ok_or("a whole number of at least 1 is expected")
}

fn seeds(text: &str) -> Result<Seeds, &'static str> {
    const MOST: u64 = 10_000;
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let read = |text: &str| text.trim().parse::<u64>().ok();
    let ends = read(first).zip(read(last)).filter(|(first, last)| first <= last && last - first < MOST);
    ends.map(|(first, last)| Seeds { first, last })
        .ok_or("a seed is a whole number, and a range of at most 10000 seeds is written 1..20")
}

pub fn setting(text: &str) -> Result<(String, String), &'static str> {
    let pair = pair(text).ok_or("a parameter is written KEY=VALUE, such as backfill=true")?;
    Ok((pair.0, pair.1.trim().to_owned()))
}

pub fn variable(text: &str) -> Result<(String, String), &'static str> {
    pair(text).ok_or("a variable is written NAME=VALUE, such as SEED=1")
}

/// What is before the first `=`, which has to be something, and what is behind it.
fn pair(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    let key = key.trim();
    (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seeds_may_be_ranges() {
        let all = |text| seeds(text).map(|seeds| seeds.all().collect::<Vec<_>>());
        assert_eq!(all("7"), Ok(vec![7]));
        assert_eq!(all("3..6"), Ok(vec![3, 4, 5, 6]));
        for wrong in ["", "x", "6..3", "1..", "..2", "1..1000000", "-1"] {
            assert!(all(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_argument_has_a_sentence() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments().filter(|argument| argument.get_id() != "help") {
                let name = format!("{} {}", command.get_name(), argument.get_id());
                assert!(argument.get_help().is_some(), "{name} has no help");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
