//! Partial allocation: the market of equal incomes, made truthful by taking something off (Cole, Gkatzelis and Goel, EC 2013).
//!
//! ```text
//! X* = the Nash division ,  X*_-i = the Nash division without i
//! kappa_i = ( prod_{l != i} ( u_l(X*) / u_l(X*_-i) )^pi_l )^(1/pi_i)          i keeps the fraction kappa_i of its bundle
//! ```
//!
//! What i loses is what its presence costs the others, so no report of its speedups, up or down, brings it more. It keeps at
//! least 1/e. What is taken off must not go back to those who reported: they would bid for it.

use crate::levels::Effort;
use crate::nash::without_demands;
use crate::{Division, Market, MarketError, demands};
use std::collections::BTreeMap;

/// The part of the Nash division that everybody may keep. Value and bound are those of the Nash division.
///
/// Costs one more Nash division for every distinct row and weight.
pub fn partial(market: &Market, effort: &Effort) -> Result<Division, MarketError> {
    market.check()?;
    demands::within(market, |market| {
        let mut division = without_demands(market, effort);
        for (party, kept) in kept_fractions(market, &division, effort).iter().enumerate() {
            division.shares.row_mut(party).iter_mut().for_each(|share| *share *= kept);
        }
        Ok(division)
    })
}

/// kappa: the fraction of its bundle in the Nash division that each party may keep.
pub fn kept_fractions(market: &Market, nash: &Division, effort: &Effort) -> Vec<f64> {
    let warm = Effort { prices: Some(nash.prices.clone()), ..effort.clone() };
    let with: Vec<f64> = nash.throughputs(market);
    let mut known: BTreeMap<Vec<u64>, f64> = BTreeMap::new();
    (0..market.parties())
        .map(|party| {
            let numbers = market.speedups.row(party).iter().chain([&market.weights[party]]);
            let key = numbers.map(|number| number.to_bits()).collect();
            *known.entry(key).or_insert_with(|| kept_fraction(market, &with, party, &warm))
        })
        .collect()
}

fn kept_fraction(market: &Market, with: &[f64], party: usize, effort: &Effort) -> f64 {
    let mut gone = vec![false; market.parties()];
    gone[party] = true;
    let nothing = crate::Matrix::zeros(market.parties(), market.models());
    let others = market.without(&gone, &nothing);
    let without = without_demands(&others, effort).throughputs(&others);
    let stay = (0..market.parties()).filter(|other| *other != party);
    let logs = stay.zip(without).map(|(other, without)| market.weights[other] * (with[other] / without).ln());
    // Without anybody else there is nobody to lose anything.
    (logs.sum::<f64>() / market.weights[party]).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::{FAMILIES, small};
    use crate::{Matrix, nash};
    use evenhand_core::Random;

    fn kept(market: &Market) -> Vec<f64> {
        let effort = Effort::default();
        kept_fractions(market, &nash(market, &effort).unwrap(), &effort)
    }

    #[test]
    fn the_worked_examples_come_out() {
        let a = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]), vec![1.0, 1.0]);
        let b = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]]), vec![1.0, 1.0]);
        let rows = [[1.0, 1.2, 1.5], [1.0, 1.5, 2.5], [1.0, 2.0, 4.0]];
        let c = Market::new(Matrix::from_rows(&rows), vec![8.0; 3]);
        let expected: [&[f64]; 3] =
            [&[0.625, 0.5], &[0.5625, 4.0 / 9.0, 4.0 / 9.0], &[0.49, 49.0 / 110.0, 4.0 / 9.0]];
        for (market, expected) in [a, b, c].iter().zip(expected) {
            let found = kept(market);
            let close = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(close, "{found:?} is not {expected:?}");
        }
    }

    /// Lies in either direction, with weights too.
    #[test]
    fn no_lie_pays() {
        let mut random = Random::new(5);
        let effort = Effort::default();
        for round in 0..10_000 {
            let mut market = small(FAMILIES[round % 3], &mut random);
            if round % 2 == 0 {
                market.weights = (0..market.parties()).map(|_| random.between(0.5, 4.0)).collect();
            }
            let honest = market.throughput(0, partial(&market, &effort).unwrap().shares.row(0));
            let mut lie = market.clone();
            for speedup in lie.speedups.row_mut(0) {
                *speedup *= random.between(0.3, 3.0);
            }
            let got = market.throughput(0, partial(&lie, &effort).unwrap().shares.row(0));
            assert!(got <= honest * (1.0 + 1e-6), "round {round}: {got} beats {honest}");
        }
    }

    #[test]
    fn everybody_keeps_a_part_of_at_least_one_in_e() {
        let mut random = Random::new(6);
        for round in 0..100 {
            let market = small(FAMILIES[round % 3], &mut random);
            assert!(kept(&market).iter().all(|kept| (0.3678..=1.0).contains(kept)), "round {round}");
        }
    }
}
