//! Parties that need not be told apart, merged into one.
//!
//! Parties with the same row of speedups and the same demand per weight are one class of the sum of their weights and demands.
//! Whatever a class is given is split in proportion to weight. Merging is exact for everything solved here: averaging inside
//! a class keeps throughputs per weight, envy, capacity and objective. A program over classes is as large as the number of
//! distinct rows, however many parties there are.

use crate::{Division, Market, Matrix};
use std::cmp::Ordering;

/// A market of classes, and who is in which.
#[derive(Clone, Debug)]
pub struct Classes {
    /// The market in which every class is one party.
    pub market: Market,
    /// The class of each party.
    class_of: Vec<usize>,
    /// The weight of each party.
    weights: Vec<f64>,
}

impl Classes {
    /// Merges what is the same. Classes are numbered in the order of their first members.
    pub fn of(market: &Market) -> Self {
        let mut order: Vec<usize> = (0..market.parties()).collect();
        order.sort_by(|a, b| compare(market, *a, *b).then(a.cmp(b)));
        let mut class_of = vec![0; market.parties()];
        let mut firsts = Vec::new();
        for same in order.chunk_by(|a, b| compare(market, *a, *b) == Ordering::Equal) {
            firsts.push(same[0]);
            for party in same {
                class_of[*party] = same[0];
            }
        }
        firsts.sort_unstable();
        let mut rows = Vec::with_capacity(firsts.len() * market.models());
        for first in &firsts {
            rows.push(market.speedups.row(*first));
        }
        let merged = Market::new(Matrix::from_rows(&rows), market.capacity.clone());
        let (mut weights, mut demands) = (vec![0.0; firsts.len()], vec![0.0; firsts.len()]);
        let mut number = vec![0; market.parties()];
        for (at, first) in firsts.iter().enumerate() {
            number[*first] = at;
        }
        for (party, class) in class_of.iter_mut().enumerate() {
            *class = number[*class];
            weights[*class] += market.weights[party];
            demands[*class] += market.demands[party];
        }
        Self {
            market: merged.weighing(weights).demanding(demands),
            class_of,
            weights: market.weights.clone(),
        }
    }

    /// The class of a party.
    pub fn class_of(&self, party: usize) -> usize {
        self.class_of[party]
    }

    /// A division among classes as one among parties.
    pub fn expand(&self, division: Division) -> Division {
        let mut shares = Matrix::zeros(self.class_of.len(), division.shares.columns());
        for (party, class) in self.class_of.iter().enumerate() {
            let part = self.weights[party] / self.market.weights[*class];
            for (own, all) in shares.row_mut(party).iter_mut().zip(division.shares.row(*class)) {
                *own = all * part;
            }
        }
        Division { shares, ..division }
    }
}

/// Orders parties so that those of a class are neighbours.
fn compare(market: &Market, a: usize, b: usize) -> Ordering {
    let rows = market.speedups.row(a).iter().zip(market.speedups.row(b));
    let by_row = rows.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    let per_weight = |party: usize| market.demands[party] / market.weights[party];
    by_row.unwrap_or(Ordering::Equal).then_with(|| per_weight(a).total_cmp(&per_weight(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_row_is_one_class_of_the_sum_of_the_weights() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]), vec![4.0, 4.0]);
        let classes = Classes::of(&market.weighing(vec![1.0, 5.0, 3.0]));
        assert_eq!(classes.market.weights, [4.0, 5.0]);
        assert_eq!(classes.market.speedups.row(1), [1.0, 3.0]);
        let shares = Matrix::from_rows(&[[4.0, 0.0], [0.0, 4.0]]);
        let division = Division { shares, value: 1.0, bound: 1.0, prices: Vec::new(), steps: 0 };
        let all = classes.expand(division).shares;
        assert_eq!(all, Matrix::from_rows(&[[1.0, 0.0], [0.0, 4.0], [3.0, 0.0]]));
    }
}
