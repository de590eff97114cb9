//! The equal-income market: everybody spends a budget of pi_i at prices that clear the market.
//!
//! ```text
//! maximise sum_i pi_i ln u_i   subject to  sum_i x_ij <= m_j ,  x >= 0                  (Eisenberg and Gale 1959)
//! dual:    minimise over p = e^q   sum_j m_j p_j + sum_i pi_i max_j (ln w_ij - q_j)      k variables, convex
//! ```
//!
//! At the optimum each party spends its whole budget on models with the most speedup for the price: nobody envies anybody,
//! nobody is worse off than with its part of every model, and nothing better exists for all. Multiplying a row by a constant
//! changes nothing.
//!
//! The maximum is smoothed, and Newton's method finds the prices in k dimensions; the smoothing shrinks until the division read
//! off the prices is as good as was asked for. Then ties are made exact. Value and bound are weighted geometric means of
//! throughputs, so the gap bounds what the mean could still gain.

mod newton;
mod polish;

use crate::levels::Effort;
use crate::{Classes, Division, Market, MarketError, demands};
use newton::Newton;

/// Smoothing stops here: beyond, rounding decides.
const TAU_MIN: f64 = 1e-11;

/// How many classes are enough to guess prices from.
const SAMPLE: usize = 1_000;

/// The division of greatest Nash welfare, with its prices: the budgets add up to what everything costs.
///
/// A party with a demand gets at most that, and the rest is divided among the others by the same rule.
pub fn nash(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    market.check()?;
    demands::within(market, |market| Ok(without_demands(market, effort)))
}

pub(crate) fn without_demands(market: &Market, effort: &Effort) -> Division {
    if market.parties() == 0 {
        return Division::empty(market);
    }
    // Scale means nothing here, so rows that differ in scale alone are one class.
    let mut scaled = market.clone();
    let mut logs = 0.0;
    for party in 0..market.parties() {
        let row = scaled.speedups.row_mut(party);
        let most = row.iter().copied().fold(0.0, f64::max);
        for speedup in row {
            *speedup /= most;
        }
        logs += market.weights[party] * most.ln();
    }
    let classes = Classes::of(&scaled);
    let mut division = classes.expand(clear(&classes.market, effort));
    // From the mean over classes to the mean over parties, each with its part of its class.
    for (party, weight) in market.weights.iter().enumerate() {
        logs += weight * (weight / classes.market.weights[classes.class_of(party)]).ln();
    }
    let factor = (logs / market.weights.iter().sum::<f64>()).exp();
    division.value *= factor;
    division.bound *= factor;
    division
}

/// Finds the prices that clear a market of classes.
fn clear(market: &Market, effort: &Effort) -> Division {
    let sampled = sampled_prices(market, effort);
    let mut tau: f64 = if effort.prices.is_some() || sampled.is_some() { 1e-2 } else { 0.2 };
    let effort = &Effort { prices: effort.prices.clone().or(sampled), ..effort.clone() };
    let mut search = Newton::new(market, effort);
    // With many ties the last prices need not be the best: rounding decides who buys what long before the smoothing is gone.
    let mut best: Option<Division> = None;
    loop {
        search.minimise(tau);
        for division in [Some(search.division(tau)), polish::exact(&search, tau)].into_iter().flatten() {
            if best.as_ref().is_none_or(|best| division.gap() < best.gap()) {
                best = Some(division);
            }
        }
        let done = tau <= TAU_MIN || search.steps >= effort.steps;
        if let Some(division) = best.take_if(|best| done || best.gap() <= effort.gap) {
            return Division { steps: search.steps, ..division };
        }
        tau *= 0.2;
    }
}

/// Where there are very many classes, the prices that a few of them would pay: a good place to begin.
fn sampled_prices(market: &Market, effort: &Effort) -> Option<Vec<f64>> {
    if effort.prices.is_some() {
        return None;
    }
    let rough = Effort { gap: 1e-4, ..effort.clone() };
    market.sample(SAMPLE).map(|sample| clear(&sample, &rough).prices)
}

#[cfg(test)]
mod tests;
