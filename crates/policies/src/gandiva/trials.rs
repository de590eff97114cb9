//! Trial and undo: what was tried, and what came of it.

use super::tables::shared_gpu;
use evenhand_core::{Job, JobId, JobIndex, LeaseState, Snapshot, Span, Time, Work};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Two jobs on one GPU, the one that was there first.
pub(crate) type Pair = (JobId, JobId);

/// Two jobs on one GPU, under observation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Trial {
    pub pair: Pair,
    pub since: Time,
    /// How far each was, and when, as soon as both had been heard of together.
    pub start: Option<[(Time, Work); 2]>,
}

/// What was tried, and what came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tried {
    /// Pairs that share a GPU.
    pub trials: Vec<Trial>,
    /// Pairs that got less done together than by taking turns.
    pub bad: BTreeSet<Pair>,
    /// Gangs that were moved.
    pub moved: BTreeSet<JobId>,
}

impl Tried {
    /// Forgets who is gone, and judges the pairs that have been watched for long enough.
    pub fn review(&mut self, snapshot: &Snapshot, quantum: Span) {
        let active = |id: &JobId| snapshot.jobs.by_id(*id).is_some();
        self.bad.retain(|(host, guest)| active(host) && active(guest));
        self.moved.retain(active);
        let trials = std::mem::take(&mut self.trials);
        for trial in trials {
            // Over when one of them has left the GPU, for whatever reason.
            let Some([host, guest]) = together_now(snapshot, trial.pair) else { continue };
            let start = trial.start.or_else(|| {
                // What restoring a checkpoint takes is not the other's fault.
                let settled = |(index, job): (JobIndex, &Job)| {
                    job.heard >= trial.since + snapshot.forecast(index).restart.mean
                };
                (settled(host) && settled(guest))
                    .then_some([(host.1.heard, host.1.done), (guest.1.heard, guest.1.done)])
            });
            match start.and_then(|start| rates(snapshot, [host, guest], start, quantum)) {
                Some(sum) if sum <= 1.0 => {
                    self.bad.insert(trial.pair);
                }
                _ => self.trials.push(Trial { start, ..trial }),
            }
        }
    }
}

/// Both jobs of a pair, if they run on one GPU.
fn together_now(snapshot: &Snapshot, (host, guest): Pair) -> Option<[(JobIndex, &Job); 2]> {
    let find = |id: JobId| {
        let index = snapshot.jobs.index(id)?;
        let job = snapshot.jobs.get(index);
        let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting())?;
        Some(((index, job), shared_gpu(lease)?))
    };
    let ((host, a), (guest, b)) = (find(host)?, find(guest)?);
    (a == b).then_some([host, guest])
}

/// The sum of the rates seen, each over the rate alone; `None` until both have been heard of for a quantum.
fn rates(
    snapshot: &Snapshot,
    pair: [(JobIndex, &Job); 2],
    start: [(Time, Work); 2],
    quantum: Span,
) -> Option<f64> {
    let mut sum = 0.0;
    for ((index, job), (heard, done)) in pair.into_iter().zip(start) {
        let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.state == LeaseState::Held)?;
        let model = snapshot.model_of(lease)?;
        let span = job.heard.since(heard);
        let alone = snapshot.forecast(index).speed[model].mean.get();
        if span < quantum || span == Span::ZERO || alone <= 0.0 {
            return None;
        }
        sum += job.done.less(done).steps() / span.seconds() / alone;
    }
    Some(sum)
}
