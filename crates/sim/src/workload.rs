//! Work to be done: who submits what, and when.

use crate::{Recipe, Reports};
use evenhand_core::{App, JobSpec, Span, Tenant, Time};
use std::sync::Arc;

/// One job of a workload.
#[derive(Clone, Debug)]
pub struct SimJob {
    /// When it is submitted.
    pub submit: Time,
    /// What it really is.
    pub truth: Arc<JobSpec>,
    /// When its submitter gives it up, if it has not ended by then.
    pub cancel: Option<Time>,
    /// How it trains, if the trace says.
    pub recipe: Option<Arc<Recipe>>,
}

impl SimJob {
    /// A job that is what its specification says, and is never given up.
    pub fn new(submit: Time, truth: Arc<JobSpec>) -> Self {
        Self { submit, truth, cancel: None, recipe: None }
    }
}

/// Work to be done, in the order of submission, and who submits it.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Jobs in the order of submission; of equals, in the order of the file.
    pub jobs: Vec<SimJob>,
    /// Tenants by number.
    pub tenants: Vec<Tenant>,
    /// Apps by number.
    pub apps: Vec<App>,
    /// What tenants report of their speeds, where that is not the truth.
    pub reports: Reports,
}

impl Workload {
    /// From the first to the last submission.
    pub fn span(&self) -> Span {
        match (self.jobs.first(), self.jobs.last()) {
            (Some(first), Some(last)) => last.submit.since(first.submit),
            _ => Span::ZERO,
        }
    }

    /// Gives every job that says nothing else these costs of stopping and starting again.
    pub fn set_restart(&mut self, restart: evenhand_core::Restart) {
        for job in &mut self.jobs {
            if job.truth.restart == evenhand_core::Restart::default() {
                Arc::make_mut(&mut job.truth).restart = restart;
            }
        }
    }
}
