//! What was typed after `whatif`.

use crate::args::{at_least_one, setting, span};
use crate::live_args;
use clap::Args;
use evenhand_core::Span;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  evenhand whatif --since 7d --policy las                             the last week of the running service
  evenhand whatif ledger.jsonl --policy all                           a ledger
  evenhand whatif cluster.jsonl                                       what `evenhand shadow` saw of another engine
  sacct --allusers --parsable2 --format=JobID,Account,Submit,Start,End,State,ElapsedRaw,AllocTRES > history.txt
  evenhand whatif history.txt --cluster a100=64 --policy promise      Slurm's history, or any other trace";

/// Arguments of `whatif`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhatIf {
    /// The ledger of a run, or with --cluster a trace (see `evenhand traces`) [default: the ledger of the service, copied into
    /// evenhand-ledger.jsonl]
    #[arg(value_name = "FILE")]
    pub history: Option<PathBuf>,
    #[command(flatten)]
    pub server: live_args::Server,
    /// A policy to try, or `all`; may be given several times
    #[arg(long, value_name = "NAME", default_values_t = [evenhand_policies::DEFAULT_POLICY.to_owned()])]
    pub policy: Vec<String>,
    /// A parameter: KEY=VALUE with one policy, POLICY.KEY=VALUE with several; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Only jobs that were submitted in the last so much time of the ledger
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "cluster")]
    pub since: Option<Span>,
    /// The file is a trace, of these machines: v100=32, say, or a TOML file with a cluster table
    #[arg(long, value_name = "CLUSTER", requires = "history")]
    pub cluster: Option<String>,
    /// GPUs in a node of theirs [default: 8]
    #[arg(long, value_name = "N", requires = "cluster")]
    pub gpus_per_node: Option<u8>,
    /// Nodes in a rack of theirs [default: all in one]
    #[arg(long, value_name = "N", value_parser = at_least_one, requires = "cluster")]
    pub nodes_per_rack: Option<u32>,
    /// Time between two regular rounds, with a trace [default: 6m]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "cluster")]
    pub round: Option<Span>,
    /// The policy that comes nearest to who really decided, with a trace: the others are told against it
    #[arg(long = "as", value_name = "NAME", default_value = "fifo")]
    pub really: String,
    /// Runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<u32>,
    /// The folder for report.html
    #[arg(long, value_name = "DIR", default_value = "evenhand-whatif")]
    pub out: PathBuf,
    /// Print one JSON array instead of a table and a summary
    #[arg(long)]
    pub json: bool,
    /// For programs: give way to others, tell how far it is, and write parts.html and told.txt into the folder
    #[arg(long, hide = true)]
    pub parts: bool,
}
