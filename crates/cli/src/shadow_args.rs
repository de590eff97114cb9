//! What was typed after `shadow`.

use crate::args::span;
use clap::{Args, ValueEnum};
use evenhand_core::Span;
use std::path::PathBuf;

pub const EXAMPLES: &str = "\
It reads and never writes: any user who may see the jobs of others will do. Leave it running for some days, then ask:
  evenhand shadow slurm --journal cluster.jsonl                 until Ctrl-C; a second start goes on with the same file
  evenhand report cluster.jsonl                                 how fair and how well used the cluster was
  evenhand whatif cluster.jsonl                                 what Evenhand would have made of the same jobs";

/// Arguments of `shadow`.
#[derive(Debug, Args)]
pub struct Shadow {
    /// What runs the jobs
    #[arg(value_enum)]
    pub engine: Engine,
    /// The file in which what is seen is kept
    #[arg(long, value_name = "FILE", default_value = "evenhand-shadow.jsonl")]
    pub journal: PathBuf,
    /// Time between two looks
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s")]
    pub every: Span,
    /// Stop after this time [default: when it is told to]
    #[arg(long = "for", value_name = "TIME", value_parser = span)]
    pub during: Option<Span>,
    /// Only jobs and nodes of this partition of Slurm; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    pub partition: Vec<String>,
    /// The kubeconfig of the cluster [default: KUBECONFIG, ~/.kube/config, or the service account of the pod that this runs in]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// What runs the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// By the commands `squeue` and `scontrol show`
    Slurm,
    /// By lists of nodes and pods
    Kubernetes,
}
