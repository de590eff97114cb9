//! How much of the GPU-time there was whole gangs could have used.
//!
//! `packable` is the GPU-time that the gangs of the active jobs could have filled, over the GPU-time of capacity, from the first
//! submission to the last end of a job: three jobs of 3 GPUs can use 6 of 8. Where the jobs want fewer GPUs than there are, all count
//! as usable. Policies that divide the cluster owe this much and no more.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::Fact;
use evenhand_core::{Better, JobSpec, ModelIndex, Reading, Unit};
use evenhand_fairness::packable;
use std::collections::BTreeMap;

pub const ENTRY: Entry = Entry {
    name: "packable",
    summary: "the share of capacity that whole gangs could use",
    fold: || Box::new(Packable::default()),
};

#[derive(Default)]
struct Packable {
    /// Active jobs that can run on a model, by what they take at a time.
    gangs: BTreeMap<ModelIndex, BTreeMap<u32, u32>>,
    now: Areas,
    /// As of the last end of a job.
    closing: Areas,
}

/// GPU-milliseconds.
#[derive(Clone, Copy, Default)]
struct Areas {
    usable: f64,
    capacity: f64,
}

impl Packable {
    fn count(&mut self, book: &Book, spec: &JobSpec, by: i64) {
        let speeds = book.machines.speeds(spec);
        for (model, _) in book.machines.models_up() {
            if spec.models.allows(model) && speeds[model] > 0.0 {
                let more = spec.gpus.max.less(spec.gpus.min).0;
                let gangs = self.gangs.entry(model).or_default();
                for (gang, count) in [(spec.gpus.min.0, 1), (1, i64::from(more))] {
                    let known = gangs.entry(gang).or_default();
                    *known = (i64::from(*known) + by * count).max(0) as u32;
                }
            }
        }
    }
}

impl Fold for Packable {
    fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        match fact {
            Fact::Elapsed { from, to } => {
                let span = to.since(*from).0 as f64;
                for (model, gpus) in book.machines.models_up() {
                    let gangs = self.gangs.get(&model).into_iter().flatten();
                    let gangs: Vec<(u32, u32)> = gangs.map(|(gang, count)| (*gang, *count)).collect();
                    self.now.usable += span * f64::from(packable(gpus.0, &gangs));
                    self.now.capacity += span * f64::from(gpus.0);
                }
            }
            Fact::Submitted { spec, runs: true } => self.count(book, spec, 1),
            Fact::Ended { spec, runs, .. } => {
                if *runs {
                    self.count(book, spec, -1);
                }
                self.closing = self.now;
            }
            _ => {}
        }
    }

    fn readings(&self, _book: &Book) -> Vec<Reading> {
        vec![reading(
            "packable",
            self.closing.usable / self.closing.capacity,
            Unit::Fraction,
            Better::Neutral,
        )]
    }
}
