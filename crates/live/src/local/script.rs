//! What a local world is told at its start: the pretended cluster, and what will happen to it.

use evenhand_core::{GpuModel, JobSpec, Node, NodeId, Tenant, Time};
use std::path::PathBuf;
use std::sync::Arc;

/// The pretended cluster, the jobs that will arrive and the nodes that will fail.
#[derive(Clone, Debug, Default)]
pub struct LocalScript {
    /// GPU models, in the order of their index.
    pub models: Vec<GpuModel>,
    /// Whom fairness is between.
    pub tenants: Vec<Tenant>,
    /// Pretended nodes; all are this machine.
    pub nodes: Vec<Node>,
    /// Jobs, in any order; of two at one time the first listed arrives first.
    pub jobs: Vec<LocalJob>,
    /// When nodes are gone.
    pub outages: Vec<Outage>,
}

/// A job, when it arrives, and what it runs.
#[derive(Clone, Debug)]
pub struct LocalJob {
    /// When it arrives.
    pub at: Time,
    /// What was asked for.
    pub spec: Arc<JobSpec>,
    /// What it runs.
    pub program: Program,
}

/// A program and its arguments, handed to the operating system as they are: no shell reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to run; a bare name is looked up in `PATH`.
    pub path: PathBuf,
    /// Its arguments, without its own name.
    pub args: Vec<String>,
}

/// A stretch of time in which a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Which node.
    pub node: NodeId,
    /// When it goes.
    pub down: Time,
    /// When it comes back, if ever.
    pub up: Option<Time>,
}
