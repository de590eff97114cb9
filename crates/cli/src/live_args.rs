//! What was typed for the live service and its client.

use crate::args::{at_least_one, setting, span};
use clap::{Args, Subcommand};
use evenhand_core::Span;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the server listens unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7117";

pub const SERVE_EXAMPLE: &str = "\
Example, on any machine:
  evenhand serve --fake-gpus v100=4,p100=4
  evenhand submit --gpus 2 -- python train.py      in another terminal
  evenhand queue

Killed at any moment, the server restarts to exactly what it acknowledged; jobs run on meanwhile.";

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct Serve {
    /// The folder for the ledger, jobs and their output [default: evenhand under XDG_STATE_HOME or ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Where to listen; other machines are let in only where tokens were made (see `evenhand token`)
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_ADDRESS)]
    pub listen: SocketAddr,
    /// Speak TLS with this certificate: a PEM file, with those that lead to its CA after it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// GPUs to pretend, to try it anywhere: v100=4,p100=4 [default: the NVIDIA GPUs of this machine]
    #[arg(long, value_name = "MODEL=COUNT,...")]
    pub fake_gpus: Option<String>,
    /// Pretended GPUs in a node [default: 8]
    #[arg(long, value_name = "N", requires = "fake_gpus")]
    pub gpus_per_node: Option<u8>,
    /// Run jobs in Slurm, on its nodes: those that wait in --partition, and those that are submitted here (see docs/slurm.md)
    #[arg(long, conflicts_with = "fake_gpus")]
    pub slurm: bool,
    /// The partition of Slurm in which jobs wait; it is down
    #[arg(long, value_name = "NAME", default_value = "evenhand", requires = "slurm")]
    pub partition: String,
    /// The partition of Slurm in which jobs run; it is up, over the same nodes
    #[arg(long, value_name = "NAME", default_value = "evenhand-run", requires = "slurm")]
    pub run_partition: String,
    /// Time between two looks at Slurm
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "1s", requires = "slurm")]
    pub slurm_poll: Span,
    /// Where to read how busy GPUs are: nvml (the driver of this machine), none, or the address of a Prometheus that has the metrics of
    /// NVIDIA's DCGM exporter [default: nvml with real GPUs of this machine, none otherwise]
    #[arg(long, value_name = "SOURCE")]
    pub gpu_metrics: Option<String>,
    /// Time between two readings of how busy GPUs are
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "15s")]
    pub gpu_metrics_every: Span,
    /// Schedule pods of a Kubernetes cluster instead of running jobs on this machine
    #[arg(long, conflicts_with_all = ["fake_gpus", "gpus_per_node", "slurm"])]
    pub kubernetes: bool,
    /// The kubeconfig of that cluster [default: KUBECONFIG, ~/.kube/config, or the service account of the pod that this runs in]
    #[arg(long, value_name = "FILE", requires = "kubernetes")]
    pub kubeconfig: Option<PathBuf>,
    /// The name by which pods ask for this scheduler; also that of the Lease by which one replica leads
    #[arg(long, value_name = "NAME", default_value = "evenhand", requires = "kubernetes")]
    pub scheduler_name: String,
    /// Who decides (see `evenhand policies`) [default: whoever did before; promise in a new state folder]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// A parameter of the policy; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Who places (see `evenhand placers`) [default: topology]
    #[arg(long, value_name = "NAME")]
    pub placer: Option<String>,
    /// Time between two regular rounds
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s")]
    pub round: Span,
    /// The least time between an early round and the one before it
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    pub early_round: Span,
    /// Time a job has to save when it is stopped
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "30s")]
    pub grace: Span,
    /// Time jobs usually need to write a checkpoint when stopped: what an interruption costs is weighed
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    pub save: Span,
    /// Time jobs usually need to be running again after a stop
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s")]
    pub restore: Span,
    /// How often a job that crashes is tried again
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub retries: u32,
    /// Time before the first of these tries; doubled each time
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s")]
    pub retry_delay: Span,
    /// How large the ledger may grow, in megabytes; then new work is refused [default: as the disk allows]
    #[arg(long, value_name = "MB", value_parser = at_least_one)]
    pub ledger_max: Option<u32>,
    /// Jobs that may wait at most
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub queue_max: u64,
    /// Requests per second that each token may send
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = at_least_one)]
    pub requests_per_second: u32,
    /// Time for which the output and checkpoints of a job are kept after its end
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "7d")]
    pub keep_output: Span,
    /// The system user as whom jobs run whose token names none; needed only where the service runs as root
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Print the OpenAPI document of the service instead, and end
    #[arg(long)]
    pub openapi: bool,
}

/// Which server to talk to.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_field_names, reason = "fields are called as their flags are")]
pub struct Server {
    /// The server, http:// or https:// [default: EVENHAND_SERVER, or else http://127.0.0.1:7117]
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Who you are [default: EVENHAND_TOKEN, or else the token in the state folder of a server of your own]
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// The only CAs to trust for https, in PEM [default: EVENHAND_CA, or else those that this machine trusts]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

pub const TOKEN_EXAMPLE: &str = "\
Examples:
  evenhand token add vision-ci --role tenant --tenant vision
  evenhand token add alice --role tenant --tenant vision --user alice      where the service runs as root
  evenhand token list
  evenhand token rotate vision-ci
  evenhand token revoke vision-ci

A token is shown once, when it is made. Without --server or EVENHAND_SERVER the state folder is changed directly; a server that runs on
it notices at once.";

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token, and print it
    Add(TokenAdd),
    /// List tokens, without their secrets
    List(TokenList),
    /// Make a token useless
    Revoke(TokenNamed),
    /// Give a token a new secret, and print it; the old one is useless from then on
    Rotate(TokenNamed),
}

/// Where tokens are.
#[derive(Debug, Args)]
pub struct TokenPlace {
    /// The state folder of the service [default: as for `serve`]
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    pub state: Option<PathBuf>,
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `token add`.
#[derive(Debug, Args)]
pub struct TokenAdd {
    /// What to call it: letters, digits, - and _
    pub name: String,
    /// What it is for: read-only, tenant, operator or admin
    #[arg(long, value_name = "ROLE")]
    pub role: String,
    /// The tenant whose it is: needed for the role tenant, allowed for read-only
    #[arg(long, value_name = "NAME")]
    pub tenant: Option<String>,
    /// The system user as whom its jobs run, where the service runs as root
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    #[command(flatten)]
    pub place: TokenPlace,
}

/// Arguments of `token list`.
#[derive(Debug, Args)]
pub struct TokenList {
    #[command(flatten)]
    pub place: TokenPlace,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `token revoke` and `token rotate`.
#[derive(Debug, Args)]
pub struct TokenNamed {
    /// What it is called
    pub name: String,
    #[command(flatten)]
    pub place: TokenPlace,
}

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write
    pub file: PathBuf,
    /// The state folder of the service, which may be running [default: as for `serve`]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// A file that `backup` wrote
    pub file: PathBuf,
    /// The state folder to make; it must not have a ledger yet [default: as for `serve`]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
}

/// Arguments of `supervise`.
#[derive(Debug, Args)]
pub struct Supervise {
    /// What the server says
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}
