//! What the parts owe each other.

use crate::{
    Cluster, Command, Demand, Drop, Event, Forecast, FreeIndex, GpuId, GpuSet, Grant, Interference, Job,
    JobId, JobSpec, Lease, LeaseId, Plan, Ratio, Record, SaveError, Saved, Sharing, SharingMode, Snapshot,
    Span, TenantId, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// How long a policy may think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Iterations of whatever the policy iterates: the same on every machine.
    pub iterations_max: u64,
    /// A backstop for live use; a plan cut by it depends on the machine. `None` in simulations.
    pub wall: Option<Span>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations_max: 100_000, wall: None }
    }
}

/// Why a policy has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyError {
    /// No plan exists, because of this constraint.
    #[error("no plan satisfies {constraint}")]
    Infeasible {
        /// Its name.
        constraint: String,
    },
    /// The limits were reached before any plan was found.
    #[error("no plan was found within the limits")]
    TimedOut,
    /// The arithmetic broke down.
    #[error("the solver lost its precision in {step}")]
    Numerical {
        /// Where.
        step: String,
    },
}

/// Decides who gets GPUs. A pure function of the snapshot: the object holds parameters only.
pub trait Policy: Send + Sync {
    /// The decision for this snapshot, and for no other.
    fn decide(&self, snapshot: &Snapshot, limits: Limits) -> Result<Plan, PolicyError>;
}

/// Which GPUs each grant gets.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// By the grant's place in the list; a grant seated nowhere is in `dropped`.
    pub seated: Vec<(usize, GpuSet)>,
    /// What does not fit, and why.
    pub dropped: Vec<Drop>,
}

/// Decides which GPUs. Seats grants in order, or drops one with a reason; never changes what was granted.
pub trait Placer: Send + Sync {
    /// Seats these grants in `room`, which holds the GPUs that nobody else keeps; takes them from it.
    fn place(&self, snapshot: &Snapshot, room: &mut FreeIndex, grants: &[Grant]) -> Placement;
    /// How grants of whole GPUs are leased so that guests may come, with the contracts of their jobs; `None`: nobody comes beside anybody.
    fn opens(&self, _snapshot: &Snapshot) -> Option<Opening> {
        None
    }
    /// Seats jobs that have no grant beside others, where every contract is believed to hold. Only where the placer opens grants.
    fn share(&self, _snapshot: &Snapshot, _spare: &[Grant]) -> Vec<Guest> {
        Vec::new()
    }
}

/// How grants of whole GPUs are leased so that guests may come.
#[derive(Clone, Debug, PartialEq)]
pub struct Opening {
    /// How jobs are kept apart.
    pub mode: SharingMode,
    /// By how much guests may slow down the jobs of each tenant.
    pub contracts: BTreeMap<TenantId, Ratio>,
    /// The same for tenants that are not listed.
    pub usual: Ratio,
    /// The same for single jobs, as far as it is less: what the policy says of them ([`Plan::bears`](crate::Plan::bears)).
    pub bears: BTreeMap<JobId, Ratio>,
}

impl Opening {
    /// By how much guests may slow down a job of this tenant; `None`: it is not known whose it is.
    pub fn contract(&self, job: JobId, tenant: Option<TenantId>) -> Ratio {
        let listed = tenant.and_then(|tenant| self.contracts.get(&tenant));
        let contract = listed.copied().unwrap_or(self.usual);
        self.bears.get(&job).copied().filter(|bears| *bears < contract).unwrap_or(contract)
    }

    /// How a job of this tenant is leased.
    pub fn sharing(&self, job: JobId, tenant: TenantId) -> Sharing {
        Sharing::Beside { slowdown_max: self.contract(job, Some(tenant)), mode: self.mode }
    }
}

/// A job without a grant of its own, beside others.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its place in the list of spare grants.
    pub at: usize,
    /// Which GPUs.
    pub gpus: GpuSet,
    /// How it is kept apart from the others.
    pub sharing: Sharing,
}

/// Something observed about a job.
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    /// When.
    pub now: Time,
    /// The job as it is now.
    pub job: &'a Job,
    /// What was observed.
    pub event: &'a Event,
    /// Measured demand, if that was it.
    pub demand: Option<Demand>,
    /// The lease that it is about: as it is now, or as it was when it ended.
    pub lease: Option<&'a Lease>,
    /// When the job was asked to stop, if it was: it works no more since then.
    pub halted: Option<Time>,
    /// The machines, to look up what GPUs those of the lease are.
    pub cluster: &'a Cluster,
}

/// Whose forecasts are out of date after an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Nobody's.
    Nothing,
    /// That of the job observed.
    Job,
    /// Those of the job observed and of all jobs that the predictor takes to be alike.
    Alike,
}

/// Learns how fast jobs run, and says how fast they will.
pub trait Predictor: Send {
    /// Takes note; says what of its beliefs moved. Shown when a lease starts or ends and when a job says how far it is.
    fn observe(&mut self, sample: &Sample<'_>) -> Moved;
    /// Whether the last observation, of `observed`, moved the belief of another job too. Asked after [`Moved::Alike`].
    fn alike(&self, other: &JobSpec, observed: &JobSpec) -> bool {
        other.id == observed.id
    }
    /// Asked when a job arrives, when its belief moved, or when a GPU model joins: not each round.
    fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast>;
    /// What it believes of jobs on one GPU.
    fn interference(&self) -> Arc<dyn Interference>;
    /// All that it has learned, for [`Predictor::load`] of a new one of the same kind: from then on both must say the same of everything.
    fn save(&self) -> Result<Saved, SaveError>;
    /// Learns what another one had learned. After an error it is of no use.
    fn load(&mut self, saved: &Saved) -> Result<(), SaveError>;
}

/// What was measured of one job on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observed {
    /// Where.
    pub gpu: GpuId,
    /// What it asks for.
    pub demand: Demand,
    /// How much slower it runs than alone.
    pub slowdown: Ratio,
}

/// Knows what is measured of jobs that run: the agents of the nodes, or a stand-in. A world that has one tells the engine by
/// [`Event::Telemetry`]; nothing else reads it.
pub trait MetricRepository {
    /// What was last measured of a job, GPU by GPU; empty if it does not run or nothing measures it.
    fn observed(&self, job: JobId) -> Vec<Observed>;
}

/// What a world can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each ability is there or not, and none implies another")]
pub struct Abilities {
    /// Change the GPUs of a running job.
    pub resize: bool,
    /// Put several jobs on one GPU.
    pub share: bool,
    /// Let a job save before it is stopped.
    pub grace: bool,
    /// Ask apps for bids.
    pub bids: bool,
}

/// Why a world cannot go on.
#[derive(Debug, Error)]
pub enum BackendError {
    /// Jobs are left, nothing runs, and nothing will ever happen again.
    #[error("nothing can happen any more, but jobs are left: {jobs}, of which {first} is the first")]
    Stalled {
        /// How many.
        jobs: u64,
        /// The first of them.
        first: JobId,
    },
    /// Jobs are started and stopped, and none gets anywhere.
    #[error(
        "in {rounds} rounds no job has made progress, and {jobs} have not ended ({first} is the first): rounds may be \
         shorter than what stopping and starting again costs, or nodes hardly ever up"
    )]
    NoProgress {
        /// For how many rounds.
        rounds: u32,
        /// How many jobs are left.
        jobs: u64,
        /// The first of them.
        first: JobId,
    },
    /// Decision follows decision, and time stands still.
    #[error(
        "time stands still at {:.3} s: {rounds} decisions were made at this moment, and there is no end to it; the policy \
         may be stopping jobs for others and those for them in turn",
        at.seconds()
    )]
    Restless {
        /// When.
        at: Time,
        /// How many decisions.
        rounds: u32,
    },
    /// The operating system or an outside service failed.
    #[error("{doing} failed: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What came back.
        source: std::io::Error,
    },
    /// The ledger could not be written.
    #[error("the ledger could not be written: {0}")]
    Ledger(std::io::Error),
    /// A GPU was given away while another lease holds it.
    #[error("{gpu} is given to {lease} while another lease holds it")]
    TakenTwice {
        /// Which GPU.
        gpu: GpuId,
        /// The lease that came second.
        lease: LeaseId,
    },
}

/// A world: simulated or real. The only place that knows a clock.
pub trait Backend {
    /// What it can do.
    fn abilities(&self) -> Abilities;
    /// The next thing that happens, in the order of time; `None` when nothing is left to happen.
    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError>;
    /// Carries a command out. The same command twice has the effect of one.
    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError>;
}

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// GPU-hours.
    GpuHours,
    /// A plain number.
    Count,
    /// 0 to 1.
    Fraction,
    /// A ratio around 1.
    Ratio,
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is better.
    Up,
    /// Less is better.
    Down,
    /// Neither.
    Neutral,
}

/// One number with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Its fixed name in JSON.
    pub name: &'static str,
    /// The number; NaN if there is nothing to measure.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
}

/// Some numbers, folded from the ledger.
pub trait Metric: Send {
    /// Takes one record in, in the order of the ledger.
    fn take(&mut self, record: &Record);
    /// What it comes to so far.
    fn readings(&self) -> Vec<Reading>;
}
