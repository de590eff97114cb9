//! What the metrics are told: the ledger's lines with the names looked up and the waiting times measured.
//!
//! A record names a lease by number; almost every metric wants to know whose it was, how many GPUs it held and
//! since when. The [`Book`](crate::book::Book) finds that out once for all of them.

use evenhand_core::{
    Decision, Demand, GpuCount, GpuSet, GpuTime, JobId, JobSpec, ModelIndex, Outcome, Ratio, Span,
    StopReason, TenantId, Time,
};
use std::sync::Arc;

/// One thing that a record says. Facts of one record come in the order event, commands, decision.
#[derive(Debug)]
pub enum Fact<'a> {
    /// Time has passed, and nothing in the book changed meanwhile. Told before anything else of a record, and only
    /// from the first submission on.
    Elapsed {
        /// From then.
        from: Time,
        /// Until then: later than `from`.
        to: Time,
    },
    /// A tenant appears, or its weight or its limit changes.
    TenantChanged(TenantId),
    /// A job was submitted; told once for each.
    Submitted {
        /// What it asks for.
        spec: &'a JobSpec,
        /// Whether it can run somewhere.
        runs: bool,
    },
    /// A job was given GPUs for the first time, after this long.
    FirstStart(Span),
    /// The world was asked to stop a lease; told once for each.
    Stopped(StopReason),
    /// A lease has taken GPUs: it begins, or goes on with others.
    Taken(&'a Held),
    /// A lease has given GPUs back: it has ended, could not be launched, or goes on with others.
    Freed {
        /// The lease as it was.
        held: &'a Held,
        /// Until then.
        until: Time,
        /// GPU-time of work that was done and did not survive.
        lost: GpuTime,
    },
    /// A job has ended; told once for each.
    Ended {
        /// How.
        outcome: Outcome,
        /// What it asked for.
        spec: &'a JobSpec,
        /// Whether it could run somewhere.
        runs: bool,
        /// What its work would have taken alone on the reference GPU model; zero if unknown.
        alone: Span,
    },
    /// A job ran out of memory beside others.
    OutOfMemory,
    /// A job was measured.
    Measured {
        /// Which.
        job: JobId,
        /// What it asks of its GPUs.
        demand: &'a Demand,
        /// How much slower it is than alone, if others may be on its GPUs.
        slowdown: Option<Ratio>,
    },
    /// A decision was taken.
    Decided(&'a Decision),
}

/// GPUs that a lease holds, from its `Start` command until the event that frees them.
#[derive(Debug)]
pub struct Held {
    /// Whose lease.
    pub job: JobId,
    /// What the job asked for.
    pub spec: Arc<JobSpec>,
    /// Which GPUs.
    pub gpus: GpuSet,
    /// How many of each GPU model.
    pub models: Vec<(ModelIndex, GpuCount)>,
    /// Since when.
    pub since: Time,
    /// Whether it was asked to stop.
    pub stopping: bool,
    /// Whether others may be on the same GPUs.
    pub shares: bool,
}

/// The life of a job that finished.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    /// Which job.
    pub job: JobId,
    /// Whether it belonged to an app.
    pub in_app: bool,
    /// Who submitted it.
    pub tenant: TenantId,
    /// The least GPUs it takes.
    pub gang: u32,
    /// When it was submitted.
    pub submitted: Time,
    /// When it ended.
    pub ended: Time,
    /// What it would have taken alone on the reference GPU model; zero if unknown.
    pub alone: Span,
    /// The mean number of active jobs while it was active, itself among them.
    pub active_mean: f64,
}

impl Life {
    /// From submission to end.
    pub fn jct(&self) -> Span {
        self.ended.since(self.submitted)
    }
}
