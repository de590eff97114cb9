//! The search for the prices at which the bound is lowest.

use super::answer::{Hulls, Parties};
use super::{Effort, Ladder, Level};
use crate::master::Master;
use crate::{Division, Market, Matrix, vertex};

/// A party is stuck if one level more for it alone costs more than this part of one level more for everybody, per party.
const STUCK: f64 = 0.05;

/// When the gap has not shrunk for so long, what remains of it is rounding.
const PATIENCE: usize = 25;

pub(super) struct Search<'a> {
    parties: Parties<'a>,
    master: Master,
    /// The prices (as the worth of all GPUs of a model) and the level of each point after the slacks and the start.
    points: Vec<(Vec<f64>, f64)>,
    bound: f64,
    /// How high those who rise stand already, in levels: what a gap is relative to.
    ground: f64,
    /// The prices that gave the bound.
    best: Vec<f64>,
    hulls: Hulls,
    steps: usize,
}

impl<'a> Search<'a> {
    pub fn new(market: &'a Market, ladder: &'a Ladder, effort: &Effort) -> Self {
        let parties = Parties::new(market, ladder);
        let bound = parties.most;
        let mut search = Self {
            master: Master::of_points(market.models(), nothing(&parties)),
            points: Vec::new(),
            bound,
            ground: ground(ladder),
            parties,
            best: first_prices(market, effort),
            hulls: Hulls::default(),
            steps: 0,
        };
        let first = search.best.clone();
        search.ask(&first);
        search
    }

    pub fn run(&mut self, effort: &Effort) {
        let (mut least, mut idle) = (f64::INFINITY, 0);
        while self.steps < effort.steps && idle < PATIENCE {
            self.master.optimise();
            let gap = self.bound - self.master.value();
            if gap <= effort.gap * (self.bound + self.ground) {
                return;
            }
            idle = if gap < 0.999 * least { 0 } else { idle + 1 };
            least = least.min(gap);
            let mut prices = self.master.prices();
            prices.pop();
            let Some(prices) = normalised(prices) else { return };
            let between: Vec<f64> =
                self.best.iter().zip(&prices).map(|(best, price)| f64::midpoint(*best, *price)).collect();
            // Asked in between, the parties may say nothing new; then the master's own prices decide.
            if !self.ask(&between) && !self.ask(&prices) {
                return;
            }
        }
    }

    /// Asks the parties what they would take; says whether it is news to the master.
    fn ask(&mut self, worth: &[f64]) -> bool {
        self.steps += 1;
        let answer = self.parties.answer(worth, &mut self.hulls);
        if answer.level < self.bound {
            (self.bound, self.best) = (answer.level, worth.to_vec());
        }
        let prices = self.master.prices();
        let (mixing, capacities) = prices.split_last().expect("there is a row for mixing");
        let gain = answer.level - crate::dot(capacities, &answer.usage) - mixing;
        if gain <= 1e-13 * answer.level.abs() {
            return false;
        }
        self.master.add(answer.level, answer.usage.into_iter().chain([1.0]));
        self.points.push((worth.to_vec(), answer.level));
        true
    }

    pub fn level(mut self) -> Level {
        let market = self.parties.market;
        let mut shares = self.mix();
        vertex::purify(market, &mut shares);
        shrink_to_fit(market, &mut shares);
        let (stuck, prices) = self.stuck();
        let value = reached(market, self.parties.ladder, &shares);
        let steps = self.steps;
        Level { division: Division { shares, value, bound: self.bound, prices, steps }, stuck }
    }

    /// The mixture of points that the master chose.
    fn mix(&mut self) -> Matrix {
        let market = self.parties.market;
        let mut shares = Matrix::zeros(market.parties(), market.models());
        let rows = market.models() + 1;
        for (column, part) in self.master.mixture() {
            if let Some(at) = column.checked_sub(rows) {
                let (worth, level) = &self.points[at];
                let prices = self.parties.prices(worth);
                self.parties.wrap(&prices, &mut self.hulls);
                for party in 0..market.parties() {
                    let row = shares.row_mut(party);
                    self.parties
                        .take(party, *level, &prices, &self.hulls, |model, gpus| row[model] += part * gpus);
                }
            }
        }
        shares
    }

    /// Who can rise no further, and the prices per GPU at which one level more for everybody costs 1.
    ///
    /// At the best prices the cluster's whole worth is spent, so whoever would have to pay for more cannot have it.
    fn stuck(&mut self) -> (Vec<bool>, Vec<f64>) {
        let worth = self.best.clone();
        let answer = self.parties.answer(&worth, &mut self.hulls);
        let prices = self.parties.prices(&worth);
        let ladder = self.parties.ladder;
        let rising = ladder.slope.iter().filter(|slope| **slope > 0.0).count();
        let dear = STUCK * answer.slope / rising.max(1) as f64;
        let level = self.bound;
        let stuck: Vec<bool> = (0..ladder.slope.len())
            .map(|party| {
                let marginal = self.parties.marginal(party, level, &prices, &self.hulls);
                marginal.is_infinite() || (answer.spent && marginal * ladder.slope[party] > dear)
            })
            .collect();
        let prices = prices.iter().zip(&self.parties.market.capacity).map(|(price, gpus)| {
            let scaled = if answer.slope > 0.0 { price / answer.slope } else { 0.0 };
            if *gpus > 0.0 && scaled > 1e-100 { scaled } else { 0.0 }
        });
        (stuck, prices.collect())
    }
}

/// What it is worth to give nobody anything: nothing if nobody has a base, and else less than any level could make up for.
fn nothing(parties: &Parties<'_>) -> f64 {
    let based = parties.ladder.base.iter().any(|base| *base > 0.0);
    if based { -100.0 * (ground(parties.ladder) + parties.most) } else { 0.0 }
}

/// The lowest base of those who rise, in levels.
fn ground(ladder: &Ladder) -> f64 {
    let rising = ladder.base.iter().zip(&ladder.slope).filter(|(_, slope)| **slope > 0.0);
    let least = rising.map(|(base, slope)| base / slope).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// The level that a division really gives everybody who rises.
fn reached(market: &Market, ladder: &Ladder, shares: &Matrix) -> f64 {
    let level = |party: usize| {
        (market.throughput(party, shares.row(party)) - ladder.base[party]) / ladder.slope[party]
    };
    let rising = (0..market.parties()).filter(|party| ladder.slope[*party] > 0.0);
    rising.map(level).fold(f64::INFINITY, f64::min)
}

/// Takes rounding errors off whatever is over a capacity.
pub(crate) fn shrink_to_fit(market: &Market, shares: &mut Matrix) {
    let used = shares.column_sums();
    for (model, (used, gpus)) in used.iter().zip(&market.capacity).enumerate() {
        if used > gpus {
            for party in 0..market.parties() {
                shares.row_mut(party)[model] *= gpus / used;
            }
        }
    }
}

/// The prices to begin with: the last round's, or those at which half of the parties would rather have each model than the first.
fn first_prices(market: &Market, effort: &Effort) -> Vec<f64> {
    let models = market.models();
    let known = effort.prices.as_ref().filter(|prices| prices.len() == models);
    let price = |model: usize| match known {
        Some(prices) => prices[model],
        None => median(market, model),
    };
    let worth = (0..models).map(|model| price(model) * market.capacity[model]).collect();
    normalised(worth).unwrap_or_else(|| vec![1.0 / models as f64; models])
}

fn median(market: &Market, model: usize) -> f64 {
    let mut column: Vec<f64> = market.speedups.rows().map(|row| row[model]).collect();
    let middle = column.len() / 2;
    *column.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Prices that add up to 1; `None` if there is nothing to add up.
fn normalised(mut prices: Vec<f64>) -> Option<Vec<f64>> {
    for price in &mut prices {
        *price = price.max(0.0);
    }
    let sum: f64 = prices.iter().sum();
    (sum > 0.0 && sum.is_finite()).then(|| prices.iter().map(|price| price / sum).collect())
}
