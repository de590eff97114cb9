//! How fair the run was to each job: completion time over what a fair part of the cluster would have given.
//!
//! Over the finished jobs whose exclusive time T_excl is known and not zero, with M the largest capacity seen:
//!
//! - `ftf_*`: JCT / (T_excl x max(1, N/M)), with N the number of jobs submitted in the ledger;
//! - `ftf_dynamic_*`: the same with N the mean number of active jobs during the job's life;
//! - `ftf_fluid_*`: JCT / JCT under fluid fair sharing of the same work on M GPUs, a job counting with the
//!   least GPUs it takes and holding an equal part of every GPU model. Below 1 the job did better than if the cluster had been divided evenly at
//!   every instant. The same work is also what others did before they were retired, cancelled or failed: they held their parts until then. Time on
//!   hold counts on neither side: what is done between two holds comes to the fluid when the first of them ends, and the sums over all such stretches
//!   are compared;
//! - `unfair_*fraction`: the share of jobs whose ratio is above 1.05;
//! - `jain`: Jain's index of (JCT under fluid fair sharing) / JCT: 1 if all jobs gained or lost alike.

use super::{Entry, Fold, reading};
use crate::book::Book;
use crate::fact::{Fact, Life};
use crate::quantile::{largest, mean, quantile, share_above, sorted};
use crate::stretches::Stretch;
use evenhand_core::{Better, GpuCount, Reading, Span, Unit};
use evenhand_fairness::{FluidJob, UNFAIR_ABOVE, fluid_finishes, jain, rho_dynamic, rho_static};

pub const ENTRY: Entry = Entry {
    name: "fairness",
    summary: "finish-time fairness: static, dynamic and against fluid fair sharing",
    fold: || Box::new(Fairness),
};

/// The ratios of one finished job.
#[derive(Clone, Copy, Debug)]
pub struct Ratios<'a> {
    /// The job.
    pub life: &'a Life,
    /// With static contention.
    pub fixed: f64,
    /// With the contention met.
    pub dynamic: f64,
    /// Against fluid fair sharing.
    pub fluid: f64,
}

/// The ratios of every finished job that has them, in the order of their ends.
pub fn ratios(book: &Book) -> Vec<Ratios<'_>> {
    let capacity = book.capacity_max();
    if capacity == GpuCount::ZERO {
        return Vec::new();
    }
    let (asked_s, fair_s) = asked_and_fair(book, capacity);
    let known = book.lives.iter().enumerate().filter(|(_, life)| life.alone > Span::ZERO);
    let rows = known.map(|(at, life)| {
        let (jct, alone) = (life.jct(), life.alone);
        Ratios {
            life,
            fixed: rho_static(jct, alone, book.submitted, capacity),
            dynamic: rho_dynamic(jct, alone, life.active_mean, capacity),
            fluid: asked_s[at] / fair_s[at],
        }
    });
    rows.collect()
}

/// For how long every finished job asked for GPUs, and for how long it would have under fluid fair sharing.
fn asked_and_fair(book: &Book, capacity: GpuCount) -> (Vec<f64>, Vec<f64>) {
    let fluid = |stretch: &Stretch| FluidJob {
        arrival: stretch.from,
        alone: stretch.alone,
        gang: GpuCount(stretch.gang),
    };
    let jobs: Vec<FluidJob> = book.stretches.iter().map(fluid).collect();
    let (mut asked_s, mut fair_s) = (vec![0.0; book.lives.len()], vec![0.0; book.lives.len()]);
    for (stretch, finish) in book.stretches.iter().zip(fluid_finishes(&jobs, capacity)) {
        if let Some(life) = stretch.life {
            asked_s[life] += stretch.until.since(stretch.from).seconds();
            fair_s[life] += finish.since(stretch.from).seconds();
        }
    }
    (asked_s, fair_s)
}

/// The book keeps the lives of finished jobs anyway; nothing more is needed.
struct Fairness;

impl Fold for Fairness {
    fn take(&mut self, _: &Book, _: &Fact<'_>) {}

    fn readings(&self, book: &Book) -> Vec<Reading> {
        let rows = ratios(book);
        let fixed = sorted(rows.iter().map(|row| row.fixed).collect());
        let dynamic: Vec<f64> = rows.iter().map(|row| row.dynamic).collect();
        let fluid = sorted(rows.iter().map(|row| row.fluid).collect());
        let gains: Vec<f64> = fluid.iter().filter(|ratio| **ratio > 0.0).map(|ratio| 1.0 / ratio).collect();
        let ratio = |name, value| reading(name, value, Unit::Ratio, Better::Down);
        let unfair = |name, values: &[f64]| {
            reading(name, share_above(values, UNFAIR_ABOVE), Unit::Fraction, Better::Down)
        };
        vec![
            ratio("ftf_worst", largest(&fixed)),
            ratio("ftf_mean", mean(&fixed)),
            ratio("ftf_p95", quantile(&fixed, 0.95)),
            unfair("unfair_fraction", &fixed),
            ratio("ftf_dynamic_worst", largest(&dynamic)),
            unfair("unfair_dynamic_fraction", &dynamic),
            ratio("ftf_fluid_worst", largest(&fluid)),
            ratio("ftf_fluid_mean", mean(&fluid)),
            ratio("ftf_fluid_p99", quantile(&fluid, 0.99)),
            unfair("unfair_fluid_fraction", &fluid),
            reading("jain", jain(&gains), Unit::Fraction, Better::Up),
        ]
    }
}
