//! What jobs on one GPU did to each other.
//!
//! `out_of_memory` counts leases that ended because a job found less memory than it needs beside others.
//! `shared_slowdown_mean` and `shared_slowdown_worst` are over all measurements of jobs that share a GPU, or may: how much slower they
//! ran than alone. Jobs are measured when their leases are renewed. `busy_fraction` is the share of leased GPU-time in which a kernel ran:
//! of every job its duty, as last measured or else as declared, times what its work takes alone on the reference GPU model, over the time of
//! GPUs that were leased, a shared one once: meant for clusters of one GPU model. It is not there if nobody knows a duty.

use super::{Entry, Fold, reading};
use crate::book::{Book, REFERENCE};
use crate::fact::Fact;
use evenhand_core::{Better, GpuTime, JobId, Reading, Unit};
use std::collections::BTreeMap;

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
    /// As last measured, of active jobs.
    duty: BTreeMap<JobId, f64>,
    busy: f64,
    leased: GpuTime,
}

impl Fold for Sharing {
    fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::OutOfMemory => self.out_of_memory += 1,
            Fact::Measured { job, demand, slowdown } => {
                self.duty.insert(*job, demand.duty);
                let Some(slowdown) = slowdown else { return };
                self.measured += 1;
                self.sum += slowdown.get();
                self.worst = self.worst.max(slowdown.get());
            }
            Fact::Ended { spec, alone, .. } => {
                let declared = spec.demand.as_ref().map(|demand| demand[REFERENCE].duty);
                let duty = self.duty.remove(&spec.id).or(declared).unwrap_or(0.0);
                self.busy += duty * GpuTime::new(spec.gpus.min, *alone).hours();
            }
            Fact::Elapsed { from, to } => self.leased += GpuTime(book.leased * to.since(*from).0),
            _ => {}
        }
    }

    fn readings(&self, _: &Book) -> Vec<Reading> {
        let some = |value: f64| if self.measured > 0 { value } else { f64::NAN };
        let busy = if self.busy > 0.0 { self.busy / self.leased.hours() } else { f64::NAN };
        vec![
            reading("out_of_memory", self.out_of_memory as f64, Unit::Count, Better::Down),
            reading("shared_slowdown_mean", some(self.sum / self.measured as f64), Unit::Ratio, Better::Down),
            reading("shared_slowdown_worst", some(self.worst), Unit::Ratio, Better::Down),
            reading("busy_fraction", busy, Unit::Fraction, Better::Up),
        ]
    }
}
