//! How many GPUs there were, and how much of their time was leased.
//!
//! `gpus` is the largest capacity seen. `gpu_hours` is the sum of lease areas (open leases count up to the last
//! record). `utilisation` is the GPU-time of leases over the GPU-time of capacity, both from the first submission to
//! the last end of a job.
//!
//! A shared GPU counts once. One thing can lift utilisation above 1, and is not hidden: leases on a draining or suspect node count
//! although the node no longer counts as capacity.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, GpuTime, Reading, Span, Unit};

pub const ENTRY: Entry = Entry {
    name: "utilisation",
    summary: "GPUs, GPU-hours leased, and the share of capacity that was leased",
    fold: || Box::new(Utilisation::default()),
};

#[derive(Default)]
struct Utilisation {
    now: Areas,
    /// As of the last end of a job.
    closing: Areas,
}

#[derive(Clone, Copy, Default)]
struct Areas {
    leased: GpuTime,
    capacity: GpuTime,
}

impl Fold for Utilisation {
    fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Elapsed { from, to } => {
                let Span(span) = to.since(*from);
                self.now.leased += GpuTime(book.leased * span);
                self.now.capacity += GpuTime::new(book.machines.capacity(), Span(span));
            }
            Fact::Ended { .. } => self.closing = self.now,
            _ => {}
        }
    }

    fn readings(&self, book: &Book) -> Vec<Reading> {
        let gpus = f64::from(book.capacity_max().0);
        let utilisation = self.closing.leased.hours() / self.closing.capacity.hours();
        vec![
            reading("gpus", gpus, Unit::Count, Better::Neutral),
            reading("utilisation", utilisation, Unit::Fraction, Better::Up),
            reading("gpu_hours", self.now.leased.hours(), Unit::GpuHours, Better::Down),
        ]
    }
}
