//! The ledger's lines: what happened, what was decided, and what is worth noting about it.

use crate::{
    Abilities, Ahead, Auction, Choice, Command, Event, GpuCount, JobId, LeaseId, Limits, NodeId, Occasion,
    Outcome, Party, PerModel, PlanError, PolicyError, Promised, Quality, Reason, Round, Span, Time,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The version of the ledger's format. A reader refuses what it does not know.
pub const LEDGER_VERSION: u32 = 1;

/// How the engine works: part of the ledger, because decisions depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineConfig {
    /// Between two regular rounds.
    pub round: Span,
    /// The least time between an early round and the one before it.
    pub early_round_min: Span,
    /// Time a preempted job has to save.
    pub grace: Span,
    /// Crashes after which a job counts as failed.
    pub crashes_max: u32,
    /// Failed launches in a row after which a node is suspect.
    pub launch_failures_max: u32,
    /// Time apps have to answer an offer.
    pub bid_time: Span,
    /// Time that a job waits after its first crash before it is tried again; twice as long after each further one, up to
    /// [`RETRY_DOUBLINGS_MAX`] times. Zero: it is tried again at once.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_delay: Span,
    /// Time after which a suspect node is tried again. Zero: not before it is reported up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspicion: Span,
}

/// How often the time before another try is doubled.
pub const RETRY_DOUBLINGS_MAX: u32 = 6;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(span: &Span) -> bool {
    *span == Span::ZERO
}

impl EngineConfig {
    /// How long a job that has crashed so often waits before it is tried again.
    pub fn retry_delay_after(&self, crashes: u32) -> Span {
        let doublings = crashes.saturating_sub(1).min(RETRY_DOUBLINGS_MAX);
        Span(self.retry_delay.0.saturating_mul(1 << doublings))
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            round: Span::from_minutes(6),
            early_round_min: Span::ZERO,
            grace: Span::from_minutes(5),
            crashes_max: 100,
            launch_failures_max: 3,
            bid_time: Span::from_secs(1),
            retry_delay: Span::ZERO,
            suspicion: Span::ZERO,
        }
    }
}

/// The first line of a ledger: all that is needed to make the same engine again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The format; see [`LEDGER_VERSION`].
    pub evenhand: u32,
    /// The policy at the start.
    pub policy: Choice,
    /// The placer.
    pub placer: Choice,
    /// The predictor.
    pub predictor: Choice,
    /// The seed that policies see.
    pub seed: u64,
    /// How the engine works.
    pub engine: EngineConfig,
    /// How long a policy may think.
    pub limits: Limits,
    /// What the world can do.
    pub abilities: Abilities,
    /// Which world wrote it, for people.
    pub world: String,
}

/// One line of the ledger: one event and all that came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    #[serde(rename = "t")]
    pub now: Time,
    /// What happened.
    #[serde(rename = "e")]
    pub event: Event,
    /// What should.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// The decision that was taken, if one was.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What people should know of it.
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// A decision in short. The leases it led to are among the commands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Its number.
    pub round: Round,
    /// Why it was asked for.
    pub occasion: Occasion,
    /// Jobs that could have been granted GPUs.
    pub active: u32,
    /// Jobs that hold or will hold GPUs.
    pub running: u32,
    /// Leases that were up for renewal and stayed as they were.
    pub kept: u32,
    /// Leases that were up for renewal.
    pub due: u32,
    /// How good it is known to be.
    #[serde(default, skip_serializing_if = "is_rule")]
    pub quality: Quality,
    /// Fractional entitlements of tenants, apps and classes, if the policy gives them and they changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<(Party, PerModel<f64>)>,
    /// The auction it came out of, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auction: Option<Arc<Auction>>,
    /// The window that was planned, if one was planned anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Arc<Ahead>>,
    /// Finish times that were promised, where that is news.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub promises: Vec<Promised>,
}

fn is_rule(quality: &Quality) -> bool {
    *quality == Quality::Rule
}

/// Something worth knowing that is neither an event nor a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The policy had no plan; the last one stands.
    PolicyFailed(PolicyError),
    /// The policy's plan was not valid; the last one stands.
    PlanRefused(PlanError),
    /// Why a job waits, when that changed.
    Waits {
        /// Which job.
        job: JobId,
        /// Why.
        reason: Reason,
    },
    /// A job is cancelled: it was to run only after another had ended well, and that one did not.
    Forsaken {
        /// Which job.
        job: JobId,
        /// The one it waited for.
        by: JobId,
        /// How that one ended.
        outcome: Outcome,
    },
    /// Launches kept failing on a node: it takes no new leases until it is reported up again, or tried again.
    Suspected(NodeId),
    /// A suspect node is tried again: another failed launch makes it suspect once more.
    TriedAgain(NodeId),
    /// A lease that was decided but whose GPUs never came free is off.
    Withdrawn(LeaseId),
    /// A bid was not accepted.
    BidRefused {
        /// Whose.
        app: crate::AppId,
        /// Why.
        reason: crate::BidError,
    },
    /// An event that makes no sense now (a lease that has ended, a job that is unknown) was ignored.
    Ignored,
    /// A job asks for more than the cluster will ever have; it waits.
    TooLarge {
        /// Which job.
        job: JobId,
        /// What it asks for.
        gpus: GpuCount,
    },
}

/// Written by name in the ledger.
impl Serialize for Occasion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Regular => "regular",
            Self::Early => "early",
            Self::Bids => "bids",
        })
    }
}

impl<'de> Deserialize<'de> for Occasion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "regular" => Ok(Self::Regular),
            "early" => Ok(Self::Early),
            "bids" => Ok(Self::Bids),
            other => Err(serde::de::Error::unknown_variant(other, &["regular", "early", "bids"])),
        }
    }
}
