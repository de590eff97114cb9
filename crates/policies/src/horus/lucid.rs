//! Sharing scores as in Lucid (ASPLOS 2023): a job that hardly uses its GPU scores 0, a medium one 1, a heavy one 2, and two jobs share a
//! GPU if their scores sum to 2 at most.
//!
//! ```text
//! score(j)   0 if duty <= `tiny`, 1 if duty <= `medium`, else 2
//! pack       score(i) + score(j) <= 2, as many GPUs each, two jobs on a GPU, memory fits
//! ```
//!
//! The smallest remaining GPU-time goes first; a free GPU is better than a shared one. Differs from the paper: there a decision tree over
//! measured utilisations gives the score, of which only the idea is published; the two thresholds are ours.

use super::desks::{Desk, Desks, MODE, mode};
use crate::registry::{Entry, Promise};
use evenhand_core::{
    Demand, GpuTime, Job, JobIndex, Limits, Others, ParameterSpec, Plan, Policy, PolicyError, Reason,
    SharingMode, Snapshot,
};
use std::cmp::Reverse;

const TINY: ParameterSpec =
    ParameterSpec { name: "tiny", default: "0.3", summary: "duty up to which a job scores 0" };
const MEDIUM: ParameterSpec =
    ParameterSpec { name: "medium", default: "0.6", summary: "duty up to which a job scores 1" };

/// The sum of scores up to which two jobs share a GPU.
const SCORES_MAX: u8 = 2;

pub(crate) const ENTRY: Entry = Entry {
    name: "lucid",
    summary: "Two jobs share a GPU if their scores of use, 0 to 2, sum to 2 at most; the smallest goes first.",
    paper: "after Lucid, ASPLOS 2023",
    promises: &[Promise::NeverPreempts],
    parameters: &[TINY, MEDIUM, MODE],
    divide: None,
    build: |parameters| {
        let (tiny, medium) = (parameters.number(&TINY, 0.0, 1.0)?, parameters.number(&MEDIUM, 0.0, 1.0)?);
        Ok(Box::new(Lucid { tiny, medium, mode: mode(parameters)? }))
    },
};

struct Lucid {
    tiny: f64,
    medium: f64,
    mode: SharingMode,
}

impl Lucid {
    fn score(&self, demand: &Demand) -> u8 {
        u8::from(demand.duty > self.tiny) + u8::from(demand.duty > self.medium)
    }

    /// Free GPUs first, then those of a job as large, with which the scores allow it.
    fn price(&self, snapshot: &Snapshot, job: &Job, desk: &Desk, own: &Demand) -> Option<f64> {
        let Some((other, demand)) = desk.residents.first() else { return Some(0.0) };
        let other = snapshot.jobs.by_id(*other)?;
        let scores = self.score(own) + self.score(demand);
        let alike = other.spec.gpus.min == job.spec.gpus.min;
        (alike && scores <= SCORES_MAX).then_some(1.0 + f64::from(scores))
    }
}

impl Policy for Lucid {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut desks = Desks::new(snapshot, self.mode, 2);
        let size = |(index, job): &(JobIndex, &Job)| {
            let left = snapshot.remaining_time(*index, job);
            left.map_or((true, GpuTime::ZERO), |span| (false, GpuTime::new(job.spec.gpus.min, span)))
        };
        let mut queue: Vec<_> = snapshot.jobs.queue().collect();
        queue.sort_by_key(|row| (Reverse(row.1.spec.priority), size(row), row.1.queue_key()));
        for (index, job) in queue {
            let price = |_: usize, desk: &Desk, own: &Demand| self.price(snapshot, job, desk, own);
            match desks.seat((index, job), Reason::SmallestRemaining, price) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        Ok(plan)
    }
}
