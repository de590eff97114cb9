//! Equal throughput without iteration: two GPU models, or rows in one order.
//!
//! Sort the parties by w_i2 / w_i1. If every ratio w_i,j+1 / w_ij of neighbouring models grows along that order (with two models
//! it always does), the best division is a staircase: parties in order, models in order, everybody served in turn until it has
//! pi_i t. Its steps fix the prices: whoever straddles j and j+1 finds both equally good, so p_j+1 / p_j is its ratio. And
//! prices give the exact t, as m.p / sum_i pi_i min_j p_j / w_ij.

use crate::levels::shrink_to_fit;
use crate::{Division, Market, Matrix};

/// The best division; `None` if the rows are in no one order.
pub(crate) fn equal_throughput(market: &Market) -> Option<Division> {
    let models: Vec<usize> = (0..market.models()).filter(|model| market.capacity[*model] > 0.0).collect();
    let stairs = Stairs { market, order: order(market, &models)?, models };
    let (prices, t) = stairs.prices_at(stairs.bisect());
    let mut shares = Matrix::zeros(market.parties(), market.models());
    stairs.climb(t, |party, model, gpus| shares.row_mut(party)[model] += gpus);
    let mut all = vec![0.0; market.models()];
    for (model, price) in stairs.models.iter().zip(prices) {
        all[*model] = price;
    }
    shrink_to_fit(market, &mut shares);
    let level = |party: usize| market.throughput(party, shares.row(party)) / market.weights[party];
    let value = (0..market.parties()).map(level).fold(f64::INFINITY, f64::min);
    Some(Division { shares, value, bound: t, prices: all, steps: 1 })
}

/// The order of the parties along which all ratios grow.
fn order(market: &Market, models: &[usize]) -> Option<Vec<usize>> {
    let ratio = |party: usize, at: usize| {
        let row = market.speedups.row(party);
        row[models[at + 1]] / row[models[at]]
    };
    if models.len() < 2 {
        return Some((0..market.parties()).collect());
    }
    let mut keyed: Vec<(f64, usize)> = (0..market.parties()).map(|party| (ratio(party, 0), party)).collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // Ties in one ratio are settled by the next, so that an order is found if there is one.
    for tied in keyed.chunk_by_mut(|a, b| a.0.total_cmp(&b.0).is_eq()).filter(|tied| tied.len() > 1) {
        tied.sort_by(|a, b| {
            let mut ratios = (1..models.len() - 1).map(|at| ratio(a.1, at).total_cmp(&ratio(b.1, at)));
            ratios.find(|order| order.is_ne()).unwrap_or(a.1.cmp(&b.1))
        });
    }
    let order: Vec<usize> = keyed.into_iter().map(|(_, party)| party).collect();
    let grows = |pair: &[usize]| (0..models.len() - 1).all(|at| ratio(pair[0], at) <= ratio(pair[1], at));
    order.windows(2).all(grows).then_some(order)
}

struct Stairs<'a> {
    market: &'a Market,
    order: Vec<usize>,
    models: Vec<usize>,
}

impl Stairs<'_> {
    /// Serves the parties in turn until each has pi_i t; says who straddled each pair of neighbouring models (by place in the
    /// order), or `None` if the GPUs do not suffice.
    fn climb(&self, t: f64, mut give: impl FnMut(usize, usize, f64)) -> Option<Vec<usize>> {
        let mut steps = Vec::with_capacity(self.models.len());
        let (mut at, mut left) = (0, self.market.capacity[self.models[0]]);
        for (place, party) in self.order.iter().enumerate() {
            let row = self.market.speedups.row(*party);
            let mut missing = self.market.weights[*party] * t;
            loop {
                let model = self.models[at];
                let gpus = (missing / row[model]).min(left);
                give(*party, model, gpus);
                left -= gpus;
                if gpus * row[model] >= missing || gpus >= missing / row[model] {
                    break;
                }
                missing -= gpus * row[model];
                if at + 1 == self.models.len() {
                    return None;
                }
                steps.push(place);
                at += 1;
                left = self.market.capacity[self.models[at]];
            }
        }
        // Models that nobody reached are cheap enough for the last party to be indifferent.
        steps.resize(self.models.len() - 1, self.order.len() - 1);
        Some(steps)
    }

    /// A t that is feasible, and so close to the best that the steps are those of the best.
    fn bisect(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.no_more_than());
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.climb(middle, |_, _, _| ()).is_some() { low = middle } else { high = middle }
        }
        low
    }

    /// If everybody had the whole cluster, the slowest per weight would reach this.
    fn no_more_than(&self) -> f64 {
        let alone = |party: usize| {
            crate::dot(self.market.speedups.row(party), &self.market.capacity) / self.market.weights[party]
        };
        (0..self.market.parties()).map(alone).fold(f64::INFINITY, f64::min)
    }

    /// The prices that the steps at t fix, in the unit of throughput per weight, and the t that they prove.
    fn prices_at(&self, t: f64) -> (Vec<f64>, f64) {
        let steps = self.climb(t, |_, _, _| ()).unwrap_or_default();
        let mut prices = vec![1.0];
        for (at, place) in steps.iter().enumerate() {
            let row = self.market.speedups.row(self.order[*place]);
            prices.push(prices[at] * row[self.models[at + 1]] / row[self.models[at]]);
        }
        let cheapest = |party: usize| {
            let row = self.market.speedups.row(party);
            let costs = self.models.iter().zip(&prices).map(|(model, price)| price / row[*model]);
            self.market.weights[party] * costs.fold(f64::INFINITY, f64::min)
        };
        let cost: f64 = (0..self.market.parties()).map(cheapest).sum();
        let worth: f64 =
            self.models.iter().zip(&prices).map(|(model, price)| self.market.capacity[*model] * price).sum();
        (prices.iter().map(|price| price / cost).collect(), worth / cost)
    }
}
