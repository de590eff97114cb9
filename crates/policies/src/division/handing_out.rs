//! From shares to grants: whole gangs for whoever must be served first.
//!
//! A job is granted GPUs of one model; a party with shares of several gives them to different jobs, because a synchronous
//! job on mixed models runs at its slowest worker. A job that asks for mixed models gets them from what is left over.

use super::parties::{Parties, Row};
use super::probing::probes;
use super::rounding::{Claim, Queue};
use crate::fill::Room;
use evenhand_core::{GpuCount, Grant, Job, JobId, ModelIndex, Plan, Reason, Site, Snapshot, Span};
use evenhand_solve::Division;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// On what terms GPUs are handed out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Whether running jobs are up for decision.
    pub due: bool,
    /// The length of a round.
    pub round: Span,
    /// Whether GPUs that nobody has a claim to go to whoever can use them.
    pub lends: bool,
}

/// Grants what the shares amount to in the round to come.
pub(crate) fn hand_out(
    snapshot: &Snapshot,
    parties: &Parties<'_>,
    division: &Division,
    Terms { due, round, lends }: Terms,
    plan: &mut Plan,
) {
    let room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
    let mut handing = Handing { snapshot, parties, room, due, granted: BTreeMap::new() };
    let mut claims = handing.claims(division, round);
    if due {
        handing.probe(&mut claims);
    }
    // First those who are glad of what they get; then those who would have to move for it.
    let claims = handing.serve(claims, division, Handing::glad);
    let claims = handing.serve(claims, division, Handing::anybody);
    handing.grow(&claims);
    handing.give_the_rest(&claims, lends, plan);
    plan.grants.extend(handing.granted.into_values().map(|(grant, _)| grant));
    // Whoever has more workers is placed first, while there is room to keep them together.
    plan.grants.sort_by_key(|grant| (Reverse(grant.gpus), grant.job));
}

struct Handing<'a> {
    snapshot: &'a Snapshot,
    parties: &'a Parties<'a>,
    room: Room<'a>,
    due: bool,
    granted: BTreeMap<JobId, (Grant, Option<ModelIndex>)>,
}

/// Places of a party's jobs in the order they are served, and how far that has come. Whoever was granted GPUs is passed for good.
struct Line {
    order: Vec<usize>,
    next: usize,
}

/// GPUs that each party should still hold of each model: one row of models after the other.
type Claims = Vec<f64>;

impl<'a> Handing<'a> {
    fn models(&self) -> usize {
        self.parties.market.models()
    }

    /// The share and what is owed, spread over the round to come; less what is held, if that is not up for decision.
    fn claims(&self, division: &Division, round: Span) -> Claims {
        let length = round.0.max(1) as f64;
        let mut claims = Vec::with_capacity(self.parties.rows.len() * self.models());
        for (row, shares) in self.parties.rows.iter().zip(division.shares.rows()) {
            for (model, share) in self.snapshot.cluster.model_indices().zip(shares) {
                claims.push(share + self.snapshot.balances.on(row.party, model) / length);
            }
        }
        if !self.due {
            for (at, row) in self.parties.rows.iter().enumerate() {
                for (_, job) in &row.jobs {
                    if let Some((model, gpus)) = self.held(job) {
                        claims[at * self.models() + usize::from(model.0)] -= f64::from(gpus.0);
                    }
                }
            }
        }
        claims
    }

    fn held(&self, job: &Job) -> Option<(ModelIndex, GpuCount)> {
        let lease = self.snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting())?;
        Some((self.snapshot.model_of(lease)?, lease.gpus.count()))
    }

    /// Whether a job may be decided about, and would not have to leave GPUs for these.
    fn glad(&self, job: &Job, model: ModelIndex) -> bool {
        job.is_queued() || (self.due && self.held(job).is_none_or(|(held, _)| held == model))
    }

    fn anybody(&self, job: &Job, _model: ModelIndex) -> bool {
        self.due || job.is_queued()
    }

    /// Lets some jobs run where it is to be found out how fast they are: rather one that waits than one that runs elsewhere.
    fn probe(&mut self, claims: &mut Claims) {
        for (party, model) in probes(self.snapshot, self.parties) {
            let row = &self.parties.rows[party];
            let granted = [Self::glad, Self::anybody].into_iter().find_map(
                |may: fn(&Self, &Job, ModelIndex) -> bool| {
                    let mut line = self.line(row, model, may);
                    self.grant_next(row, model, &mut line, Reason::Probe)
                },
            );
            if let Some(gpus) = granted {
                claims[party * self.models() + usize::from(model.0)] -= f64::from(gpus.0);
            }
        }
    }

    /// Serves the claims, those first that must be served first; what is left of them comes back.
    fn serve(
        &mut self,
        mut claims: Claims,
        division: &Division,
        may: fn(&Self, &Job, ModelIndex) -> bool,
    ) -> Claims {
        let models = self.models();
        let shares: Vec<f64> = division.shares.rows().flatten().copied().collect();
        let mut queue = Queue::default();
        let mut lines: BTreeMap<usize, Line> = BTreeMap::new();
        for place in 0..claims.len() {
            let gang = self.parties.rows[place / models].gang.0;
            let coming = std::slice::from_ref(&shares[place]);
            queue.push(Claim { place, gpus: claims[place], coming, gang });
        }
        while let Some(mut claim) = queue.pop() {
            let (party, model) = (claim.place / models, ModelIndex((claim.place % models) as u16));
            let row = &self.parties.rows[party];
            let line = lines.entry(claim.place).or_insert_with(|| self.line(row, model, may));
            if let Some(gpus) = self.grant_next(row, model, line, Reason::MostOwed) {
                claim.gpus -= f64::from(gpus.0);
                claims[claim.place] = claim.gpus;
                queue.push(claim);
            }
        }
        claims
    }

    /// The jobs of a party that may be granted GPUs of a model: those that are there already, then as they are served.
    fn line(&self, row: &Row<'a>, model: ModelIndex, may: fn(&Self, &Job, ModelIndex) -> bool) -> Line {
        let mut order: Vec<usize> =
            (0..row.jobs.len()).filter(|at| may(self, row.jobs[*at].1, model)).collect();
        let elsewhere = |at: &usize| self.held(row.jobs[*at].1).is_none_or(|(held, _)| held != model);
        order.sort_by_key(elsewhere);
        Line { order, next: 0 }
    }

    /// Grants GPUs of a model to the next job in line.
    fn grant_next(
        &mut self,
        row: &Row<'a>,
        model: ModelIndex,
        line: &mut Line,
        reason: Reason,
    ) -> Option<GpuCount> {
        if row.gang > self.room.free(model) && self.due {
            return None;
        }
        let granted = |at: &usize| self.granted.contains_key(&row.jobs[*at].1.spec.id);
        while line.order.get(line.next).is_some_and(granted) {
            line.next += 1;
        }
        let (index, job) = row.jobs[*line.order.get(line.next)?];
        let grant = self.room.grant_on(index, job, model, reason)?;
        let gpus = grant.gpus;
        self.granted.insert(job.spec.id, (grant, Some(model)));
        Some(gpus)
    }

    /// Lets jobs that can use more have what their party's claim still covers.
    fn grow(&mut self, claims: &Claims) {
        let models = self.models();
        for (at, row) in self.parties.rows.iter().enumerate() {
            for (_, job) in row.jobs.iter().filter(|(_, job)| job.spec.gpus.max > job.spec.gpus.min) {
                let Some((grant, Some(model))) = self.granted.get_mut(&job.spec.id) else { continue };
                let claim = claims[at * models + usize::from(model.0)];
                let more = GpuCount(claim.max(0.0) as u32).min(job.spec.gpus.max.less(grant.gpus));
                let more = more.min(self.room.most_more(job, *model));
                if more > GpuCount::ZERO && grant.site == Site::Model(*model) {
                    self.room.grow(grant, job, *model, more);
                }
            }
        }
    }

    /// No GPU idles that somebody could use: those who are owed most per weight come first.
    fn give_the_rest(&mut self, claims: &Claims, lends: bool, plan: &mut Plan) {
        let models = self.models();
        let mut order: Vec<(usize, f64)> = (0..self.parties.rows.len())
            .map(|at| {
                let claim: f64 = claims[at * models..(at + 1) * models].iter().sum();
                (at, claim / self.parties.market.weights[at])
            })
            .collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for (at, _) in order {
            for (index, job) in &self.parties.rows[at].jobs {
                if self.granted.contains_key(&job.spec.id) || !self.anybody(job, ModelIndex(0)) {
                    continue;
                }
                if !lends {
                    plan.refused.push((job.spec.id, Reason::NoClaim));
                    continue;
                }
                match self.room.grant(*index, job, Reason::LeftOver) {
                    Ok(grant) => {
                        self.granted.insert(job.spec.id, (grant, None));
                    }
                    Err(why) => plan.refused.push((job.spec.id, why)),
                }
            }
        }
        plan.refused.extend(self.parties.nowhere.iter().map(|job| (job.spec.id, Reason::NoModel)));
    }
}
