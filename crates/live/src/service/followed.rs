//! What follows from the ledger besides what the engine knows.

use super::promises::Promises;
use evenhand_core::{Choice, Command, Event, Record, Round, Time};
use serde::{Deserialize, Serialize};

/// What follows from the records up to one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Followed {
    /// When that was.
    pub now: Time,
    /// The alarm that is set.
    pub alarm: Option<(Time, Round)>,
    /// Who decides.
    pub policy: Choice,
    /// What was promised, and what came of it.
    pub promises: Promises,
}

impl Followed {
    /// Before the first record.
    pub fn new(policy: Choice) -> Self {
        Self { now: Time::ZERO, alarm: None, policy, promises: Promises::default() }
    }

    /// Takes the next record in.
    pub fn take(&mut self, record: &Record) {
        self.now = record.now;
        self.promises.take(record);
        match &record.event {
            Event::RoundDue(_) => self.alarm = None,
            Event::PolicyChanged(choice) => self.policy = choice.clone(),
            _ => {}
        }
        for command in &record.commands {
            if let Command::WakeAt(at, round) = command {
                self.alarm = Some((*at, *round));
            }
        }
    }
}
