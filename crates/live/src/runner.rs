//! What runs jobs: processes on this machine, or an engine outside.
//!
//! A runner starts and stops the jobs of leases and says what became of them when it is asked to look. It neither decides nor waits:
//! whatever happens by itself, it tells by [`Mail::Look`], and the world then looks.
//!
//! [`Mail::Look`]: crate::Mail::Look

use crate::gauges::GpuName;
use crate::program::Program;
use evenhand_core::{
    Abilities, EndCause, JobId, JobSpec, Lease, LeaseId, Loss, Node, Outcome, Retry, Span, Work,
};
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

/// What a job says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// Work done, saved or not.
    pub done: Work,
    /// Its loss.
    pub loss: Option<Loss>,
    /// Its batch size, and the work that was done when that came into force.
    pub batch: Option<(u32, Work)>,
}

/// Starts and stops the jobs of leases. Every call may be repeated and then has the effect of one.
pub trait Runner: Send {
    /// What it can do.
    fn abilities(&self) -> Abilities;
    /// Why it runs nothing but what it finds in its engine, if that is so: programs that are handed in here are refused with these words.
    fn runs_no_programs(&self) -> Option<&'static str> {
        None
    }
    /// Which jobs there are is told anew from here on.
    fn forget(&mut self) {}
    /// All that was there before is told: whoever watches an engine outside may act on what it sees there from now on.
    fn begin(&mut self) {}
    /// A node is there, new, changed or from before a restart. Whoever runs jobs in an engine outside remembers what it is called there.
    fn learn(&mut self, _node: &Node) {}
    /// A job is there that may be started from now on, new or from before a restart. Whoever runs jobs of an engine outside remembers what
    /// it is called there.
    fn admit(&mut self, _job: &LiveJob) {}
    /// Begins to start a lease. What comes of it is seen by looking.
    fn start(&mut self, lease: &Lease, job: &LiveJob);
    /// Takes over a lease that an earlier server started, if there is a trace of it.
    fn adopt(&mut self, lease: &Lease) -> bool;
    /// Tells a lease to save and leave within this time; a shorter time replaces a longer one.
    fn stop(&mut self, lease: LeaseId, cause: EndCause, grace: Span);
    /// What is known of a lease.
    fn look(&mut self, lease: LeaseId) -> Seen;
    /// The names by which each GPU of a lease may be known to whoever measures them; nothing if that is not known.
    fn gpu_names(&self, _lease: &Lease) -> Vec<Vec<GpuName>> {
        Vec::new()
    }
    /// How far a job is, as its checkpoint says: what it would go on from. `None` if it need not say, and what it does cannot be seen.
    fn steps(&self, job: JobId) -> Option<Work>;
    /// What a job says of itself between checkpoints, if it does, in this lease.
    fn report(&self, _lease: LeaseId, _job: JobId) -> Option<Report> {
        None
    }
    /// The end of a lease is recorded for good: nothing about it need be kept.
    fn clear(&mut self, lease: LeaseId);
    /// A job has ended: forget what is kept between its leases.
    fn end(&mut self, job: JobId, outcome: Outcome);
    /// Clears away what was left behind by leases that are not among these.
    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool);
}
