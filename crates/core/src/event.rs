//! What happened, and what should.

use crate::{
    Answer, App, AppId, Choice, Demand, GpuModel, GpuSet, Invitation, JobId, JobSpec, Lease, LeaseId, Loss,
    Node, NodeId, Ratio, Regime, Round, Span, Tenant, Time, Work,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Something that happened in the world. Every outside decision is an event too, or replay would lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A GPU model joins the cluster; it gets the next index.
    ModelAdded(GpuModel),
    /// A tenant appears or its weight, group or quota changes.
    TenantChanged(Tenant),
    /// An app appears.
    AppOpened(App),
    /// An app has reached its goal or given up: what is left of its jobs is retired.
    AppClosed {
        /// Which.
        app: AppId,
        /// The job that its tuner likes best.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        best: Option<JobId>,
    },
    /// A job arrives.
    Submitted(Arc<JobSpec>),
    /// Its submitter wants it gone.
    Cancelled(JobId),
    /// Not to be started until released.
    Held(JobId),
    /// May be started again.
    Released(JobId),
    /// Stopped by its tuner: it counts as ended well.
    Retired(JobId),
    /// A node appears or comes back.
    NodeUp(Node),
    /// A node is gone. Every lease that touches it will be reported as ended.
    NodeDown(NodeId),
    /// Launches keep failing on a node: no new leases there.
    NodeSuspect(NodeId),
    /// An operator empties a node: no new leases there.
    NodeDraining(NodeId),
    /// Another policy decides from now on.
    PolicyChanged(Choice),
    /// The job of a lease runs.
    LeaseStarted(LeaseId),
    /// How far a job is.
    Progress {
        /// Its lease.
        lease: LeaseId,
        /// Work done.
        done: Work,
        /// Work that would survive a failure.
        saved: Work,
        /// The batch size now in force, if it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regime: Option<Regime>,
        /// Time in which the job really worked since it was submitted, if it reports that: without waiting, restarting or
        /// standing idle for others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worked: Option<Span>,
        /// The loss, if the job reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loss: Option<Loss>,
    },
    /// What a job was measured to ask of its GPUs.
    Telemetry {
        /// Its lease.
        lease: LeaseId,
        /// The measurement.
        demand: Demand,
        /// How much slower it runs than alone, if that can be told: on the worst of its GPUs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slowdown: Option<Ratio>,
    },
    /// A lease has ended; its GPUs are free.
    LeaseEnded {
        /// Which.
        lease: LeaseId,
        /// Work done.
        done: Work,
        /// Work that survives.
        saved: Work,
        /// Why.
        cause: EndCause,
    },
    /// A lease could not be started; its GPUs are free.
    LaunchFailed {
        /// Which.
        lease: LeaseId,
        /// Whether trying again may help.
        retry: Retry,
    },
    /// An app answers an offer.
    Bid {
        /// Which app.
        app: AppId,
        /// What each part of the offer is worth to it, or why that cannot be told.
        answer: Answer,
    },
    /// The alarm that the engine asked for.
    RoundDue(Round),
}

/// Why a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// The job is finished.
    Finished {
        /// What the whole job would have taken alone, without a break, on the reference GPU model, if the
        /// world can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alone: Option<Span>,
    },
    /// It was asked to stop.
    Stopped,
    /// It failed by itself.
    Crashed,
    /// It found less GPU memory than it needs, because others were there.
    OutOfMemory,
    /// A node under it was lost.
    NodeLost,
    /// It was not renewed in time: the scheduler was silent.
    Expired,
}

/// Whether a failed launch may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retry {
    /// Yes, elsewhere or later.
    Later,
    /// Yes, after a pause, as often as need be: it was neither the job's fault nor that of its nodes.
    Freely,
    /// No: the job itself cannot be launched.
    Never,
}

/// How a job ended. Every job ends exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All its work is done.
    Finished,
    /// It crashed too often, or could never be launched.
    Failed,
    /// Its submitter wanted it gone.
    Cancelled,
    /// Its tuner stopped it.
    Retired,
}

impl StopReason {
    /// The sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Preempted => "others deserve its GPUs more",
            Self::Moved => "it goes on elsewhere",
            Self::Cancelled => "it was cancelled",
            Self::Held => "it was put on hold",
            Self::Retired => "its tuner gave it up",
        }
    }
}

impl Outcome {
    /// Whether jobs that were to run only after it had ended well may run.
    pub fn is_well(self) -> bool {
        matches!(self, Self::Finished | Self::Retired)
    }

    /// What happened to the job, in words.
    pub fn past(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "was cancelled",
            Self::Retired => "was retired",
        }
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Retired => "retired",
        }
    }
}

/// Something the world should do. Idempotent: the same command twice has the effect of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Run the job on the GPUs of this lease; answer with `LeaseStarted` or `LaunchFailed`.
    Start(Lease),
    /// Same GPUs, later deadline, no restart.
    Renew {
        /// Which.
        lease: LeaseId,
        /// The new deadline.
        expires: Time,
    },
    /// Other GPUs without a stop; only if the world can.
    Resize {
        /// Which.
        lease: LeaseId,
        /// The new GPUs.
        gpus: GpuSet,
    },
    /// Save, then leave; answer with `LeaseEnded`.
    Stop {
        /// Which.
        lease: LeaseId,
        /// Why.
        reason: StopReason,
        /// Time to save in; afterwards the job is killed.
        grace: Span,
    },
    /// The job has ended: forget it.
    End {
        /// Which.
        job: JobId,
        /// How.
        outcome: Outcome,
        /// GPU-time it received in all.
        attained: crate::GpuTime,
    },
    /// Ask apps for bids; answers come as `Bid` events.
    AskForBids(Invitation),
    /// Deliver `RoundDue` then. There is one alarm: a new one replaces the old.
    WakeAt(Time, Round),
}

/// Why a lease is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// Another job deserves the GPUs more.
    Preempted,
    /// The same job continues on other GPUs.
    Moved,
    /// The job was cancelled.
    Cancelled,
    /// The job was put on hold.
    Held,
    /// Its tuner stopped it.
    Retired,
}
