//! How often was decided, and how steady the decisions were.
//!
//! `rounds` is the number of decisions. `lease_kept_fraction` is, over all decisions, leases that were up for renewal
//! and stayed as they were over leases that were up for renewal; 1 if none ever was.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, Reading, Unit};

pub const ENTRY: Entry = Entry {
    name: "rounds",
    summary: "decisions taken, and leases that they left as they were",
    fold: || Box::new(Rounds::default()),
};

#[derive(Default)]
struct Rounds {
    count: u64,
    kept: u64,
    due: u64,
}

impl Fold for Rounds {
    fn take(&mut self, _: &Book, fact: &Fact<'_>) {
        if let Fact::Decided(decision) = fact {
            self.count += 1;
            self.kept += u64::from(decision.kept);
            self.due += u64::from(decision.due);
        }
    }

    fn readings(&self, _: &Book) -> Vec<Reading> {
        let kept = if self.due == 0 { 1.0 } else { self.kept as f64 / self.due as f64 };
        vec![
            reading("rounds", self.count as f64, Unit::Count, Better::Neutral),
            reading("lease_kept_fraction", kept, Unit::Fraction, Better::Up),
        ]
    }
}
