//! Tiresias' discretised least attained service in two dimensions (GPUs and time): a few queues in place of a
//! total order, so that jobs of like age do not take turns for ever.
//!
//! ```text
//! A_i = g_i * run_i                      GPU-time received since the job was last promoted
//! queue of i = how many of the thresholds A_i has reached;  order by (queue, urgency, a_i)
//! promotion:   a job that has waited >= knob * run_i goes back to the first queue, A_i = 0   (knob > 0)
//! ```
//!
//! Differs from the paper: which jobs are worth consolidating (tensor skew) is not known here, so consolidation is
//! left to the placer; inside a queue jobs go by submission, not by when they entered it. As in the public code
//! the knob is off unless set.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, grant_by_key};
use crate::registry::{Entry, Promise};
use evenhand_core::{
    GpuTime, Job, JobId, JobState, Limits, Memory, ParameterSpec, Plan, Policy, PolicyError, Reason,
    Snapshot, Span,
};
use std::collections::BTreeMap;
use std::str::FromStr;

pub(crate) const THRESHOLDS: ParameterSpec = ParameterSpec {
    name: "thresholds",
    default: "3250,7200,18000",
    summary: "GPU-seconds received after which a job moves on to the next queue",
};

pub(crate) const THRESHOLDS_ALLOWED: &str = "it is a rising list of GPU-seconds such as 3250,7200,18000";

const KNOB: ParameterSpec = ParameterSpec {
    name: "knob",
    default: "0",
    summary: "a job that has waited this many times as long as it has run returns to the first queue; 0: never",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "tiresias",
    summary: "A few queues by GPU-time received, first come first served in each.",
    paper: "Tiresias, NSDI 2019 (2D-LAS)",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS, THRESHOLDS, KNOB],
    divide: None,
    build: |parameters| {
        Ok(Box::new(Tiresias {
            preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?,
            thresholds: parameters.read(&THRESHOLDS, THRESHOLDS_ALLOWED)?,
            knob: parameters.read::<Knob>(&KNOB, "it is a number of at least 0")?.0,
        }))
    },
};

/// The ends of the queues.
#[derive(Clone, Debug)]
pub(crate) struct Thresholds(Vec<GpuTime>);

impl Thresholds {
    /// The queue of a job that has received this much, from 0.
    pub fn queue_of(&self, attained: GpuTime) -> usize {
        self.0.partition_point(|threshold| *threshold <= attained)
    }
}

impl FromStr for Thresholds {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let seconds = text.split(',').map(|part| part.trim().parse::<f64>().map_err(drop));
        let list = seconds.collect::<Result<Vec<f64>, ()>>()?;
        let sane = list.iter().all(|seconds| (0.0..1e12).contains(seconds)) && list.is_sorted();
        let ends = list.into_iter().map(|seconds| GpuTime(Span::from_seconds(seconds).0));
        if sane { Ok(Self(ends.collect())) } else { Err(()) }
    }
}

struct Knob(f64);

impl FromStr for Knob {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|knob: &f64| knob.is_finite() && *knob >= 0.0).map(Self).ok_or(())
    }
}

struct Tiresias {
    preempt: Preempt,
    thresholds: Thresholds,
    knob: f64,
}

/// What jobs had received when they were last promoted.
type Promoted = BTreeMap<JobId, GpuTime>;

impl Policy for Tiresias {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let promoted = self.promote(snapshot);
        let mut plan = grant_by_key(snapshot, self.preempt, Reason::EarlierQueue, |_, job| {
            self.thresholds.queue_of(since_promotion(snapshot, job, &promoted))
        });
        if !promoted.is_empty() {
            plan.memory = Memory::new(promoted);
        }
        Ok(plan)
    }
}

impl Tiresias {
    /// The promotions in force, those that are due now included.
    fn promote(&self, snapshot: &Snapshot) -> Promoted {
        if self.knob <= 0.0 {
            return Promoted::new();
        }
        let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Promoted>());
        let mut promoted = known.map(|known| (*known).clone()).unwrap_or_default();
        promoted.retain(|id, _| snapshot.jobs.by_id(*id).is_some());
        for (_, job) in snapshot.jobs.queue() {
            let attained = since_promotion(snapshot, job, &promoted);
            let run = attained.0 as f64 / f64::from(job.spec.gpus.min.0);
            let waits = matches!(job.state, JobState::Queued { since }
                if snapshot.now.since(since).0 as f64 >= self.knob * run);
            if waits && self.thresholds.queue_of(attained) > 0 {
                promoted.insert(job.spec.id, snapshot.attained(job));
            }
        }
        promoted
    }
}

fn since_promotion(snapshot: &Snapshot, job: &Job, promoted: &Promoted) -> GpuTime {
    snapshot.attained(job).less(promoted.get(&job.spec.id).copied().unwrap_or_default())
}
