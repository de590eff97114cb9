//! What the parties would take at given prices.

use super::Ladder;
use super::root::{Bend, Bent};
use crate::{Market, Matrix};

/// Prices are at least this, so that what cannot be run on is never for free.
const PRICE_MIN: f64 = 1e-200;

/// What those who stay where they are cost must not exceed the cluster's worth by a rounding error.
const ROUNDING: f64 = 1e-12;

/// What never changes while prices are sought.
pub(super) struct Parties<'a> {
    pub market: &'a Market,
    pub ladder: &'a Ladder,
    /// 1 / w_ij; infinite where i cannot run.
    inverse: Matrix,
    /// For parties with a demand: their models, the slowest first.
    slow_to_fast: Vec<Vec<u8>>,
    with_demand: Vec<usize>,
    without_demand: Vec<usize>,
    /// Nobody can be raised beyond this.
    pub most: f64,
}

/// Hulls at some prices: models of each party with a demand that are worth taking, the slowest first.
#[derive(Default)]
pub(super) struct Hulls {
    models: Vec<u8>,
    ends: Vec<usize>,
}

/// The highest level that can be paid for, and what is taken there.
pub(super) struct Answer {
    pub level: f64,
    /// The GPUs of each model that are taken, as a fraction of those there are.
    pub usage: Vec<f64>,
    /// What one level more would cost.
    pub slope: f64,
    /// Whether the cluster's whole worth is spent; if not, somebody who has all it can use is what limits the level.
    pub spent: bool,
}

impl<'a> Parties<'a> {
    pub fn new(market: &'a Market, ladder: &'a Ladder) -> Self {
        let mut inverse = Matrix::zeros(market.parties(), market.models());
        let mut slow_to_fast: Vec<Vec<u8>> = vec![Vec::new(); market.parties()];
        let mut most = f64::INFINITY;
        for (party, models) in slow_to_fast.iter_mut().enumerate() {
            let row = market.speedups.row(party);
            let usable = |model: &usize| row[*model] > 0.0 && market.capacity[*model] > 0.0;
            for (model, value) in inverse.row_mut(party).iter_mut().enumerate() {
                *value = if usable(&model) { 1.0 / row[model] } else { f64::INFINITY };
            }
            if market.demands[party].is_finite() {
                models.extend((0..market.models()).filter(usable).map(|model| model as u8));
                models.sort_by(|a, b| row[usize::from(*a)].total_cmp(&row[usize::from(*b)]));
            }
            if ladder.slope[party] > 0.0 {
                most = most.min((fullest(market, party) - ladder.base[party]).max(0.0) / ladder.slope[party]);
            }
        }
        let (with_demand, without_demand) =
            (0..market.parties()).partition(|party| market.demands[*party].is_finite());
        Self { market, ladder, inverse, slow_to_fast, with_demand, without_demand, most }
    }

    fn target(&self, party: usize, level: f64) -> f64 {
        self.ladder.base[party] + self.ladder.slope[party] * level
    }

    fn has_demand(&self, party: usize) -> bool {
        self.market.demands[party].is_finite()
    }

    /// Prices per GPU from the worth of all GPUs of each model.
    pub fn prices(&self, worth: &[f64]) -> Vec<f64> {
        let price =
            |(worth, gpus): (&f64, &f64)| if *gpus > 0.0 { (worth / gpus).max(PRICE_MIN) } else { 1.0 };
        worth.iter().zip(&self.market.capacity).map(price).collect()
    }

    /// What everybody takes when the cluster is worth 1 in all, each model as said.
    pub fn answer(&self, worth: &[f64], hulls: &mut Hulls) -> Answer {
        let prices = self.prices(worth);
        let mut cost = Bent::default();
        // GPUs of each model for parties without a demand: these at level 0, and so many more a level.
        let mut needs = vec![(0.0, 0.0); prices.len()];
        for party in &self.without_demand {
            let inverse = self.inverse.row(*party);
            let (model, _) = cheapest(inverse, &prices);
            needs[model].0 += self.ladder.base[*party] * inverse[model];
            needs[model].1 += self.ladder.slope[*party] * inverse[model];
        }
        for ((base, slope), price) in needs.iter().zip(&prices) {
            cost.at_0 += price * base;
            cost.slope += price * slope;
        }
        self.wrap(&prices, hulls);
        for party in &self.with_demand {
            self.add_cost(*party, &prices, hulls, &mut cost);
        }
        let (level, slope) = cost.reach(1.0 + ROUNDING, self.most);
        let spent = level < self.most;
        let mut usage: Vec<f64> = needs.iter().map(|(base, slope)| base + slope * level).collect();
        for party in &self.with_demand {
            self.take(*party, level, &prices, hulls, |model, gpus| usage[model] += gpus);
        }
        for (used, gpus) in usage.iter_mut().zip(&self.market.capacity) {
            *used = if *gpus > 0.0 { *used / gpus } else { 0.0 };
        }
        Answer { level, usage, slope, spent }
    }

    /// The lower hull of (0, 0) and the points (w_ij, p_j) of every party with a demand.
    pub fn wrap(&self, prices: &[f64], hulls: &mut Hulls) {
        hulls.models.clear();
        hulls.ends.clear();
        if self.with_demand.is_empty() {
            return;
        }
        for (party, models) in self.slow_to_fast.iter().enumerate() {
            let start = hulls.models.len();
            let row = self.market.speedups.row(party);
            for model in models {
                let point = |model: u8| (row[usize::from(model)], prices[usize::from(model)]);
                if hulls.models.len() > start
                    && hulls.models.last().is_some_and(|end| beats(point(*end), point(*model)))
                {
                    continue;
                }
                while hulls.models.len() > start && !bends_up(row, prices, &hulls.models[start..], *model) {
                    hulls.models.pop();
                }
                hulls.models.push(*model);
            }
            hulls.ends.push(hulls.models.len());
        }
    }

    /// Adds what it costs to keep a party with a demand at every level.
    fn add_cost(&self, party: usize, prices: &[f64], hulls: &Hulls, cost: &mut Bent) {
        let (base, slope) = (self.ladder.base[party], self.ladder.slope[party]);
        let demand = self.market.demands[party];
        let row = self.market.speedups.row(party);
        let mut before: Option<f64> = None;
        let (mut speed, mut price) = (0.0, 0.0);
        for model in hulls.of(party) {
            let (next_speed, next_price) = (row[usize::from(*model)], prices[usize::from(*model)]);
            let rise = (next_price - price) / (next_speed - speed);
            let begins = demand * speed;
            if base > begins {
                // Paid for at level 0 already, all or in part.
                let part = (base - begins).min(demand * (next_speed - speed));
                cost.at_0 += rise * part;
            }
            if slope > 0.0 && base < demand * next_speed {
                match before {
                    None => cost.slope += rise * slope,
                    Some(before) => cost
                        .bends
                        .push(Bend { at: (begins - base) / slope, steeper: (rise - before) * slope }),
                }
                before = Some(rise);
            }
            (speed, price) = (next_speed, next_price);
        }
    }

    /// What a party takes at a level.
    pub fn take(
        &self,
        party: usize,
        level: f64,
        prices: &[f64],
        hulls: &Hulls,
        mut give: impl FnMut(usize, f64),
    ) {
        let target = self.target(party, level);
        if target <= 0.0 {
            return;
        }
        if !self.has_demand(party) {
            let (model, _) = cheapest(self.inverse.row(party), prices);
            give(model, target * self.inverse.row(party)[model]);
            return;
        }
        let demand = self.market.demands[party];
        let row = self.market.speedups.row(party);
        let mut slower: Option<usize> = None;
        let hull = hulls.of(party);
        for (at, model) in hull.iter().enumerate() {
            let model = usize::from(*model);
            let last = at + 1 == hull.len();
            if target <= demand * row[model] || last {
                match slower {
                    None => give(model, (target / row[model]).min(demand)),
                    Some(slower) => {
                        let over = (target - demand * row[slower]).max(0.0);
                        let fast = (over / (row[model] - row[slower])).min(demand);
                        give(model, fast);
                        give(slower, demand - fast);
                    }
                }
                return;
            }
            slower = Some(model);
        }
    }

    /// What a little more throughput would cost a party at a level: infinite if it has all it can use.
    pub fn marginal(&self, party: usize, level: f64, prices: &[f64], hulls: &Hulls) -> f64 {
        let target = self.target(party, level) * (1.0 + 1e-9);
        if target >= fullest(self.market, party) {
            return f64::INFINITY;
        }
        if !self.has_demand(party) {
            return cheapest(self.inverse.row(party), prices).1;
        }
        let row = self.market.speedups.row(party);
        let (mut speed, mut price) = (0.0, 0.0);
        for model in hulls.of(party) {
            let model = usize::from(*model);
            if target < self.market.demands[party] * row[model] {
                return (prices[model] - price) / (row[model] - speed);
            }
            (speed, price) = (row[model], prices[model]);
        }
        f64::INFINITY
    }
}

impl Hulls {
    fn of(&self, party: usize) -> &[u8] {
        let start = party.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.models[start..self.ends[party]]
    }
}

/// The throughput that a party has with all the GPUs it can use, all of its fastest model.
fn fullest(market: &Market, party: usize) -> f64 {
    let usable = market.speedups.row(party).iter().zip(&market.capacity).filter(|(_, gpus)| **gpus > 0.0);
    let fastest = usable.map(|(speedup, _)| *speedup).fold(0.0, f64::max);
    if market.demands[party].is_finite() {
        market.demands[party] * fastest
    } else {
        crate::dot(market.speedups.row(party), &market.capacity)
    }
}

/// Whether a point makes another useless: as fast, and no dearer.
fn beats(one: (f64, f64), other: (f64, f64)) -> bool {
    one.0 >= other.0 && one.1 <= other.1
}

/// Whether the hull stays convex when it goes on to `next`.
fn bends_up(row: &[f64], prices: &[f64], hull: &[u8], next: u8) -> bool {
    let point = |model: u8| (row[usize::from(model)], prices[usize::from(model)]);
    let (end, next) = (point(hull[hull.len() - 1]), point(next));
    let before = hull.len().checked_sub(2).map_or((0.0, 0.0), |at| point(hull[at]));
    let rise = (end.1 - before.1) * (next.0 - end.0);
    let next_rise = (next.1 - end.1) * (end.0 - before.0);
    next.0 > end.0 && next_rise > rise
}

/// The model on which throughput is cheapest, and its price; of equals the first.
fn cheapest(inverse: &[f64], prices: &[f64]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (model, (inverse, price)) in inverse.iter().zip(prices).enumerate() {
        let cost = inverse * price;
        if cost < best.1 {
            best = (model, cost);
        }
    }
    best
}
