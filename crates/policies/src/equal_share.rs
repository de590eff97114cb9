//! Equal GPUs for every tenant, by weight.
//!
//! ```text
//! x_t = weighted max-min share of M GPUs   demand d_t = sum over t's jobs of their most GPUs, weight pi_t
//! c_t = x_t + b_t / repay - h_t            b_t = owed minus received so far, h_t = granted in this plan
//! repeat: the tenant with the largest c_t / pi_t is granted its next job that fits
//! ```
//!
//! Whole GPUs and gangs never match x_t exactly; the balance b_t makes good over time what one round cannot. A GPU
//! counts as a GPU whatever its model. Inside a tenant: urgency, then first come.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, REPAY, Room, candidates, slice};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{
    Job, JobIndex, JobState, Limits, Others, Party, Plan, Policy, PolicyError, Reason, Shares, Snapshot,
    Span, TenantId,
};
use evenhand_fairness::water_fill;
use evenhand_solve::{Division, Market, Matrix};
use std::collections::VecDeque;

pub(crate) const ENTRY: Entry = Entry {
    name: "equal-share",
    summary: "Equal GPUs for every tenant, by weight, made good over time.",
    paper: "max-min fairness; Bertsekas and Gallager 1992",
    promises: &[
        Promise::WorkConserving,
        Promise::CarriesBalances,
        Promise::EnvyFree,
        Promise::SharingIncentive,
        Promise::Truthful,
    ],
    parameters: &[PREEMPT_AT_ROUNDS, REPAY],
    divide: Some(|market, _| split(market)),
    build: |parameters| {
        let repay = parameters.span(&REPAY)?;
        let preempt = Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?;
        Ok(Box::new(EqualShare { preempt, repay }))
    },
};

struct EqualShare {
    preempt: Preempt,
    repay: Span,
}

/// A tenant with jobs: what it may still claim, and the jobs it would claim it for.
struct Claim<'a> {
    tenant: TenantId,
    weight: f64,
    credit: f64,
    jobs: VecDeque<(JobIndex, &'a Job)>,
}

impl Policy for EqualShare {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let shares = shares(snapshot);
        let due = self.preempt.is_due(snapshot);
        let mut claims = self.claims(snapshot, &shares, due);
        let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        while let Some(claim) = neediest(&mut claims) {
            let Some((index, job)) = claim.jobs.pop_front() else { continue };
            match room.grant(index, job, Reason::MostOwed) {
                Ok(grant) => {
                    claim.credit -= f64::from(grant.gpus.0);
                    plan.grants.push(grant);
                }
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        let rows =
            shares.iter().map(|(tenant, gpus)| (Party::Tenant(*tenant), slice(snapshot, *gpus))).collect();
        plan.shares = Some(Shares { rows });
        Ok(plan)
    }
}

impl EqualShare {
    fn claims<'a>(&self, snapshot: &'a Snapshot, shares: &[(TenantId, f64)], due: bool) -> Vec<Claim<'a>> {
        let mut by_tenant: Vec<Option<usize>> = Vec::new();
        let mut claims: Vec<Claim<'a>> = Vec::with_capacity(shares.len());
        for (tenant, gpus) in shares {
            let owed = snapshot.balances.total(Party::Tenant(*tenant)) / self.repay.0 as f64;
            let weight = snapshot.tenants.weight(*tenant).get();
            by_tenant.resize(by_tenant.len().max(tenant.index() + 1), None);
            by_tenant[tenant.index()] = Some(claims.len());
            claims.push(Claim { tenant: *tenant, weight, credit: gpus + owed, jobs: VecDeque::new() });
        }
        if !due {
            for lease in snapshot.leases.iter().filter(|lease| lease.is_lasting()) {
                let tenant = snapshot.jobs.by_id(lease.job).map(|job| job.spec.tenant);
                if let Some(at) = tenant.and_then(|tenant| by_tenant[tenant.index()]) {
                    claims[at].credit -= f64::from(lease.gpus.count().0);
                }
            }
        }
        let mut jobs: Vec<_> = candidates(snapshot, self.preempt).collect();
        jobs.sort_unstable_by_key(|(_, job)| job.queue_key());
        for (index, job) in jobs {
            if let Some(at) = by_tenant[job.spec.tenant.index()] {
                claims[at].jobs.push_back((index, job));
            }
        }
        claims
    }
}

/// The same part of every GPU model, by weight, for whoever can use it.
fn split(market: &Market) -> Result<Division, DivideError> {
    market.check()?;
    let parties: Vec<(f64, f64)> =
        market.weights.iter().copied().zip(market.demands.iter().copied()).collect();
    let capacity: f64 = market.capacity.iter().sum();
    let rows: Vec<Vec<f64>> = water_fill(&parties, capacity)
        .into_iter()
        .map(|gpus| market.capacity.iter().map(|model| model * gpus / capacity).collect())
        .collect();
    Ok(Division::by_rule(market, Matrix::from_rows(&rows)))
}

/// The tenant with jobs left whose claim per weight is the largest; of equals the first.
fn neediest<'a, 'b>(claims: &'b mut [Claim<'a>]) -> Option<&'b mut Claim<'a>> {
    let level = |claim: &Claim<'_>| claim.credit / claim.weight;
    let waiting = claims.iter_mut().filter(|claim| !claim.jobs.is_empty());
    waiting.max_by(|a, b| level(a).total_cmp(&level(b)).then(b.tenant.cmp(&a.tenant)))
}

/// The weighted max-min share in GPUs of every tenant with active jobs, in order of tenant.
fn shares(snapshot: &Snapshot) -> Vec<(TenantId, f64)> {
    let mut demand: Vec<f64> = Vec::new();
    for (_, job) in snapshot.jobs.iter().filter(|(_, job)| job.state != JobState::Held) {
        let at = job.spec.tenant.index();
        demand.resize(demand.len().max(at + 1), 0.0);
        demand[at] += f64::from(job.spec.gpus.max.0);
    }
    let active: Vec<TenantId> =
        (0..demand.len() as u32).map(TenantId).filter(|tenant| demand[tenant.index()] > 0.0).collect();
    let parties: Vec<_> = active
        .iter()
        .map(|tenant| (snapshot.tenants.weight(*tenant).get(), demand[tenant.index()]))
        .collect();
    let capacity = f64::from(snapshot.cluster.capacity_total().0);
    active.into_iter().zip(water_fill(&parties, capacity)).collect()
}
