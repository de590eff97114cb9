//! A market in the units in which envy is easiest to speak of.
//!
//! ```text
//! rho_i = pi_i / sum pi                        weights sum to 1
//! y_ij  = x_ij / (m_j rho_i)                   a bundle: the part of each model that i would have if everybody had the same
//! d_ij  = w_ij m_j / max_j w_ij m_j            a taste: how i compares bundles
//!
//! maximise sum_i v_i.y_i ,  v_ij = rho_i w_ij m_j      subject to   d_i.y_i >= d_i.y_l ,   sum_i rho_i y_ij <= 1 ,   y >= 0
//! ```
//!
//! Parties of the same taste are one: envy between them forces equal d.y, and averaging their bundles then changes neither
//! envy nor value. Rows that differ only in scale are of the same taste, so this merges more than identical rows. Models
//! that there are none of, or that are of no use to anybody, are left out.

use super::Bundles;
use crate::{Market, Matrix};

/// Tastes that are nearer than this in every model are the same; the envy that this can cause is as small.
const SAME: f64 = 1e-12;

/// How far values lean at most: more than a solver's tolerance, less than what tells two corners apart.
const LEAN: f64 = 1e-5;
/// Multiples of the golden ratio's fraction are spread evenly, and never come back.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Everybody's taste, and what their bundles are worth.
pub(crate) struct Tastes {
    /// d: one row per taste, the largest entry 1.
    pub directions: Matrix,
    /// rho: one per taste.
    pub weights: Vec<f64>,
    /// v: what a unit of each model in a taste's bundle adds to the total.
    pub values: Matrix,
    /// The models that matter.
    models: Vec<usize>,
    /// The taste of each party.
    taste_of: Vec<usize>,
}

impl Tastes {
    pub fn of(market: &Market) -> Self {
        let useful = |model: &usize| {
            market.capacity[*model] > 0.0 && market.speedups.rows().any(|row| row[*model] > 0.0)
        };
        let models: Vec<usize> = (0..market.models()).filter(useful).collect();
        let total: f64 = market.weights.iter().sum();
        let mut directions = Matrix::zeros(market.parties(), models.len());
        for (party, row) in market.speedups.rows().enumerate() {
            let all = models.iter().map(|model| row[*model] * market.capacity[*model]);
            let most = all.clone().fold(f64::MIN_POSITIVE, f64::max);
            directions.row_mut(party).iter_mut().zip(all).for_each(|(own, value)| *own = value / most);
        }
        let (taste_of, firsts) = same(&directions);
        let mut weights = vec![0.0; firsts.len()];
        let mut values = Matrix::zeros(firsts.len(), models.len());
        for (party, taste) in taste_of.iter().enumerate() {
            let weight = market.weights[party] / total;
            weights[*taste] += weight;
            for (value, model) in values.row_mut(*taste).iter_mut().zip(&models) {
                *value += weight * market.speedups.row(party)[*model] * market.capacity[*model];
            }
        }
        let rows: Vec<&[f64]> = firsts.iter().map(|first| directions.row(*first)).collect();
        Self { directions: Matrix::from_rows(&rows), weights, values, models, taste_of }
    }

    /// Kinds of taste, given by their directions, in place of the tastes in them.
    pub fn merged(&self, directions: Matrix, kind_of: &[usize]) -> Self {
        let mut weights = vec![0.0; directions.len()];
        let mut values = Matrix::zeros(directions.len(), directions.columns());
        for (taste, kind) in kind_of.iter().enumerate() {
            weights[*kind] += self.weights[taste];
            let own = self.values.row(taste);
            values.row_mut(*kind).iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
        Self { directions, weights, values, models: self.models.clone(), taste_of: kind_of.to_vec() }
    }

    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// The same with values a little off, all differently, so that nothing is best in two ways.
    pub fn leaning(&self) -> Self {
        let mut values = self.values.clone();
        for taste in 0..self.len() {
            for (model, value) in values.row_mut(taste).iter_mut().enumerate() {
                let at = (taste * self.directions.columns() + model + 1) as f64;
                *value *= 1.0 + LEAN * (at * GOLDEN).fract();
            }
        }
        let (directions, weights) = (self.directions.clone(), self.weights.clone());
        Self { directions, weights, values, models: self.models.clone(), taste_of: self.taste_of.clone() }
    }

    /// The total that bundles add up to.
    pub fn value(&self, bundles: &Matrix) -> f64 {
        self.values.rows().zip(bundles.rows()).map(|(value, bundle)| crate::dot(value, bundle)).sum()
    }

    /// Everybody the same: never envied, and best where there is one model.
    pub fn in_proportion(&self) -> Bundles {
        let shares = Matrix::from_rows(&vec![vec![1.0; self.directions.columns()]; self.len()]);
        let bound = self.value(&shares);
        Bundles { shares, bound, steps: 0 }
    }

    /// Bundles as shares of each party.
    pub fn expand(&self, market: &Market, bundles: &Matrix) -> Matrix {
        let total: f64 = market.weights.iter().sum();
        let mut shares = Matrix::zeros(market.parties(), market.models());
        for (party, taste) in self.taste_of.iter().enumerate() {
            let weight = market.weights[party] / total;
            for (model, part) in self.models.iter().zip(bundles.row(*taste)) {
                shares.row_mut(party)[*model] = part * weight * market.capacity[*model];
            }
        }
        shares
    }
}

/// Which rows are the same: the number of each, and the first row of every number.
fn same(directions: &Matrix) -> (Vec<usize>, Vec<usize>) {
    let key = |party: usize| directions.row(party).iter().map(|value| (value / SAME).round() as u64);
    let mut order: Vec<usize> = (0..directions.len()).collect();
    order.sort_by(|a, b| key(*a).cmp(key(*b)).then(a.cmp(b)));
    let mut first_of = vec![0; directions.len()];
    for group in order.chunk_by(|a, b| key(*a).eq(key(*b))) {
        for party in group {
            first_of[*party] = group[0];
        }
    }
    let mut number = vec![0; directions.len()];
    let mut firsts = Vec::new();
    let mut numbers = Vec::with_capacity(directions.len());
    for (party, first) in first_of.iter().enumerate() {
        if *first == party {
            number[party] = firsts.len();
            firsts.push(party);
        }
        numbers.push(number[*first]);
    }
    (numbers, firsts)
}
