//! What was typed after `evenhand trace`.

use crate::args::Listing;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// What to do with a trace.
#[derive(Debug, Subcommand)]
pub enum Trace {
    /// Say what a trace holds: counts, spans, distributions, what was skipped and why
    Inspect(TraceInspect),
    /// Write a trace of any known format as a native one
    Convert(TraceConvert),
    /// Make up a trace from the published statistics of a real cluster
    Generate(TraceGenerate),
    /// List the profiles that traces can be generated from
    Profiles(Listing),
}

/// Arguments of `trace inspect`.
#[derive(Debug, Args)]
pub struct TraceInspect {
    /// The trace, compressed or not (see `evenhand traces`)
    pub file: PathBuf,
    /// The table of throughputs that belongs to a Gavel or Shockwave trace
    #[arg(long, value_name = "FILE")]
    pub throughputs: Option<PathBuf>,
    /// Print one JSON document instead of tables and plots
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace convert`.
#[derive(Debug, Args)]
pub struct TraceConvert {
    /// The trace, compressed or not (see `evenhand traces`)
    pub file: PathBuf,
    /// The native trace to write; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
    /// The table of throughputs that belongs to a Gavel or Shockwave trace
    #[arg(long, value_name = "FILE")]
    pub throughputs: Option<PathBuf>,
    /// GPU models to write speeds for, separated by commas; durations are on the first [default: all the trace names]
    #[arg(long, value_name = "MODEL,...", value_delimiter = ',')]
    pub cluster_models: Vec<String>,
}

/// Arguments of `trace generate`.
#[derive(Debug, Args)]
pub struct TraceGenerate {
    /// What the work looks like (see `evenhand trace profiles`)
    #[arg(long, value_name = "NAME")]
    pub profile: String,
    /// How many jobs [default: 10000, or as many as come in --days]
    #[arg(long, value_name = "N")]
    pub jobs: Option<u64>,
    /// With `--profile apps`: how many apps [default: 40]
    #[arg(long, value_name = "N", conflicts_with_all = ["jobs", "days"])]
    pub apps: Option<u32>,
    /// Days from the first submission to the last
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub days: Option<f64>,
    /// GPUs that the work is for: larger gangs are left out
    #[arg(long, value_name = "N")]
    pub gpus: Option<u32>,
    /// GPU-time asked for, over what --gpus have [default: whatever the published rate gives]
    #[arg(long, value_name = "X", requires = "gpus", allow_negative_numbers = true)]
    pub load: Option<f64>,
    /// Where chance comes from; the same seed gives the same trace
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The native trace to write; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub out: PathBuf,
}
