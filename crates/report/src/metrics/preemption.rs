//! How often jobs were interrupted, and what that destroyed.
//!
//! `preemptions` counts leases stopped because another job deserved the GPUs more, or to continue elsewhere.
//! `lost_gpu_hours` is the GPU-time of work that was done and did not survive: for each lease that ended without
//! finishing its job, work done minus work saved, over the job's declared speed on the lease's GPUs, times their
//! number. The time that restarts take is not in it.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, GpuTime, Reading, StopReason, Unit};

pub const ENTRY: Entry = Entry {
    name: "preemption",
    summary: "leases cut short for others, and the work that was lost",
    fold: || Box::new(Preemption::default()),
};

#[derive(Default)]
struct Preemption {
    count: u64,
    lost: GpuTime,
}

impl Fold for Preemption {
    fn take(&mut self, _: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Stopped(StopReason::Preempted | StopReason::Moved) => self.count += 1,
            Fact::Freed { lost, .. } => self.lost += *lost,
            _ => {}
        }
    }

    fn readings(&self, _: &Book) -> Vec<Reading> {
        vec![
            reading("preemptions", self.count as f64, Unit::Count, Better::Down),
            reading("lost_gpu_hours", self.lost.hours(), Unit::GpuHours, Better::Down),
        ]
    }
}
