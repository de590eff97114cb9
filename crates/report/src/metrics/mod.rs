//! The registered metrics: one subject per file, one line each in [`METRICS`].
//!
//! To add a metric, write its file and add its `ENTRY` below; the laws in `tests/metrics.rs` then hold it.

mod apps;
mod completion;
mod fairness;
mod outcomes;
mod packable;
mod preemption;
mod rounds;
mod sharing;
mod utilisation;
mod waiting;

use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, Metric, Reading, Record, Unit};

pub use apps::{AppName, AppRatios, app_ratios};
pub use fairness::ratios;

/// Every metric of a report.
pub const METRICS: &[Entry] = &[
    outcomes::ENTRY,
    completion::ENTRY,
    waiting::ENTRY,
    fairness::ENTRY,
    apps::ENTRY,
    utilisation::ENTRY,
    packable::ENTRY,
    preemption::ENTRY,
    rounds::ENTRY,
    sharing::ENTRY,
];

/// A registered metric.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name: that of its file.
    pub name: &'static str,
    /// What it measures, in a line.
    pub summary: &'static str,
    pub(crate) fold: fn() -> Box<dyn Fold>,
}

impl Entry {
    /// The metric, with nothing taken in yet.
    pub fn build(&self) -> Box<dyn Metric> {
        Box::new(Single { book: Book::default(), fold: (self.fold)() })
    }
}

/// A metric that is told facts. Several folds share one book, so that each record is looked up once.
pub trait Fold: Send {
    /// Takes a fact in; `book` shows the state after it, or during it if time elapsed.
    fn take(&mut self, book: &Book, fact: &Fact<'_>);
    /// What it comes to so far.
    fn readings(&self, book: &Book) -> Vec<Reading>;
}

/// One fold with a book of its own: a metric that needs nobody.
struct Single {
    book: Book,
    fold: Box<dyn Fold>,
}

impl Metric for Single {
    fn take(&mut self, record: &Record) {
        let Self { book, fold } = self;
        book.take(record, &mut |book, fact| fold.take(book, fact));
    }

    fn readings(&self) -> Vec<Reading> {
        self.fold.readings(&self.book)
    }
}

fn reading(name: &'static str, value: f64, unit: Unit, better: Better) -> Reading {
    Reading { name, value, unit, better }
}
