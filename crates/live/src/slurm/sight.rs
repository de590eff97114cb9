//! Watching Slurm: any user who may see all jobs can, with two commands that change nothing.

use super::gres;
use super::jobs::{SlurmJob, State};
use super::nodes::SlurmNode;
use super::tool::{Tool, ToolError};
use super::wanted::shape;
use crate::request::DEFAULT_TENANT;
use crate::shadow::{Eyes, SeenEnd, SeenJob, SeenNode, SeenRun, Sight};
use evenhand_core::Outcome;
use std::path::PathBuf;

/// Looks at a Slurm cluster.
#[derive(Clone, Debug)]
pub struct SlurmEyes {
    tool: Tool,
    /// Only jobs of these partitions; of all if none are named.
    partitions: Vec<String>,
}

impl SlurmEyes {
    /// Eyes for the jobs of these partitions, or of all. `conf` is the configuration of Slurm, if not the one that its commands would find.
    pub fn new(partitions: Vec<String>, conf: Option<PathBuf>) -> Self {
        Self { tool: Tool { home: String::new(), run: String::new(), conf }, partitions }
    }

    fn is_watched<'a>(&self, mut partitions: impl Iterator<Item = &'a str>) -> bool {
        self.partitions.is_empty() || partitions.any(|name| self.partitions.iter().any(|own| own == name))
    }
}

impl Eyes for SlurmEyes {
    fn look(&mut self) -> Result<Sight, String> {
        let (jobs, nodes) = self.tool.look().map_err(|error: ToolError| error.to_string())?;
        let watched = |node: &&SlurmNode| self.is_watched(node.partitions.iter().map(String::as_str));
        let nodes = nodes.iter().filter(watched).map(|node| SeenNode {
            name: node.found.name.clone(),
            model: node.found.model.clone(),
            gpus: node.found.gpus,
        });
        // One that waits may name several partitions.
        let watched = |job: &&SlurmJob| self.is_watched(job.partition.split(','));
        let jobs = jobs.iter().filter(watched).filter_map(seen);
        Ok(Sight { nodes: nodes.collect(), jobs: jobs.collect() })
    }
}

/// A job as it is seen; none if it is not about GPUs.
fn seen(job: &SlurmJob) -> Option<SeenJob> {
    let asked = shape(job).ok();
    let seats = seats(job, asked.as_ref().map(|(_, packet)| *packet));
    let got: u32 = seats.iter().map(|(_, gpus)| u32::from(*gpus)).sum();
    let gpus = asked.as_ref().map_or(got, |(gpus, _)| gpus.count);
    if gpus == 0 {
        return None;
    }
    // Slurm says of a job that waits when it may start, and of one that was cancelled before it could that it started then.
    let has_run = job.state != State::Pending && !seats.is_empty();
    let outcome = match job.state {
        State::Pending | State::Running | State::Completing => None,
        State::Completed => Some(Outcome::Finished),
        State::Cancelled => Some(Outcome::Cancelled),
        State::NodeFailed | State::Failed => Some(Outcome::Failed),
    };
    let ended = outcome.map(|outcome| SeenEnd { at_ms: job.ended_s * 1000, outcome });
    let run = has_run.then(|| SeenRun {
        number: job.restarts,
        started_ms: job.started_s * 1000,
        ended_ms: ended.map(|end| end.at_ms),
        seats,
    });
    let tenant = [&job.account, &job.user].into_iter().find(|name| !name.is_empty());
    Some(SeenJob {
        // The number alone may be given away again by a controller that was set up anew.
        key: format!("{}/{}", job.id, job.submitted_s),
        name: job.name.clone(),
        tenant: tenant.map_or_else(|| DEFAULT_TENANT.to_owned(), Clone::clone),
        gpus,
        model: asked.as_ref().and_then(|(gpus, _)| gpus.model.clone()),
        packet: asked.map(|(_, packet)| packet),
        submitted_ms: job.submitted_s * 1000,
        run,
        ended,
    })
}

/// The GPUs that it has or had on each node: as Slurm says, or else as it asked.
fn seats(job: &SlurmJob, packet: Option<u8>) -> Vec<(String, u8)> {
    let told: Option<Vec<u8>> = job
        .gpus_on
        .iter()
        .map(|list| u8::try_from(gres::parse(list).ok()?.count).ok())
        .collect::<Option<Vec<u8>>>()
        .filter(|told| told.len() == job.nodes.len());
    match (told, packet) {
        (Some(told), _) => job.nodes.iter().cloned().zip(told).collect(),
        (None, Some(packet)) => job.nodes.iter().map(|node| (node.clone(), packet)).collect(),
        (None, None) => Vec::new(),
    }
}
