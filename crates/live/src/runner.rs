//! What runs jobs: processes on this machine, and one day Slurm or Kubernetes.
//!
//! A runner starts and stops the jobs of leases and says what became of them when it is asked to look. It neither decides nor waits:
//! whatever happens by itself, it tells by [`Mail::Look`], and the world then looks.
//!
//! [`Mail::Look`]: crate::Mail::Look

use crate::program::Program;
use evenhand_core::{Abilities, EndCause, JobId, JobSpec, Lease, LeaseId, Outcome, Retry, Span, Work};
use std::sync::Arc;

/// A job that has been submitted and has not ended.
#[derive(Clone, Debug)]
pub struct LiveJob {
    /// What was asked for.
    pub spec: Arc<JobSpec>,
    /// What it runs.
    pub program: Arc<Program>,
    /// The system user as whom it runs; whoever runs the service if nobody is named.
    pub user: Option<Arc<str>>,
}

/// How the processes of a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The program was run and exited with 0.
    Done,
    /// It exited in another way after it was told to leave, for this cause.
    Left(EndCause),
    /// It exited in another way by itself.
    Crashed,
    /// It could not be run at all.
    NotLaunched(Retry),
    /// Its machine went down with it.
    Lost,
}

/// What is known of a lease now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The program was run.
    pub started: bool,
    /// Nothing of it runs any more.
    pub ended: Option<Ending>,
    /// Look again so much later: something is on its way that nobody tells.
    pub again: Option<Span>,
}

/// Starts and stops the jobs of leases. Every call may be repeated and then has the effect of one.
pub trait Runner: Send {
    /// What it can do.
    fn abilities(&self) -> Abilities;
    /// A job is there that may be started from now on, new or from before a restart. Whoever runs jobs of an engine outside remembers what
    /// it is called there.
    fn admit(&mut self, _job: &LiveJob) {}
    /// Begins to start a lease. What comes of it is seen by looking.
    fn start(&mut self, lease: &Lease, job: &LiveJob);
    /// Takes over a lease that an earlier server started, if there is a trace of it.
    fn adopt(&mut self, lease: LeaseId) -> bool;
    /// Tells a lease to save and leave within this time; a shorter time replaces a longer one.
    fn stop(&mut self, lease: LeaseId, cause: EndCause, grace: Span);
    /// What is known of a lease.
    fn look(&mut self, lease: LeaseId) -> Seen;
    /// How far a job is, as it says itself.
    fn steps(&self, job: JobId) -> Work;
    /// The end of a lease is recorded for good: nothing about it need be kept.
    fn clear(&mut self, lease: LeaseId);
    /// A job has ended: forget what is kept between its leases.
    fn end(&mut self, job: JobId, outcome: Outcome);
    /// Clears away what was left behind by leases that are not among these.
    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool);
}
