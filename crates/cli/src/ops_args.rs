//! What was typed to look after the live service.

use crate::args::setting;
use crate::live_args::Server;
use clap::{Args, Subcommand};

/// Arguments of `hold` and `release`.
#[derive(Debug, Args)]
pub struct Jobs {
    /// The jobs: numbers or names; an array stands for all its jobs, 17_3 for one of them
    #[arg(required = true, value_name = "JOB")]
    pub jobs: Vec<String>,
    #[command(flatten)]
    pub server: Server,
}

/// Arguments of `nodes`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Nodes {
    /// What to do; nothing: list them
    #[command(subcommand)]
    pub action: Option<NodeAction>,
    #[command(flatten)]
    pub listing: Live,
}

/// Where to ask, and how to print.
#[derive(Clone, Debug, Args)]
pub struct Live {
    #[command(flatten)]
    pub server: Server,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// What to do with a node.
#[derive(Debug, Subcommand)]
pub enum NodeAction {
    /// No new jobs on a node; those on it stay until they end or are stopped
    Drain(OneNode),
    /// A node may be used again
    Return(OneNode),
}

/// One node.
#[derive(Debug, Args)]
pub struct OneNode {
    /// The number of the node
    #[arg(value_name = "NODE")]
    pub node: u32,
    #[command(flatten)]
    pub live: Live,
}

pub const TENANTS_EXAMPLE: &str = "\
Examples:
  evenhand tenants
  evenhand tenants set vision --weight 2
  evenhand tenants set vision --limit v100=4 --guarantee v100=2
  evenhand tenants set interns --group vision --no-limit";

/// Arguments of `tenants`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Tenants {
    /// What to do; nothing: list them
    #[command(subcommand)]
    pub action: Option<TenantAction>,
    #[command(flatten)]
    pub listing: Live,
}

/// What to do with a tenant.
#[derive(Debug, Subcommand)]
pub enum TenantAction {
    /// Change a tenant, or make it; what is not given stays as it is
    Set(SetTenant),
}

/// Arguments of `tenants set`.
#[derive(Debug, Args)]
pub struct SetTenant {
    /// Its name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// How much it counts against the others of its group
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub weight: Option<f64>,
    /// The group it belongs to: another tenant
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// It belongs to no group
    #[arg(long, conflicts_with = "group")]
    pub no_group: bool,
    /// GPUs it may never exceed; models that are not named are not limited
    #[arg(long, value_name = "MODEL=COUNT,...")]
    pub limit: Option<String>,
    /// It may have as many GPUs as there are
    #[arg(long, conflicts_with = "limit")]
    pub no_limit: bool,
    /// GPUs it can always have back
    #[arg(long, value_name = "MODEL=COUNT,...")]
    pub guarantee: Option<String>,
    /// It is guaranteed nothing
    #[arg(long, conflicts_with = "guarantee")]
    pub no_guarantee: bool,
    #[command(flatten)]
    pub live: Live,
}

/// Arguments of `policies`.
#[derive(Debug, Args)]
pub struct Policies {
    /// Ask the service: what it could use, and what it uses now
    #[arg(long)]
    pub live: bool,
    /// The server to ask [default: EVENHAND_SERVER, or else http://127.0.0.1:7117]
    #[arg(long, value_name = "URL", requires = "live")]
    pub server: Option<String>,
    /// Who you are [default: EVENHAND_TOKEN, or else the token in the state folder of a server of your own]
    #[arg(long, value_name = "TOKEN", requires = "live")]
    pub token: Option<String>,
    /// The only CAs to trust for https, in PEM [default: EVENHAND_CA, or else those that this machine trusts]
    #[arg(long, value_name = "FILE", requires = "live")]
    pub ca: Option<std::path::PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

pub const POLICY_EXAMPLE: &str = "\
Examples:
  evenhand policy use las --dry-run     who would start, stop and move, if a round were due now
  evenhand policy use las
  evenhand policy use fifo --set backfill=true";

/// What to do with the policy of the service.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Let another policy decide from now on; no job is lost by it
    #[command(after_help = POLICY_EXAMPLE)]
    Use(UsePolicy),
}

/// Arguments of `policy use`.
#[derive(Debug, Args)]
pub struct UsePolicy {
    /// The policy (see `evenhand policies`)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A parameter of the policy; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Only say what would change
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub live: Live,
}

/// Arguments of `top`.
#[derive(Debug, Args)]
pub struct Top {
    /// Print one picture and leave
    #[arg(long)]
    pub once: bool,
    /// Jobs in each list at most
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = crate::args::at_least_one)]
    pub jobs: u32,
    #[command(flatten)]
    pub server: Server,
}
