//! Max-min fairness of throughput where two jobs may share a GPU.
//!
//! ```text
//! maximise min_i (1/pi_i) (g_i / rprop_i) thr_i(y)
//! y_cj   fraction of time that combination c runs on model j: a job alone, or a pair of jobs of one GPU each
//! sum_{c with i} sum_j y_cj <= 1 ,   thr_i = sum over c with i of sum_j r_ijc y_cj ,   sum_c g_c y_cj <= m_j
//! ```
//!
//! Jobs that need not be told apart are one class, so there are as many combinations as pairs of classes, not of jobs. Only
//! pairs that are believed to get more done together than by taking turns enter, and only on GPUs with more than one slot;
//! where there are none, this is max-min-perf.
//!
//! The program says how much time everybody should spend on each model. In rounds whoever is owed most comes first, and those for whom no
//! GPU is left are put beside the job with which they get most done; a pair that disappoints is parted, as in Gandiva. Differs
//! from the originals: gangs are not packed, and pairs are made when there is somebody to pair rather than held to their fractions.

use super::combinations::divide;
use super::max_min_perf::Perf;
use super::{Following, PARAMETERS};
use crate::division::rounding::Claim;
use crate::division::{Parties, quality, shares as owed};
use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, Room};
use crate::gandiva::{Tables, Tried};
use crate::gavel_rounds::fork;
use crate::registry::{Entry, Promise};
use evenhand_core::{
    GpuCount, Job, Limits, Memory, ModelIndex, Others, Plan, Policy, PolicyError, Reason, Snapshot, Span,
};
use evenhand_solve::Division;
use serde::{Deserialize, Serialize};

/// How long a pair is watched before it is judged.
const WATCHED: Span = Span::from_minutes(1);

pub(crate) const ENTRY: Entry = Entry {
    name: "max-min-packed",
    summary: "As max-min-perf, and jobs that get along share a GPU.",
    paper: "Gavel, OSDI 2020",
    promises: &[Promise::WorkConserving],
    parameters: PARAMETERS,
    divide: None,
    build: |parameters| {
        let alone = Following::of(Perf, parameters)?;
        // The published rules know no shared GPUs.
        if fork(parameters)?.is_some() {
            return Ok(alone);
        }
        Ok(Box::new(Packed { alone, preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)? }))
    },
};

struct Packed {
    alone: Box<dyn Policy>,
    preempt: Preempt,
}

/// What is remembered from one decision to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    round: Span,
    tried: Tried,
}

impl Policy for Packed {
    fn decide(&self, snapshot: &Snapshot, limits: Limits) -> Result<Plan, PolicyError> {
        if snapshot.cluster.nodes.iter().all(|node| node.slots <= 1) {
            return self.alone.decide(snapshot, limits);
        }
        let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Remembered>());
        let mut memory = known.map_or_else(Remembered::default, |known| (*known).clone());
        memory.tried.review(snapshot, WATCHED);
        let jobs = Parties::of_jobs(snapshot);
        let division = divide(snapshot, &jobs)?;
        let due = self.preempt.is_due(snapshot);
        if due || memory.round == Span::ZERO {
            memory.round = snapshot.next_round.since(snapshot.now);
        }
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        Serving { snapshot, jobs: &jobs, division: &division, due }.serve(&mut memory, &mut plan);
        plan.quality = quality(&division);
        plan.shares = Some(owed(snapshot, &jobs, &division));
        plan.memory = Memory::new(memory);
        Ok(plan)
    }
}

/// One round: whoever is owed most first, then whoever fits, then those who fit beside another.
struct Serving<'a> {
    snapshot: &'a Snapshot,
    jobs: &'a Parties<'a>,
    division: &'a Division,
    due: bool,
}

impl Serving<'_> {
    fn serve(&self, memory: &mut Remembered, plan: &mut Plan) {
        let mut room = if self.due { Room::whole(self.snapshot) } else { Room::left_over(self.snapshot) };
        let mut tables = Tables::new(self.snapshot);
        let mut granted = vec![false; self.jobs.rows.len()];
        let claims = self.claims(memory.round);
        // First those who would not have to leave GPUs for these.
        for moving in [false, true] {
            for (at, model) in &claims {
                let (index, job) = self.jobs.rows[*at].jobs[0];
                let elsewhere = self.held(job).is_some_and(|(held, _)| held != *model);
                if granted[*at] || elsewhere != moving {
                    continue;
                }
                if let Ok(grant) = tables.turn((index, job), Some(*model), &memory.tried, &mut room) {
                    granted[*at] = true;
                    plan.grants.push(grant);
                }
            }
        }
        let mut rest: Vec<usize> = Vec::new();
        for at in claims.iter().map(|(at, _)| *at).chain(0..granted.len()) {
            if !rest.contains(&at) && !granted[at] && self.is_open(self.jobs.rows[at].jobs[0].1) {
                rest.push(at);
            }
        }
        for at in rest {
            let (index, job) = self.jobs.rows[at].jobs[0];
            match tables.turn((index, job), None, &memory.tried, &mut room) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        plan.refused.extend(self.jobs.nowhere.iter().map(|job| (job.spec.id, Reason::NoModel)));
        tables.pack(plan, &mut memory.tried, &mut room, self.due);
    }

    fn is_open(&self, job: &Job) -> bool {
        self.due || job.is_queued()
    }

    fn held(&self, job: &Job) -> Option<(ModelIndex, GpuCount)> {
        let lease = self.snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting())?;
        Some((self.snapshot.model_of(lease)?, lease.gpus.count()))
    }

    /// The jobs with a claim to GPUs of a model, those first that must be served first.
    fn claims(&self, round: Span) -> Vec<(usize, ModelIndex)> {
        let length = round.0.max(1) as f64;
        let mut claims = Vec::new();
        for (at, (row, gpus)) in self.jobs.rows.iter().zip(self.division.shares.rows()).enumerate() {
            if !self.is_open(row.jobs[0].1) {
                continue;
            }
            for (model, share) in self.snapshot.cluster.model_indices().zip(gpus) {
                let owed = self.snapshot.balances.on(row.party, model) / length;
                let coming = std::slice::from_ref(share);
                let claim = Claim { place: at, gpus: share + owed, coming, gang: row.gang.0 };
                if claim.is_open() {
                    claims.push((claim.deadline(), claim.gpus, at, model));
                }
            }
        }
        claims.sort_by(|a, b| {
            a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3))
        });
        claims.into_iter().map(|(_, _, at, model)| (at, model)).collect()
    }
}
