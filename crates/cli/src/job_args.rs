//! What was typed to submit jobs to the live service, and to look at and end them.

use crate::args::{at_least_one, variable};
use crate::live_args::Server;
use clap::{Args, Subcommand};
use std::path::PathBuf;

pub const SUBMIT_EXAMPLE: &str = "\
Examples:
  evenhand submit --gpus 2 -- python train.py --lr 0.1
  evenhand submit job.toml
  evenhand submit --name sweep --array 0-99%4 -- sh -c 'python train.py --seed $EVENHAND_ARRAY_INDEX'
  evenhand submit --after prepare --deadline 6h -- python train.py
  evenhand submit --dry-run job.toml

  job.toml:  name = \"resnet\"                  job.yaml:  name: resnet
             gpus = 2                                    gpus: 2
             argv = [\"python\", \"train.py\"]               argv: [python, train.py]

Several files are taken together, all or none; one may wait for an earlier one by its name (after = [\"resnet\"]).

A job finds its GPUs in CUDA_VISIBLE_DEVICES, and a folder for checkpoints in EVENHAND_CHECKPOINT_DIR. Told to stop (SIGTERM), it
should save and exit with 75; it is started again later with EVENHAND_RESUME=1.";

/// Arguments of `submit`.
#[derive(Debug, Args)]
pub struct Submit {
    /// TOML or YAML files that describe a job each; flags that are given count instead of what they say
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// GPUs it takes, all at once [default: 1]
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub gpus: Option<u32>,
    /// What to call it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Whose it is [default: default]
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// A GPU model that will do; may be given several times [default: any]
    #[arg(long, value_name = "NAME")]
    pub model: Vec<String>,
    /// More urgent is larger [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// Steps until it is finished, if that is known
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub steps: Option<f64>,
    /// Steps per second on these GPUs [default: 1]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub steps_per_second: Option<f64>,
    /// One job for each of these indices, told to it in EVENHAND_ARRAY_INDEX: 0-9, 1,3,5-7, 0-15:4, or 0-99%4 for four at a
    /// time
    #[arg(long, value_name = "INDICES")]
    pub array: Option<String>,
    /// Jobs that must have ended well first, by number or name; it is cancelled if one of them does not
    #[arg(long, value_name = "JOB,...", value_delimiter = ',')]
    pub after: Vec<String>,
    /// Jobs that must have ended first, well or not
    #[arg(long, value_name = "JOB,...", value_delimiter = ',')]
    pub after_any: Vec<String>,
    /// The app it is one of the jobs of; made if there is none of this name
    #[arg(long, value_name = "NAME")]
    pub app: Option<String>,
    /// Wanted by then: 2h from now, or a date such as 2030-01-31T18:00:00Z. No policy goes by it
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// A variable for it; may be given several times. PATH is that of this shell
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Where it runs [default: here]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Only say what would come of it now: who would start, wait, or be stopped
    #[arg(long, conflicts_with = "key")]
    pub dry_run: bool,
    /// Your own name for this submission: the same again is the same one
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    #[command(flatten)]
    pub server: Server,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// The program and its arguments, after --
    #[arg(last = true, value_name = "PROGRAM")]
    pub argv: Vec<String>,
}

/// Arguments of `queue`.
#[derive(Debug, Args)]
pub struct Queue {
    /// Only jobs in this phase: queued, held, starting, running, stopping, finished, failed, cancelled, retired; several with
    /// commas [default: those that have not ended]
    #[arg(long, value_name = "PHASE,...")]
    pub phase: Option<String>,
    /// Ended jobs too
    #[arg(long, conflicts_with = "phase")]
    pub all: bool,
    /// Only jobs of this tenant
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// Only jobs of this array, by number or name
    #[arg(long, value_name = "ARRAY")]
    pub array: Option<String>,
    /// Only jobs of this app
    #[arg(long, value_name = "NAME")]
    pub app: Option<String>,
    /// Only jobs after this number
    #[arg(long, value_name = "JOB")]
    pub after: Option<u64>,
    /// Jobs at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub limit: u32,
    #[command(flatten)]
    pub server: Server,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `cancel`.
#[derive(Debug, Args)]
pub struct Cancel {
    /// The jobs: numbers or names; an array stands for all its jobs, 17_3 for one of them
    #[arg(required = true, value_name = "JOB")]
    pub jobs: Vec<String>,
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `output`.
#[derive(Debug, Args)]
pub struct Output {
    /// The job: its number or its name, or 17_3 for one of an array
    #[arg(value_name = "JOB")]
    pub job: String,
    /// Go on until the job has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Bytes of what it printed before, at most
    #[arg(long, value_name = "N", default_value_t = 65_536)]
    pub bytes: u64,
    #[command(flatten)]
    pub server: Server,
}

/// What to do with apps.
#[derive(Debug, Subcommand)]
pub enum App {
    /// List apps that are open
    List(AppList),
    /// End an app, and what is left of its jobs
    Close(AppNamed),
}

/// Arguments of `app list`.
#[derive(Debug, Args)]
pub struct AppList {
    /// Closed ones too
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub server: Server,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `app close`.
#[derive(Debug, Args)]
pub struct AppNamed {
    /// The app: its name or its number
    #[arg(value_name = "APP")]
    pub app: String,
    #[command(flatten)]
    pub server: Server,
}
