//! Newton's method on the smoothed dual.
//!
//! ```text
//! max_j a_j  becomes  tau log sum_j exp(a_j / tau) ,  a_j = ln w_ij - q_j ,   s_ij = exp(a_j / tau) / sum
//! gradient_j = m_j p_j - sum_i pi_i s_ij            what everything costs less what is spent on it
//! hessian    = diag(m_j p_j) + (1/tau) sum_i pi_i (diag(s_i) - s_i s_i^T)
//! ```
//!
//! A party splits its budget in the parts s_ij; where the gradient is 0, x_ij = pi_i s_ij / p_j uses exactly what there is.

use crate::levels::Effort;
use crate::{Division, Market, Matrix};

/// Parts of a budget below e^-40 are nothing.
const FAINT: f64 = -40.0;

pub(super) struct Newton<'a> {
    pub market: &'a Market,
    /// ln w_ij; minus infinity where i cannot run or there is nothing.
    pub logs: Matrix,
    pub budget: f64,
    /// Models that somebody can use and that there are some of: the others have no price.
    pub priced: Vec<bool>,
    /// ln p_j.
    pub q: Vec<f64>,
    pub steps: usize,
}

/// The smoothed dual at some prices.
struct Slope {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl<'a> Newton<'a> {
    pub fn new(market: &'a Market, effort: &Effort) -> Self {
        let models = market.models();
        let mut logs = Matrix::zeros(market.parties(), models);
        let mut priced = vec![false; models];
        for party in 0..market.parties() {
            for (model, log) in logs.row_mut(party).iter_mut().enumerate() {
                let speedup = market.speedups.row(party)[model];
                let usable = speedup > 0.0 && market.capacity[model] > 0.0;
                priced[model] |= usable;
                *log = if usable { speedup.ln() } else { f64::NEG_INFINITY };
            }
        }
        let budget: f64 = market.weights.iter().sum();
        let known = effort.prices.as_ref().filter(|prices| prices.len() == models);
        let first = |model: usize| match known {
            Some(prices) if prices[model] > 0.0 => prices[model],
            _ => mean(market, model),
        };
        let prices: Vec<f64> =
            (0..models).map(|model| if priced[model] { first(model) } else { 0.0 }).collect();
        let worth = crate::dot(&prices, &market.capacity);
        let q = prices.iter().map(|price| if *price > 0.0 { (price * budget / worth).ln() } else { 0.0 });
        Self { market, logs, budget, priced, q: q.collect(), steps: 0 }
    }

    /// Steps, halved until they help, until what is left to gain is small beside what smoothing costs.
    pub fn minimise(&mut self, tau: f64) {
        for _ in 0..40 {
            self.steps += 1;
            let slope = self.slope(tau);
            let Some(direction) = descend(&slope.hessian, &slope.gradient) else { return };
            let promise = -crate::dot(&slope.gradient, &direction);
            if promise <= 1e-5 * tau * self.budget {
                return;
            }
            let mut length = 1.0;
            loop {
                let next: Vec<f64> =
                    self.q.iter().zip(&direction).map(|(q, step)| q + length * step).collect();
                if self.value(&next, tau) <= slope.value - 1e-4 * length * promise {
                    self.q = next;
                    break;
                }
                length *= 0.5;
                if length < 1e-6 {
                    // Rounding hides any progress: this is as low as it gets.
                    return;
                }
            }
        }
    }

    /// m_j p_j for every model.
    fn costs(&self, q: &[f64]) -> impl Iterator<Item = f64> {
        let models = q.iter().zip(&self.market.capacity).zip(&self.priced);
        models.map(|((q, gpus), priced)| if *priced { gpus * q.exp() } else { 0.0 })
    }

    fn value(&self, q: &[f64], tau: f64) -> f64 {
        let mut value: f64 = self.costs(q).sum();
        for (row, weight) in self.logs.rows().zip(&self.market.weights) {
            let best = best(row, q);
            let mut sum = 0.0;
            for (log, q) in row.iter().zip(q) {
                let below = (log - q - best) / tau;
                if below > FAINT {
                    sum += if below < 0.0 { below.exp() } else { 1.0 };
                }
            }
            value += weight * if sum > 1.0 { best + tau * sum.ln() } else { best };
        }
        value
    }

    fn slope(&self, tau: f64) -> Slope {
        let models = self.q.len();
        let gradient: Vec<f64> = self.costs(&self.q).collect();
        let mut slope = Slope { value: gradient.iter().sum(), gradient, hessian: vec![0.0; models * models] };
        for model in 0..models {
            slope.hessian[model * models + model] =
                if self.priced[model] { slope.gradient[model] } else { 1.0 };
        }
        let mut parts: Vec<(usize, f64)> = Vec::with_capacity(models);
        for (row, weight) in self.logs.rows().zip(&self.market.weights) {
            let (sum, best) = split(row, &self.q, tau, &mut parts);
            // Undecided parties are few once tau is small.
            if let [(model, _)] = parts[..] {
                slope.value += weight * best;
                slope.gradient[model] -= weight;
                continue;
            }
            slope.value += weight * (best + tau * sum.ln());
            for (at, (a, part)) in parts.iter().enumerate() {
                slope.gradient[*a] -= weight * part;
                let scaled = weight * part / tau;
                slope.hessian[a * models + a] += scaled;
                // The lower triangle is enough: models come in order.
                for (b, other) in &parts[..=at] {
                    slope.hessian[a * models + b] -= scaled * other;
                }
            }
        }
        slope
    }

    /// What everybody buys, everything sold, and what the prices prove.
    pub fn division(&self, tau: f64) -> Division {
        let models = self.q.len();
        let mut money = Matrix::zeros(self.market.parties(), models);
        let mut parts = Vec::with_capacity(models);
        for (party, row) in self.logs.rows().enumerate() {
            split(row, &self.q, tau, &mut parts);
            for (model, part) in &parts {
                money.row_mut(party)[*model] = self.market.weights[party] * part;
            }
        }
        self.sell(money, &self.q)
    }

    /// The division in which everything goes to whoever spends money on it, in proportion.
    pub fn sell(&self, money: Matrix, q: &[f64]) -> Division {
        let spent = money.column_sums();
        let mut shares = money;
        for party in 0..shares.len() {
            for (model, share) in shares.row_mut(party).iter_mut().enumerate() {
                *share *= if spent[model] > 0.0 { self.market.capacity[model] / spent[model] } else { 0.0 };
            }
        }
        let worth: f64 = self.costs(q).sum();
        let price = |model: usize| {
            if self.priced[model] { q[model].exp() * self.budget / worth } else { 0.0 }
        };
        let prices: Vec<f64> = (0..q.len()).map(price).collect();
        // ln u_i summed with weights, and what it could be at most at these prices, scaled to cost what there is to spend.
        let (mut value, mut bound) = (0.0, 0.0);
        for (party, row) in self.logs.rows().enumerate() {
            let weight = self.market.weights[party];
            value += weight * self.market.throughput(party, shares.row(party)).ln();
            bound += weight * (weight.ln() + best(row, q) + (worth / self.budget).ln());
        }
        let (value, bound) = ((value / self.budget).exp(), (bound / self.budget).exp());
        Division { shares, value, bound, prices, steps: self.steps }
    }
}

/// The logarithm of the most speedup for the price.
pub(super) fn best(row: &[f64], q: &[f64]) -> f64 {
    row.iter().zip(q).map(|(log, q)| log - q).fold(f64::NEG_INFINITY, f64::max)
}

/// The parts of its budget that a party spends on each model; also the sum of exponentials and the largest exponent.
fn split(row: &[f64], q: &[f64], tau: f64, parts: &mut Vec<(usize, f64)>) -> (f64, f64) {
    let best = best(row, q);
    parts.clear();
    let mut sum = 0.0;
    for (model, (log, q)) in row.iter().zip(q).enumerate() {
        let below = (log - q - best) / tau;
        if below > FAINT {
            let part = if below < 0.0 { below.exp() } else { 1.0 };
            sum += part;
            parts.push((model, part));
        }
    }
    if parts.len() > 1 {
        for (_, part) in parts.iter_mut() {
            *part /= sum;
        }
    }
    (sum, best)
}

/// Minus the inverse of the Hessian (its lower triangle is read) times the gradient, by Cholesky; `None` if rounding has made
/// it singular.
fn descend(hessian: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
    let size = gradient.len();
    let mut root = hessian.to_vec();
    for at in 0..size {
        for row in at..size {
            let products = (0..at).map(|before| root[row * size + before] * root[at * size + before]);
            let value = root[row * size + at] - products.sum::<f64>();
            if row == at && value <= 0.0 {
                return None;
            }
            root[row * size + at] = if row == at { value.sqrt() } else { value / root[at * size + at] };
        }
    }
    let mut solution: Vec<f64> = gradient.iter().map(|part| -part).collect();
    for row in 0..size {
        let known: f64 = (0..row).map(|before| root[row * size + before] * solution[before]).sum();
        solution[row] = (solution[row] - known) / root[row * size + row];
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|after| root[after * size + row] * solution[after]).sum();
        solution[row] = (solution[row] - known) / root[row * size + row];
    }
    Some(solution)
}

/// The mean speedup on a model.
fn mean(market: &Market, model: usize) -> f64 {
    let speedups = market.speedups.rows().zip(&market.weights).map(|(row, weight)| weight * row[model]);
    speedups.sum::<f64>() / market.weights.iter().sum::<f64>()
}
