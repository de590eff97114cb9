//! Isolated: every job as if it had a private slice of the cluster. A yardstick, not a contender.
//!
//! ```text
//! y_i = min(1, M / (N g_i))      the fraction of time that job i runs; N active jobs, M GPUs, gang g_i
//! x_i = y_i g_i                  GPUs owed on average
//! order by b_i / g_i, largest first     b_i = owed minus received so far
//! ```
//!
//! The fractions are realised in rounds: whoever is owed most per GPU of its gang runs next.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, grant_by_key, slice};
use crate::gavel_rounds::{GavelRounds, RESET, ROUND, VARIANT, fork, spread};
use crate::registry::{Entry, Promise};
use evenhand_core::{Job, JobState, Limits, Party, Plan, Policy, PolicyError, Reason, Shares, Snapshot};
use std::cmp::Reverse;

pub(crate) const ENTRY: Entry = Entry {
    name: "isolated",
    summary: "Every job as if it had a private 1/N of the cluster: a yardstick.",
    paper: "Gavel, OSDI 2020 (as a baseline)",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances],
    parameters: &[PREEMPT_AT_ROUNDS, VARIANT, RESET, ROUND],
    divide: None,
    build: |parameters| {
        let preempt = Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?;
        Ok(match fork(parameters)? {
            Some(rounds) => Box::new(Fork { rounds }),
            None => Box::new(Isolated { preempt }),
        })
    },
};

/// As in the published simulators: the same fractions, realised by their rounds.
struct Fork {
    rounds: GavelRounds,
}

impl Policy for Fork {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(self.rounds.decide(snapshot, |snapshot, _, (): &mut ()| {
            let jobs_count = snapshot.jobs.len() as f64;
            let row = |job: &Job| {
                let gang = f64::from(job.spec.gpus.min.0);
                spread(snapshot, |model| f64::from(snapshot.cluster.capacity(model).0) / (jobs_count * gang))
            };
            snapshot.jobs.iter().map(|(_, job)| (job.spec.id, row(job))).collect()
        }))
    }
}

struct Isolated {
    preempt: Preempt,
}

impl Policy for Isolated {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = grant_by_key(snapshot, self.preempt, Reason::MostOwed, |_, job| {
            let owed = snapshot.balances.total(Party::Job(job.spec.id)) / f64::from(job.spec.gpus.min.0);
            // Whole milliseconds sort exactly; a float is never a key.
            Reverse(owed.round() as i64)
        });
        plan.shares = Some(shares(snapshot));
        Ok(plan)
    }
}

fn shares(snapshot: &Snapshot) -> Shares {
    let mut jobs: Vec<_> =
        snapshot.jobs.iter().map(|(_, job)| job).filter(|job| job.state != JobState::Held).collect();
    jobs.sort_unstable_by_key(|job| job.spec.id);
    let private = f64::from(snapshot.cluster.capacity_total().0) / jobs.len().max(1) as f64;
    let rows = jobs.into_iter().map(|job| {
        let gpus = private.min(f64::from(job.spec.gpus.min.0));
        (Party::Job(job.spec.id), slice(snapshot, gpus))
    });
    Shares { rows: rows.collect() }
}
