//! `gandiva-fair` and `allox` as the Shockwave fork of Gavel has them, for comparison with its published tables.
//!
//! ```text
//! gandiva-fair   y_i = min(1, M/N): a proportional share of time, blind to gangs, and no trading
//! allox          jobs that run keep y = 1. Of the others, the max(alpha N', n) oldest are matched to (GPU, position from
//!                the end) for the least sum of completion times; whoever comes first on a GPU gets y = 1/g
//! ```
//!
//! n counts the GPUs without a job of y = 1: a gang's y is 1/g, so it never counts as running and is matched anew each time,
//! and its GPUs are taken for free. GPUs are identical there, so the matching has a closed form: sorted by time left, the
//! shortest come first, and of the jobs that tie for the last first places the longest do.

use crate::gavel_rounds::{Fractions, GavelRounds, spread};
use evenhand_core::{Job, JobId, Limits, ModelIndex, PerModel, Plan, Policy, PolicyError, Snapshot, Span};

/// The fork's proportional share.
pub(crate) struct ProportionalShare {
    pub rounds: GavelRounds,
}

impl Policy for ProportionalShare {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(self.rounds.decide(snapshot, |snapshot, _, (): &mut ()| {
            let jobs_count = snapshot.jobs.len() as f64;
            let row = spread(snapshot, |model| f64::from(snapshot.cluster.capacity(model).0) / jobs_count);
            snapshot.jobs.iter().map(|(_, job)| (job.spec.id, row)).collect()
        }))
    }
}

/// The fork's matching.
pub(crate) struct ForkMatching {
    pub rounds: GavelRounds,
    /// The part of the waiting jobs that enters the matching.
    pub alpha: f64,
}

const MODEL: ModelIndex = ModelIndex(0);

impl Policy for ForkMatching {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(self.rounds.decide(snapshot, |snapshot, before, (): &mut ()| self.match_jobs(snapshot, before)))
    }
}

impl ForkMatching {
    fn match_jobs(&self, snapshot: &Snapshot, before: &Fractions) -> Fractions {
        let runs = |id: JobId| before.get(&id).is_some_and(|row| row[MODEL] >= 1.0);
        let (kept, mut others): (Vec<&Job>, Vec<&Job>) =
            snapshot.jobs.iter().map(|(_, job)| job).partition(|job| runs(job.spec.id));
        others.sort_unstable_by_key(|job| (job.submitted, job.spec.id));
        let free = (snapshot.cluster.capacity(MODEL).0 as usize).saturating_sub(kept.len());
        others.truncate(((self.alpha * others.len() as f64) as usize).max(free));
        let mut fractions: Fractions =
            snapshot.jobs.iter().map(|(_, job)| (job.spec.id, PerModel::all(0.0))).collect();
        let mut give = |id: JobId, fraction: f64| {
            if let Some(row) = fractions.get_mut(&id) {
                row[MODEL] = fraction;
            }
        };
        for job in &kept {
            give(job.spec.id, 1.0);
        }
        for job in first_places(snapshot, others, free) {
            give(job.spec.id, 1.0 / f64::from(job.spec.gpus.min.0));
        }
        fractions
    }
}

/// The jobs that come first on one of `free` identical GPUs in an order of least total completion time.
fn first_places<'a>(snapshot: &Snapshot, mut jobs: Vec<&'a Job>, free: usize) -> Vec<&'a Job> {
    let left = |job: &Job| {
        let index = snapshot.jobs.index(job.spec.id);
        index.and_then(|index| snapshot.remaining_time(index, job)).unwrap_or(Span(u64::MAX))
    };
    jobs.sort_by_key(|job| (left(job), job.submitted, job.spec.id));
    if jobs.len() <= free || free == 0 {
        jobs.truncate(free);
        return jobs;
    }
    // The shortest `remainder` jobs have a position more before the end than the others; the `free` jobs after them tie.
    let remainder = jobs.len() % free;
    let tied = remainder..remainder + free;
    let firsts = jobs[..remainder].iter().chain(&jobs[tied.end - (free - remainder)..tied.end]);
    firsts.copied().collect()
}
