//! Finish-time fairness: nobody finishes late against having had its part of the cluster to itself.
//!
//! ```text
//! minimise max_i rho_i      subject to base
//! rho_i = ( age_i + left_i / thr_i(y) ) / ( tiso_i + left_i / riso_i )
//! riso_i = sum_j r_ij yiso_ij ,   yiso_ij = q_ij / max(1, sum_j q_ij) ,   q_ij = m_j / (N g_i)
//! tiso_i = sum over past decisions of (work done since) / (riso in force then)
//! ```
//!
//! For a given rho everybody needs thr_i >= left_i / (rho iso_i - age_i); whether that can be is a max-min program, and the least
//! rho is found by halving. Where a job would need more than all of its time on its fastest model it is given that, and
//! does not hold up the others: they are served as though it were not behind. Weights do not count, as in the originals.
//!
//! The originals let that job's rho stand for everybody, and take whatever point an interior-point solver then finds.
//!
//! This is what Gavel and Shockwave call Themis; the auction of that name is another policy.

use super::max_sum_throughput::batch;
use super::min_total_duration::LEFT_LEAST;
use super::rho::{Terms, least_rho, published};
use super::{Following, PARAMETERS, Program, Question};
use crate::gavel_rounds::spread;
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{Job, JobId, JobIndex, Snapshot};
use evenhand_solve::Division;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub(crate) const ENTRY: Entry = Entry {
    name: "finish-time-fairness",
    summary: "The largest delay, against having had a private part of the cluster, as small as can be.",
    paper: "Gavel, OSDI 2020 (after Themis, NSDI 2020)",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances],
    parameters: PARAMETERS,
    divide: None,
    build: |parameters| Following::of(FinishTime, parameters),
};

struct FinishTime;

/// What a job would have needed alone so far, and what that is counted from.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Past {
    isolated_s: f64,
    left: f64,
    rate: f64,
}

impl Program for FinishTime {
    type Own = BTreeMap<JobId, Past>;

    fn answer(&self, question: &Question<'_>, own: &mut Self::Own) -> Result<Division, DivideError> {
        let market = &question.jobs.market;
        market.check()?;
        let terms = terms(question, own);
        if question.published && market.models() == 1 {
            return Ok(published(market, &terms));
        }
        Ok(least_rho(market, &terms, &question.effort))
    }
}

/// Everybody's terms; what is remembered moves on.
fn terms(question: &Question<'_>, own: &mut BTreeMap<JobId, Past>) -> Vec<Terms> {
    let Question { snapshot, jobs, published, .. } = *question;
    let unit = |job: &Job| if published { f64::from(batch(job)) } else { 1.0 };
    let left: Vec<Option<f64>> = (jobs.rows.iter())
        .map(|row| snapshot.remaining_time(row.jobs[0].0, row.jobs[0].1).map(evenhand_core::Span::seconds))
        .collect();
    let longest = left.iter().flatten().copied().fold(0.0, f64::max).max(LEFT_LEAST.seconds());
    let least = if published { 1e-3 } else { LEFT_LEAST.seconds() };
    let mut terms = Vec::with_capacity(jobs.rows.len());
    let mut next = BTreeMap::new();
    for (party, row) in jobs.rows.iter().enumerate() {
        let (index, job) = row.jobs[0];
        let left = left[party].unwrap_or(longest).max(least);
        let alone = jobs.market.throughput(party, &private(snapshot, jobs.rows.len(), row.gang.0));
        let rate = fastest(snapshot, index, job) / unit(job);
        let mut past = own.get(&job.spec.id).copied().unwrap_or_default();
        if past.rate > 0.0 {
            past.isolated_s += (past.left - left * rate) / past.rate;
        }
        if !published {
            // Work that a crash has undone is to be done again; it was not done in less than no time.
            past.isolated_s = past.isolated_s.max(0.0);
        }
        let isolated = (past.isolated_s + left / alone).max(least);
        terms.push(Terms { age: snapshot.now.since(job.submitted).seconds(), left, isolated });
        next.insert(job.spec.id, Past { left: left * rate, rate: rate * alone, ..past });
    }
    *own = next;
    terms
}

/// yiso: fractions of time on each model with a private part of the cluster.
fn private(snapshot: &Snapshot, jobs_count: usize, gang: u32) -> Vec<f64> {
    let part = 1.0 / (jobs_count as f64 * f64::from(gang));
    let row = spread(snapshot, |model| f64::from(snapshot.cluster.capacity(model).0) * part);
    snapshot.cluster.model_indices().map(|model| row[model]).collect()
}

fn fastest(snapshot: &Snapshot, index: JobIndex, job: &Job) -> f64 {
    let models = snapshot.cluster.model_indices().filter(|model| {
        job.spec.models.allows(*model) && job.spec.gpus.min <= snapshot.cluster.capacity(*model)
    });
    models.map(|model| snapshot.forecast(index).speed[model].mean.get()).fold(0.0, f64::max)
}
