//! One level after the other, with weights that change as parties can rise no further.

use super::{Effort, Ladder, Level, raise};
use crate::{Division, Market, Matrix};

/// A level that was reached may be lost by rounding, so a little less is asked for.
const KEPT: f64 = 1.0 - 1e-9;

/// Raises everybody in proportion to weight; whoever can rise no further leaves with what it has; the others rise on, by weights
/// that are worked out anew from who has left. A party of weight 0 waits where it is.
///
/// Over when everybody has left, when nobody of those here has a weight, or when no GPU is left. The certificate is that of the
/// first turn.
///
/// Nothing is lost by leaving: at the prices of a turn the stuck spend the cluster's whole worth, so whatever has a price is theirs
/// in every division that keeps them at their level, and the others live on what is free. The market has been
/// [checked](Market::check).
pub fn rise_by(market: &Market, effort: &Effort, weigh: impl Fn(&[bool]) -> Vec<f64>) -> Division {
    let mut turns = Turns {
        rest: market.clone(),
        here: (0..market.parties()).collect(),
        gone: vec![false; market.parties()],
        levels: vec![0.0; market.parties()],
        shares: Matrix::zeros(market.parties(), market.models()),
    };
    let mut first: Option<Division> = None;
    let mut steps = 0;
    while turns.rest.capacity.iter().any(|gpus| *gpus > 0.0) {
        let weights = weigh(&turns.gone);
        let slope: Vec<f64> = turns.here.iter().map(|party| weights[*party]).collect();
        if !slope.iter().any(|weight| *weight > 0.0) {
            break;
        }
        let division = turns.rise(slope, effort);
        steps += division.steps;
        first.get_or_insert(division);
    }
    Division { shares: turns.shares, steps, ..first.unwrap_or_else(|| Division::empty(market)) }
}

struct Turns {
    /// What is left, for those who are here.
    rest: Market,
    here: Vec<usize>,
    gone: Vec<bool>,
    /// The throughput that everybody has reached.
    levels: Vec<f64>,
    shares: Matrix,
}

impl Turns {
    /// Raises those who are here, and lets those who are stuck leave: somebody with a weight always does.
    fn rise(&mut self, slope: Vec<f64>, effort: &Effort) -> Division {
        let base = self.here.iter().map(|party| self.levels[*party]).collect();
        let ladder = Ladder { base, slope };
        let Level { division, stuck } = raise(&self.rest, &ladder, effort);
        let weighs = |at: usize| ladder.slope[at] > 0.0;
        let mut leaves: Vec<bool> = (0..stuck.len()).map(|at| stuck[at] && weighs(at)).collect();
        if !leaves.contains(&true) {
            leaves = (0..stuck.len()).map(weighs).collect();
        }
        for (at, party) in self.here.iter().enumerate() {
            let row = division.shares.row(at);
            self.shares.row_mut(*party).copy_from_slice(row);
            self.levels[*party] = self.rest.throughput(at, row) * KEPT;
            self.gone[*party] = leaves[at];
        }
        self.rest = self.rest.without(&leaves, &division.shares);
        self.here.retain(|party| !self.gone[*party]);
        division
    }
}
