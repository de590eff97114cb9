//! How long jobs took.
//!
//! A job's completion time (JCT) is the time from its submission to its end. `jct_mean_s`, `jct_p50_s`, `jct_p95_s`
//! and `jct_p99_s` are over the jobs that finished. `makespan_s` is the time from the first submission to the last
//! end of any job, finished or not.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use crate::quantile::{mean, quantile, sorted};
use evenhand_core::{Better, Reading, Unit};

pub const ENTRY: Entry = Entry {
    name: "completion",
    summary: "time from submission to end: mean, percentiles, and the makespan",
    fold: || Box::new(Completion),
};

/// The book keeps the lives of finished jobs anyway; nothing more is needed.
struct Completion;

impl Fold for Completion {
    fn take(&mut self, _: &Book, _: &Fact<'_>) {}

    fn readings(&self, book: &Book) -> Vec<Reading> {
        let jct = sorted(book.lives.iter().map(|life| life.jct().seconds()).collect());
        let makespan = book.opening.zip(book.closing).map(|(first, last)| last.since(first).seconds());
        let seconds = |name, value| reading(name, value, Unit::Seconds, Better::Down);
        vec![
            seconds("makespan_s", makespan.unwrap_or(f64::NAN)),
            seconds("jct_mean_s", mean(&jct)),
            seconds("jct_p50_s", quantile(&jct, 0.50)),
            seconds("jct_p95_s", quantile(&jct, 0.95)),
            seconds("jct_p99_s", quantile(&jct, 0.99)),
        ]
    }
}
