//! Tiresias with the Gittins index: the queues of 2D-LAS, and in each the job that is the likeliest to finish soon.
//!
//! ```text
//! G(A) = P(S - A <= D | S > A) / E[ min(S - A, D) | S > A ]       D = quantum, S = GPU-time a job takes in all
//! order by (queue of A_i, G(A_i) largest first)
//! ```
//!
//! The distribution of S is learned from jobs that ended: the policy remembers what every job has received, and when
//! one is gone, that is a sample (the last 1,000 count). Until there are enough samples it is least attained service
//! in queues.
//!
//! Differs from the paper: D is fixed, as in the public code, in place of the best D; a cancelled job counts as a
//! sample, because a policy cannot tell it from a finished one; the paper knows the distribution beforehand.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, grant_by_key};
use crate::registry::{Entry, Promise};
use crate::tiresias::{THRESHOLDS, THRESHOLDS_ALLOWED, Thresholds};
use evenhand_core::{
    GpuCount, GpuTime, JobId, Limits, Memory, ParameterSpec, Plan, Policy, PolicyError, Ratio, Reason,
    Snapshot, Time,
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

const SAMPLES_MAX: usize = 1000;

const QUANTUM: ParameterSpec = ParameterSpec {
    name: "quantum",
    default: "3250",
    summary: "GPU-seconds ahead in which the index hopes for the end of a job",
};

const SAMPLES: ParameterSpec = ParameterSpec {
    name: "samples",
    default: "30",
    summary: "ended jobs after which the index is believed; until then least attained service",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "gittins",
    summary: "Queues as in tiresias; in each, the job that is the likeliest to finish soon.",
    paper: "Tiresias, NSDI 2019 (2D-Gittins)",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS, THRESHOLDS, QUANTUM, SAMPLES],
    divide: None,
    build: |parameters| {
        let quantum_s = parameters.number(&QUANTUM, 1.0, 1e9)? as u32;
        Ok(Box::new(Gittins {
            preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?,
            thresholds: parameters.read(&THRESHOLDS, THRESHOLDS_ALLOWED)?,
            quantum: GpuTime(u64::from(quantum_s.max(1)) * 1000),
            samples_min: parameters.read::<usize>(&SAMPLES, "it is a number of jobs")?.clamp(1, SAMPLES_MAX),
        }))
    },
};

struct Gittins {
    preempt: Preempt,
    thresholds: Thresholds,
    quantum: GpuTime,
    samples_min: usize,
}

/// What was learned so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Learned {
    at: Time,
    /// GPU-time of jobs that ended, in the order of their ends.
    ended: Vec<GpuTime>,
    /// What active jobs had received and what they held then, by number.
    active: Vec<(JobId, GpuTime, GpuCount)>,
}

impl Policy for Gittins {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Learned>());
        let learned = learn(snapshot, known.as_deref());
        let believed = learned.ended.len() >= self.samples_min;
        let distribution = Distribution::of(&learned.ended);
        let reason = if believed { Reason::HighestIndex } else { Reason::LeastAttained };
        let mut plan = grant_by_key(snapshot, self.preempt, reason, |_, job| {
            let attained = snapshot.attained(job);
            let index = believed.then(|| Reverse(distribution.index(attained, self.quantum).key()));
            (self.thresholds.queue_of(attained), index, (!believed).then_some(attained))
        });
        plan.memory = Memory::new(learned);
        Ok(plan)
    }
}

/// Jobs that were there at the last decision and are gone have ended, with what they held until now.
fn learn(snapshot: &Snapshot, known: Option<&Learned>) -> Learned {
    let mut learned = Learned { at: snapshot.now, ..Learned::default() };
    if let Some(known) = known {
        learned.ended.clone_from(&known.ended);
        let gone = known.active.iter().filter(|(id, ..)| snapshot.jobs.by_id(*id).is_none());
        // A job that never ran says nothing about how long jobs run.
        let ended = gone
            .map(|(_, attained, gpus)| *attained + GpuTime::new(*gpus, snapshot.now.since(known.at)))
            .filter(|attained| *attained > GpuTime::ZERO);
        learned.ended.extend(ended);
        learned.ended.drain(..learned.ended.len().saturating_sub(SAMPLES_MAX));
    }
    for (_, job) in snapshot.jobs.iter() {
        let held = snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_seated());
        let gpus = held.map_or(GpuCount::ZERO, |lease| lease.gpus.count());
        learned.active.push((job.spec.id, snapshot.attained(job), gpus));
    }
    learned.active.sort_unstable_by_key(|(id, ..)| *id);
    learned
}

/// Sorted samples and the sums of the first of them.
struct Distribution {
    sorted: Vec<GpuTime>,
    sums: Vec<f64>,
}

impl Distribution {
    fn of(samples: &[GpuTime]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let mut sums = vec![0.0];
        for sample in &sorted {
            sums.push(sums[sums.len() - 1] + sample.0 as f64);
        }
        Self { sorted, sums }
    }

    /// The index of a job that has received `attained`: per GPU-second; zero if no job was ever larger.
    fn index(&self, attained: GpuTime, quantum: GpuTime) -> Ratio {
        let from = self.sorted.partition_point(|sample| *sample <= attained);
        let to = self.sorted.partition_point(|sample| *sample <= attained + quantum);
        let (ending, longer) = ((to - from) as f64, (self.sorted.len() - to) as f64);
        let spent = self.sums[to] - self.sums[from] - ending * attained.0 as f64 + longer * quantum.0 as f64;
        // Both the probability and the mean are over the same jobs, whose number cancels.
        Ratio::new(if spent > 0.0 { 1e3 * ending / spent } else { 0.0 }).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_chance_of_an_end_over_its_price() {
        let seconds = |list: &[u64]| list.iter().map(|s| GpuTime(s * 1000)).collect::<Vec<_>>();
        let distribution = Distribution::of(&seconds(&[10, 20, 100]));
        let index = |a: u64| distribution.index(GpuTime(a * 1000), GpuTime(15_000)).get();
        // At 0: one of three ends, after 10; the two others use up 15 each.
        assert!((index(0) - 1.0 / 40.0).abs() < 1e-12);
        // At 10: one of two ends after 10, the other uses 15.
        assert!((index(10) - 1.0 / 25.0).abs() < 1e-12);
        assert!(index(30).abs() < 1e-12);
        assert!(index(100).abs() < 1e-12);
    }
}
