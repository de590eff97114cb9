//! What jobs on one GPU did to each other.
//!
//! `out_of_memory` counts leases that ended because a job found less memory than it needs beside others.
//! `shared_slowdown_mean` and `shared_slowdown_worst` are over all measurements of jobs that share a GPU, or may: how much slower they
//! ran than alone. Jobs are measured when their leases are renewed.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, Reading, Unit};

pub const ENTRY: Entry = Entry {
    name: "sharing",
    summary: "what jobs on one GPU did to each other",
    fold: || Box::new(Sharing::default()),
};

#[derive(Default)]
struct Sharing {
    out_of_memory: u64,
    measured: u64,
    sum: f64,
    worst: f64,
}

impl Fold for Sharing {
    fn take(&mut self, _: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::OutOfMemory => self.out_of_memory += 1,
            Fact::Slowed(slowdown) => {
                self.measured += 1;
                self.sum += slowdown.get();
                self.worst = self.worst.max(slowdown.get());
            }
            _ => {}
        }
    }

    fn readings(&self, _: &Book) -> Vec<Reading> {
        let some = |value: f64| if self.measured > 0 { value } else { f64::NAN };
        vec![
            reading("out_of_memory", self.out_of_memory as f64, Unit::Count, Better::Down),
            reading("shared_slowdown_mean", some(self.sum / self.measured as f64), Unit::Ratio, Better::Down),
            reading("shared_slowdown_worst", some(self.worst), Unit::Ratio, Better::Down),
        ]
    }
}
