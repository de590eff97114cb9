//! How long jobs waited for their first GPUs.
//!
//! A job's wait is the time from its submission to the first `Start` command for it. `wait_mean_s` and `wait_p50_s`
//! are over all jobs that were ever started, however they ended.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use crate::quantile::{mean, quantile, sorted};
use evenhand_core::{Better, Reading, Unit};

pub const ENTRY: Entry = Entry {
    name: "waiting",
    summary: "time from submission to the first start",
    fold: || Box::new(Waiting::default()),
};

#[derive(Default)]
struct Waiting {
    waits_s: Vec<f64>,
}

impl Fold for Waiting {
    fn take(&mut self, _: &Book, fact: &Fact<'_>) {
        if let Fact::FirstStart(waited) = fact {
            self.waits_s.push(waited.seconds());
        }
    }

    fn readings(&self, _: &Book) -> Vec<Reading> {
        let waits = sorted(self.waits_s.clone());
        let seconds = |name, value| reading(name, value, Unit::Seconds, Better::Down);
        vec![seconds("wait_mean_s", mean(&waits)), seconds("wait_p50_s", quantile(&waits, 0.5))]
    }
}
