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

use super::centre::{INVERSE, centre, division_of};
use super::max_sum_throughput::batch;
use super::min_total_duration::LEFT_LEAST;
use super::{Following, PARAMETERS, Program, Question};
use crate::gavel_rounds::spread;
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{Job, JobId, JobIndex, Snapshot};
use evenhand_solve::{Division, Effort, Ladder, Level, Market, raise};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How near the least rho is found, relative.
const NEAR: f64 = 1e-7;
/// Everybody has all it can use if not even this rho is out of reach.
const RHO_LEAST: f64 = 1e-6;
/// Nobody is that late.
const RHO_MOST: f64 = 1e12;
/// A level of 1 less a rounding error is reached.
const REACHED: f64 = 1.0 - 1e-8;
/// Halvings of an interval that is known well: enough for every bit.
const HALVINGS: u32 = 60;

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

/// One job's terms, in seconds.
#[derive(Clone, Copy, Debug)]
struct Terms {
    age: f64,
    /// What is left to do, alone on its GPUs of its fastest model.
    left: f64,
    /// From submission to the end, with a private part of the cluster.
    isolated: f64,
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

/// The division at the least rho.
fn least_rho(market: &Market, terms: &[Terms], effort: &Effort) -> Division {
    let mut prices = effort.prices.clone();
    let mut level = |rho: f64| -> Level {
        let slope = terms.iter().zip(&market.demands).map(|(terms, gang)| gang * terms.needs(rho)).collect();
        let ladder = Ladder { base: vec![0.0; market.parties()], slope };
        let found = raise(market, &ladder, &Effort { prices: prices.take(), ..effort.clone() });
        prices = Some(found.division.prices.clone());
        found
    };
    // Some rho that can be, and one that cannot.
    let (mut low, mut high) = (RHO_LEAST, 1.0);
    let mut best = level(high);
    while best.division.value < REACHED && high < RHO_MOST {
        (low, high) = (high, 2.0 * high);
        best = level(high);
    }
    while high > low * (1.0 + NEAR) {
        // Halved on a scale of ratios while far apart.
        let middle = (low * high).sqrt();
        let found = level(middle);
        if found.division.value < REACHED {
            low = middle;
        } else {
            (high, best) = (middle, found);
        }
    }
    Division { value: 1.0 / high, bound: 1.0 / low, ..best.division }
}

/// The originals' answer on one GPU model: the least rho that everybody can have, and the centre of what that allows.
fn published(market: &Market, terms: &[Terms]) -> Division {
    let needs = |rho: f64| -> Vec<f64> { terms.iter().map(|terms| terms.needs(rho)).collect() };
    let fits = |rho: f64| evenhand_solve::dot(&needs(rho), &market.demands) <= market.capacity[0];
    let at_once = |terms: &Terms| (terms.age + terms.left) / terms.isolated;
    let mut low = terms.iter().map(at_once).fold(0.0, f64::max);
    if fits(low) {
        let fractions = centre(INVERSE, &needs(low), &market.demands, market.capacity[0]);
        return division_of(&fractions, market, 1.0 / low);
    }
    let mut high = 2.0 * low;
    while !fits(high) && high < RHO_MOST {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if fits(middle) { high = middle } else { low = middle }
    }
    division_of(&needs(high), market, 1.0 / high)
}

impl Terms {
    /// The fraction of time on its fastest model that a job needs for this rho; all of it if that is not enough.
    fn needs(self, rho: f64) -> f64 {
        let until = rho * self.isolated - self.age;
        if until <= self.left { 1.0 } else { self.left / until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_solve::Matrix;

    fn rho(terms: &Terms, fraction: f64) -> f64 {
        (terms.age + terms.left / fraction) / terms.isolated
    }

    #[test]
    fn the_delays_of_all_who_can_be_helped_are_the_same() {
        let market =
            Market::new(Matrix::from_rows(&[[1.0], [1.0], [1.0]]), vec![1.0]).demanding(vec![1.0; 3]);
        let late = Terms { age: 3_000.0, left: 600.0, isolated: 3_600.0 };
        let terms =
            [late, Terms { age: 0.0, left: 1_200.0, isolated: 3_600.0 }, Terms { age: 600.0, ..late }];
        let division = least_rho(&market, &terms, &Effort::default());
        let found: Vec<f64> = (0..3).map(|at| rho(&terms[at], division.shares.row(at)[0])).collect();
        assert!(found.iter().all(|rho| (rho / found[0] - 1.0).abs() < 1e-5), "{found:?}");
        assert!(division.gap() <= 1e-6);
    }

    #[test]
    fn one_who_is_hopelessly_late_does_not_hold_up_the_others() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![2.0]).demanding(vec![1.0, 1.0]);
        let late = Terms { age: 90_000.0, left: 600.0, isolated: 3_600.0 };
        let division = least_rho(&market, &[late, Terms { age: 0.0, ..late }], &Effort::default());
        assert!(division.shares.rows().all(|row| row[0] > 1.0 - 1e-6), "{}", division.shares);
    }
}
