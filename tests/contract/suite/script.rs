//! A tiny cluster and what will happen in it, in words that every world can play.

use evenhand_core::{
    GpuModel, JobId, JobSpec, ModelIndex, Node, NodeId, RackId, Restart, Span, Tenant, TenantId, Time, Work,
};
use std::sync::Arc;

/// A tiny cluster, the jobs that arrive and the nodes that fail. All times count from the start of the world.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// How many nodes, all in one rack and of one GPU model.
    pub nodes: u32,
    /// How many GPUs each has.
    pub gpus_per_node: u8,
    /// The jobs; the place of one in the list is its number.
    pub jobs: Vec<ScriptJob>,
    /// When nodes are gone.
    pub outages: Vec<ScriptOutage>,
}

/// A job as the world, not the engine, knows it.
#[derive(Clone, Copy, Debug)]
pub struct ScriptJob {
    /// When it arrives.
    pub submit_ms: u64,
    /// How many GPUs it takes.
    pub gpus: u32,
    /// How long it runs, all leases together: also its declared work, at one step per second.
    pub run_ms: u64,
    /// It crashes when it has run for so long.
    pub crash_after_ms: Option<u64>,
    /// How long it takes to save when it is told to stop; it saves at no other time than that.
    pub save_ms: u64,
}

/// A stretch of time in which a node is gone.
#[derive(Clone, Copy, Debug)]
pub struct ScriptOutage {
    pub node: u32,
    pub down_ms: u64,
    pub up_ms: u64,
}

impl ScriptJob {
    /// A job for one GPU that arrives at the start, runs for so long and saves at once.
    pub fn running(run: Span) -> Self {
        Self { submit_ms: 0, gpus: 1, run_ms: run.0, crash_after_ms: None, save_ms: 0 }
    }
}

impl Script {
    /// Two nodes of two GPUs, and these jobs.
    pub fn of(jobs: impl IntoIterator<Item = ScriptJob>) -> Self {
        Self { nodes: 2, gpus_per_node: 2, jobs: jobs.into_iter().collect(), outages: Vec::new() }
    }

    pub fn models() -> Vec<GpuModel> {
        vec![GpuModel { name: "pretended".to_owned() }]
    }

    pub fn tenants() -> Vec<Tenant> {
        vec![Tenant::new(TenantId(0), "ann")]
    }

    pub fn node_list(&self) -> Vec<Node> {
        (0..self.nodes)
            .map(|id| Node::new(NodeId(id), RackId(0), ModelIndex(0), self.gpus_per_node))
            .collect()
    }

    /// When each job arrives, what it asks for, and how it behaves.
    pub fn job_list(&self) -> impl Iterator<Item = (Time, Arc<JobSpec>, ScriptJob)> {
        self.jobs.iter().zip(0..).map(|(job, id)| {
            // One step is a second, so a thousandth of a step is a millisecond.
            let mut spec = JobSpec::new(JobId(id), TenantId(0), job.gpus, Some(Work(job.run_ms)));
            spec.restart =
                Restart { save: Span(job.save_ms), restore: Span::ZERO, interval: Span::from_minutes(30) };
            (Time(job.submit_ms), Arc::new(spec), *job)
        })
    }
}
