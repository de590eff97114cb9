//! When everything is saved as it is, so that the next start need not repeat the whole ledger.
//!
//! A start repeats what happened since the last time. Saving costs time too; so it is done when repeating would cost [`WORTH`] times as much as
//! saving did the last time, and no oftener than repeating is noticed.

use super::{Service, recovery};
use crate::clock::Stopwatch;
use std::sync::atomic::Ordering;

/// Repeating a record costs about as much as this besides deciding: it is read and compared.
const RECORD_US: u64 = 50;

/// What need not be repeated is worth so many times the saving: at most a twentieth of the time is spent on it.
const WORTH: u64 = 20;

/// Less is not worth thinking about.
const NOTICED_US: u64 = 1_000_000;

/// What repeating would cost, and what saving did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Savings {
    repeating_us: u64,
    saving_us: u64,
}

impl Savings {
    /// A record more, whose decision took so long.
    pub fn stepped(&mut self, us: u64) {
        self.repeating_us += us + RECORD_US;
    }

    fn is_due(self) -> bool {
        self.repeating_us >= NOTICED_US.max(WORTH * self.saving_us)
    }
}

impl Service {
    /// Saves everything if that has become worth it.
    pub(super) fn save_if_due(&mut self) {
        if self.savings.is_due() {
            self.save();
        }
    }

    /// Saves everything as it is. If that fails nothing is lost: the next start takes longer.
    pub(super) fn save(&mut self) {
        let began = Stopwatch::start();
        let body = recovery::saved(&self.engine, &self.followed).ok();
        let saved = body.map(|body| self.store.save(&body.0));
        self.savings = Savings { repeating_us: 0, saving_us: began.elapsed_us() };
        self.vitals.saves.add(began.elapsed_us());
        if !matches!(saved, Some(Ok(()))) {
            self.vitals.saves_failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
