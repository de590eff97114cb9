//! Resistance to strategy: whether a party can gain by misreporting its speedups (incentive compatibility; Hurwicz, On
//! Informationally Decentralized Systems, 1972; called strategy-proofness in OEF).
//!
//! ```text
//! no report w'_i != w_i raises the TRUE throughput u_i(x_i(w'_i, w_-i))
//! ```
//!
//! A search for lies that pay, not a proof that none does: a lie found is a fact, none found is a number of lies tried. Lies
//! come in three [kinds](LieKind), because mechanisms resist one and not the other.

use crate::division::{throughput, throughputs};
use crate::lies::{LieKind, lies};
use evenhand_core::Random;
use evenhand_solve::{Market, Matrix};

/// How hard to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Where chance comes from.
    pub seed: u64,
    /// Random rows of each kind for each party, beside the single entries that are always tried.
    pub random_rows: usize,
    /// The GPU model that speedups are relative to, which no lie can touch; `None` where absolute rates are reported.
    pub reference: Option<usize>,
}

/// The best that lies of one kind came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Temptation {
    /// Which way they went.
    pub kind: LieKind,
    /// How many were tried.
    pub tried: usize,
    /// The largest gain in true throughput, relative to what the truth gives; 0 if no lie paid.
    pub gain: f64,
    /// Who gains by it and the row that it reports; `None` if no lie paid.
    pub lie: Option<(usize, Vec<f64>)>,
}

/// Tries lies of every kind on a mechanism, for every party in turn while all others tell the truth.
///
/// The market has been [checked](Market::check); so has every one that the mechanism is given.
pub fn strategy_resistance(
    market: &Market,
    mechanism: &dyn Fn(&Market) -> Matrix,
    search: Search,
) -> [Temptation; 3] {
    let honest = throughputs(market, &mechanism(market));
    LieKind::ALL.map(|kind| {
        let mut found = Temptation { kind, tried: 0, gain: 0.0, lie: None };
        for (party, honest) in honest.iter().enumerate() {
            let mut random = Random::stream(search.seed.wrapping_add(party as u64), kind.name());
            for row in lies(market, party, kind, search, &mut random) {
                let mut reported = market.clone();
                reported.speedups.row_mut(party).copy_from_slice(&row);
                if reported.check().is_err() {
                    continue;
                }
                found.tried += 1;
                let shares = mechanism(&reported);
                let gain = throughput(market, party, shares.row(party)) / honest - 1.0;
                if gain > found.gain {
                    found.gain = gain;
                    found.lie = Some((party, row));
                }
            }
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal throughputs for two parties on two GPU models, in closed form: whoever the second model helps more takes from
    /// there, the other from the first, and one of them straddles.
    fn equal_throughputs(market: &Market) -> Matrix {
        let ratio = |party: usize| market.speedups.row(party)[1] / market.speedups.row(party)[0];
        let (low, high) = if ratio(0) <= ratio(1) { (0, 1) } else { (1, 0) };
        let (a, b) = (market.speedups.row(low), market.speedups.row(high));
        let m = &market.capacity;
        let mut shares = Matrix::zeros(2, 2);
        let second = (a[0] * m[0] + a[1] * m[1]) / (b[1] + a[1]);
        if second <= m[1] {
            shares.row_mut(low).copy_from_slice(&[m[0], m[1] - second]);
            shares.row_mut(high).copy_from_slice(&[0.0, second]);
        } else {
            let first = (b[1] * m[1] + b[0] * m[0]) / (a[0] + b[0]);
            shares.row_mut(low).copy_from_slice(&[first, 0.0]);
            shares.row_mut(high).copy_from_slice(&[m[0] - first, m[1]]);
        }
        shares
    }

    fn market(last: f64) -> Market {
        Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, last]]), vec![1.0, 1.0])
    }

    #[test]
    fn who_claims_to_be_slower_gains_as_much_as_is_known() {
        let truth = market(5.0);
        let rows = [
            (7.0, 1.6667, 2.3333),
            (6.0, 1.875, 2.25),
            (5.0, 2.1429, 2.1429),
            (4.0, 2.5, 2.0),
            (3.0, 3.0, 1.8),
            (2.0125, 3.7383, 1.5047),
        ];
        for (said, second, first) in rows {
            let shares = equal_throughputs(&market(said));
            assert!((throughput(&truth, 1, shares.row(1)) - 15.0 / (said + 2.0)).abs() < 1e-12);
            assert!((throughput(&truth, 1, shares.row(1)) - second).abs() < 1e-4, "{said}");
            assert!((throughput(&truth, 0, shares.row(0)) - first).abs() < 1e-4, "{said}");
        }
    }

    #[test]
    fn equal_throughputs_resist_inflation_and_nothing_else() {
        let search = Search { seed: 1, random_rows: 200, reference: Some(0) };
        let [inflating, deflating, mixed] = strategy_resistance(&market(5.0), &equal_throughputs, search);
        assert!(inflating.gain < 1e-9 && inflating.tried > 400, "{inflating:?}");
        // The last report of the table gains 74 %; nothing gains more than 75 %.
        assert!((0.6..=0.75).contains(&deflating.gain), "{deflating:?}");
        let (liar, row) = deflating.lie.unwrap();
        assert!(liar == 1 && row[0] >= 1.0 && row[1] < 5.0, "{row:?}");
        assert_eq!(mixed.tried, 0, "one entry cannot go up and down");
    }

    #[test]
    fn absolute_rates_can_be_lied_about_more_than_speedups() {
        let search = Search { seed: 1, random_rows: 200, reference: None };
        let [inflating, deflating, mixed] = strategy_resistance(&market(5.0), &equal_throughputs, search);
        assert!(inflating.gain < 1e-9, "{inflating:?}");
        assert!(deflating.gain > 0.75, "{deflating:?}");
        assert!(mixed.gain > 0.1, "{mixed:?}");
    }

    #[test]
    fn an_equal_split_resists_everything_and_a_seed_repeats_a_search() {
        let split = |market: &Market| {
            let row: Vec<f64> = market.capacity.iter().map(|gpus| gpus / market.parties() as f64).collect();
            Matrix::from_rows(&vec![row; market.parties()])
        };
        let search = Search { seed: 7, random_rows: 20, reference: None };
        for found in strategy_resistance(&market(3.0), &split, search) {
            assert_eq!((found.gain, found.lie), (0.0, None), "{:?}", found.kind);
        }
        let once = strategy_resistance(&market(3.0), &equal_throughputs, search);
        assert_eq!(once, strategy_resistance(&market(3.0), &equal_throughputs, search));
    }
}
