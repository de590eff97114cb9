//! How many jobs there were and how they ended.
//!
//! `jobs` are all jobs submitted. `finished` are those that did all their work; `failed`, `cancelled` and `retired`
//! ones ended without. What is left had not ended when the ledger did.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, Outcome, Reading, Unit};

pub const ENTRY: Entry = Entry {
    name: "outcomes",
    summary: "jobs submitted, and how they ended",
    fold: || Box::new(Outcomes::default()),
};

#[derive(Default)]
struct Outcomes {
    finished: u64,
    failed: u64,
    cancelled: u64,
    retired: u64,
}

impl Fold for Outcomes {
    fn take(&mut self, _: &Book, fact: &Fact<'_>) {
        if let Fact::Ended { outcome, .. } = fact {
            *match outcome {
                Outcome::Finished => &mut self.finished,
                Outcome::Failed => &mut self.failed,
                Outcome::Cancelled => &mut self.cancelled,
                Outcome::Retired => &mut self.retired,
            } += 1;
        }
    }

    fn readings(&self, book: &Book) -> Vec<Reading> {
        let count = |name, value: u64, better| reading(name, value as f64, Unit::Count, better);
        vec![
            count("jobs", book.submitted, Better::Neutral),
            count("finished", self.finished, Better::Up),
            count("failed", self.failed, Better::Down),
            count("cancelled", self.cancelled, Better::Neutral),
            count("retired", self.retired, Better::Neutral),
            count("unended", book.active(), Better::Down),
        ]
    }
}
