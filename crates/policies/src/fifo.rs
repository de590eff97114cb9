//! First come, first served: a job keeps its GPUs to its end.
//!
//! ```text
//! order jobs by (urgency, a_i) ;  start the first, then the next, ... while each fits
//! strict:    stop at the first gang that does not fit
//! backfill:  pass it over, at the risk that it waits for ever
//! ```

use crate::Promise;
use crate::fill::Room;
use crate::gavel_rounds::{Fractions, GavelRounds, RESET, ROUND, VARIANT, fork, runs_on};
use crate::registry::Entry;
use evenhand_core::{
    GpuCount, Job, JobId, Limits, ModelIndex, Others, ParameterSpec, PerModel, Plan, Policy, PolicyError,
    Reason, Snapshot,
};
use std::collections::VecDeque;

const BACKFILL: ParameterSpec = ParameterSpec {
    name: "backfill",
    default: "false",
    summary: "let smaller jobs overtake one that does not fit yet",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "First come, first served; a job keeps its GPUs to its end.",
    paper: "classical",
    promises: &[Promise::NeverPreempts],
    parameters: &[BACKFILL, VARIANT, RESET, ROUND],
    divide: None,
    build: |parameters| {
        let backfill = parameters.read(&BACKFILL, "it is true or false")?;
        Ok(match fork(parameters)? {
            Some(rounds) => Box::new(Fork { rounds: GavelRounds { runs_without_priority: false, ..rounds } }),
            None => Box::new(Fifo { backfill }),
        })
    },
};

/// As in the published simulators. Jobs that ended are replaced one by one while the others are still being counted, so
/// that more GPUs may be given away than there are; the rounds then take turns.
struct Fork {
    rounds: GavelRounds,
}

/// Jobs that were given GPUs until their end, and of which model.
type Holders = Vec<(JobId, ModelIndex)>;

impl Policy for Fork {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        Ok(self.rounds.decide(snapshot, |snapshot, _, held: &mut Holders| {
            *held = Line::new(snapshot, held).replace(held);
            let mut fractions: Fractions =
                snapshot.jobs.iter().map(|(_, job)| (job.spec.id, PerModel::all(0.0))).collect();
            for (id, model) in held.iter() {
                if let Some(row) = fractions.get_mut(id) {
                    row[*model] = 1.0;
                }
            }
            fractions
        }))
    }
}

/// Jobs that hold nothing, first come first, and the GPUs that the others have been seen to leave.
struct Line<'a> {
    snapshot: &'a Snapshot,
    queue: VecDeque<&'a Job>,
    free: PerModel<GpuCount>,
}

impl<'a> Line<'a> {
    fn new(snapshot: &'a Snapshot, held: &Holders) -> Self {
        let jobs = snapshot.jobs.iter().map(|(_, job)| job);
        let mut queue: Vec<&Job> = jobs.filter(|job| held.iter().all(|(id, _)| *id != job.spec.id)).collect();
        queue.sort_unstable_by_key(|job| job.spec.id);
        Self { snapshot, queue: queue.into(), free: snapshot.cluster.capacities() }
    }

    /// Who holds GPUs from now on: those that still run, then newcomers in the place of those that ended.
    fn replace(mut self, held: &Holders) -> Holders {
        let (mut kept, mut admitted) = (Holders::new(), Holders::new());
        for (id, model) in held {
            match self.snapshot.jobs.by_id(*id) {
                Some(job) => {
                    self.free[*model] = self.free[*model].less(job.spec.gpus.min);
                    kept.push((*id, *model));
                }
                None => admitted.extend(self.admit(Some(*model))),
            }
        }
        admitted.extend(std::iter::from_fn(|| self.admit(None)));
        kept.into_iter().chain(admitted).collect()
    }

    /// Gives the first in line GPUs of the preferred model if they will do, else of the first model that has them.
    fn admit(&mut self, preferred: Option<ModelIndex>) -> Option<(JobId, ModelIndex)> {
        let job = *self.queue.front()?;
        let gang = job.spec.gpus.min;
        let mut models = preferred.into_iter().chain(self.snapshot.cluster.model_indices());
        let model = models.find(|model| gang <= self.free[*model] && runs_on(self.snapshot, job, *model))?;
        self.queue.pop_front();
        self.free[model] = self.free[model].less(gang);
        Some((job.spec.id, model))
    }
}

struct Fifo {
    backfill: bool,
}

impl Policy for Fifo {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut room = Room::left_over(snapshot);
        let mut reason = Reason::FirstCome;
        for (index, job) in snapshot.jobs.queue() {
            if room.total() == GpuCount::ZERO {
                break;
            }
            match room.grant(index, job, reason) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => {
                    plan.refused.push((job.spec.id, why));
                    if !self.backfill {
                        break;
                    }
                    reason = Reason::Backfilled;
                }
            }
        }
        Ok(plan)
    }
}
