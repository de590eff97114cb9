//! Watching an engine outside without touching it: who submitted what, and when it ran where.
//!
//! [`Eyes`] look; a [`Journal`] keeps what they saw, a line for every change; [`records`] tells it as a ledger in which that engine decided.
//! Such a ledger can be reported on and run again under a policy of ours, like any other. Nothing here can change anything outside.

mod journal;
mod ledger;

pub use journal::{Journal, JournalError, JournalHeader, is_journal};
pub use ledger::{RESTART_HALF, SHADOW_WORLD, Told, records};

use evenhand_core::Outcome;
use serde::{Deserialize, Serialize};

/// All that can be seen of an engine at one time.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Its machines with GPUs.
    pub nodes: Vec<SeenNode>,
    /// Its jobs with GPUs: those that wait or run, and those that ended a short while ago.
    pub jobs: Vec<SeenJob>,
}

/// A machine with GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenNode {
    /// What it is called.
    pub name: String,
    /// The model of its GPUs.
    pub model: String,
    /// How many it has.
    pub gpus: u8,
}

/// A job with GPUs, as it is now. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenJob {
    /// What tells it from all others, for ever.
    pub key: String,
    /// What its submitter calls it.
    pub name: String,
    /// Whose it is.
    pub tenant: String,
    /// How many GPUs it asks for.
    pub gpus: u32,
    /// Of which model, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many of them together on a node, if that is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<u8>,
    /// When it was submitted.
    pub submitted_ms: u64,
    /// Its last run, if it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<SeenRun>,
    /// How it ended, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<SeenEnd>,
}

/// A job on GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRun {
    /// Which of its runs.
    pub number: u32,
    /// Since when.
    pub started_ms: u64,
    /// Until when, if it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// How many GPUs on which nodes.
    pub seats: Vec<(String, u8)>,
}

/// The end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenEnd {
    /// When.
    pub at_ms: u64,
    /// How.
    pub outcome: Outcome,
}

/// Looks at an engine outside, and cannot do anything else.
pub trait Eyes {
    /// All that can be seen now; or why nothing can.
    fn look(&mut self) -> Result<Sight, String>;
}
