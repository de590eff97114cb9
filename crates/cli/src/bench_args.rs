//! What was typed after `bench`.

use crate::args::{setting, span};
use clap::{Args, Subcommand};
use evenhand_core::Span;
use std::path::PathBuf;

/// What to measure.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The simulator on generated jobs, then the cost of a decision with 10,000 jobs on 5,000 nodes
    Simulate(BenchSimulate),
    /// Divisions of a cluster: our methods against a generic solver in the same run
    Share(BenchShare),
    /// Auctions of whole GPUs with payments: who wins what, and what it may keep
    Auction(BenchAuction),
    /// Plans of a window of rounds: time and gap, against an integer program where it can be waited for
    Plan(BenchPlan),
    /// Predictions from graphs: reading, costing, foretelling, and slowdowns of pairs
    Predict(BenchPredict),
    /// The live service under load: submits, lists and explanations with pretended jobs
    Serve(BenchServe),
}

/// Arguments of `bench serve`.
#[derive(Debug, Args)]
pub struct BenchServe {
    /// Jobs that run, on as many GPUs as they take
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub running: u32,
    /// Jobs that wait
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub queued: u32,
    /// GPUs that each takes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub gpus_per_job: u32,
    /// Do not measure, but leave the server up to be looked at until it is ended
    #[arg(long)]
    pub stay: bool,
    /// Clients that submit at the same time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub clients: u32,
    /// Who decides (see `evenhand policies`)
    #[arg(long, value_name = "NAME", default_value = evenhand_policies::DEFAULT_POLICY)]
    pub policy: String,
    /// A parameter of the policy; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Time between two regular rounds
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s")]
    pub round: Span,
    /// The least time between an early round and the one before it
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    pub early_round: Span,
    /// Where to keep the ledger meanwhile: a folder on the disk to measure [default: that for temporary files]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench predict`.
#[derive(Debug, Args)]
pub struct BenchPredict {
    /// Profiles: a folder with graphs/ (see experiments/horus)
    #[arg(value_name = "FOLDER", default_value = "experiments/horus/data")]
    pub profiles: PathBuf,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench share`.
#[derive(Debug, Args)]
pub struct BenchShare {
    /// Parties in the large markets, all with different speedups
    #[arg(long, default_value_t = 10_000, value_parser = parties)]
    pub parties: usize,
    /// Small markets on which our values are compared with those of the generic solver
    #[arg(long, default_value_t = 1_000)]
    pub markets: usize,
    /// Where the markets come from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench auction`.
#[derive(Debug, Args)]
pub struct BenchAuction {
    /// Where the bids come from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench plan`.
#[derive(Debug, Args)]
pub struct BenchPlan {
    /// Where the windows come from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `bench simulate`.
#[derive(Debug, Args)]
pub struct BenchSimulate {
    /// Jobs to generate
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: u32,
    /// GPUs, on nodes of 8
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub gpus: u32,
    /// Where the jobs come from
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
}

/// Arguments of the hidden child of `bench simulate`.
#[derive(Debug, Args)]
pub struct BenchOne {
    /// The policy
    pub policy: String,
    /// Jobs to generate
    pub jobs: u32,
    /// GPUs
    pub gpus: u32,
    /// Where the jobs come from
    pub seed: u64,
}

fn parties(text: &str) -> Result<usize, &'static str> {
    let range = 10..=1_000_000;
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or("a whole number from 10 to 1000000 is expected")
}
