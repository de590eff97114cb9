//! Pareto efficiency: nobody could have more without somebody having less (Pareto, Manuale di economia politica, 1906).
//!
//! ```text
//! no feasible X' has u' >= u with one strict inequality
//! gain = max { sum_i u'_i : u' >= u } / sum_i u_i - 1
//! ```
//!
//! Checked by the linear program that the gain is the value of: some X' dominates X exactly if the gain is more than 0. Parties
//! with the same row count as one in it, so its size is that of the market of distinct rows: some hundreds take a fraction of
//! a second, thousands seconds. The gain is relative to the total, so it cannot see a gain of a party whose whole throughput
//! is less than a millionth of the total. If nobody has anything, any gain is infinite.

use super::finding::percent;
use super::{Finding, Names, Property, assert_shape, in_use, throughputs};
use evenhand_solve::{Division, Market, Matrix, SolveError, best_total};

/// The registry's line.
pub(super) const ENTRY: Property = Property {
    name: "pareto",
    title: "Pareto efficiency",
    measure: "gain",
    summary: "Nobody could have more without somebody having less.",
    definition: "no feasible X' has u' >= u and sum u' > sum u (Pareto 1906)",
    check: pareto,
    explain,
};

/// The largest gain in total throughput with nobody worse off: `who` is the party that would gain most of its own.
pub fn pareto(market: &Market, shares: &Matrix) -> Result<Finding, SolveError> {
    assert_shape(market, shares);
    let now = throughputs(market, shares);
    let better = dominating(market, shares, &now)?;
    let total: f64 = now.iter().sum();
    let gain = (better.value - total).max(0.0);
    let gain = if gain > 0.0 { gain / total } else { 0.0 };
    let then = throughputs(market, &better.shares);
    let ratio = |party: &usize| then[*party] / now[*party];
    let winner = (0..market.parties()).filter(|party| then[*party] > 0.0);
    let winner = winner.max_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(b.cmp(a)));
    Ok(Finding::of(gain, winner.into_iter().collect()))
}

/// The division of the largest total in which nobody is worse off.
fn dominating(market: &Market, shares: &Matrix, now: &[f64]) -> Result<Division, SolveError> {
    // Shares may exceed the capacity by a rounding; the program must find at least what there is.
    let mut used = vec![0.0; market.models()];
    for (party, share) in shares.rows().enumerate() {
        for (sum, gpus) in used.iter_mut().zip(in_use(market, party, share).iter()) {
            *sum += gpus;
        }
    }
    let mut market = market.clone();
    for (gpus, used) in market.capacity.iter_mut().zip(used) {
        *gpus = gpus.max(used);
    }
    best_total(&market, now)
}

fn explain(market: &Market, shares: &Matrix, finding: &Finding, names: Names<'_>) -> String {
    let total: f64 = throughputs(market, shares).iter().sum();
    let winner = finding.who.first().map_or("nobody", |party| &names.parties[*party]);
    if total <= 0.0 {
        return format!("Nobody has anything; `{winner}`, for one, could have something.");
    }
    format!(
        "The total could rise from {total:.4} to {:.4}, by {}, with nobody worse off; `{winner}` would gain most of its own.",
        total * (1.0 + finding.worst),
        percent(finding.worst),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market() -> Market {
        Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]), vec![1.0, 1.0])
    }

    #[test]
    fn a_trade_that_helps_both_is_found() {
        // The equal split of this market has 4.5; with the first kept at 1.5 the second could have 3.75.
        let found = pareto(&market(), &Matrix::from_rows(&[[0.5, 0.5], [0.5, 0.5]])).unwrap();
        assert_eq!((found.holds, &found.who[..]), (false, &[1][..]));
        assert!((found.worst - (5.25 / 4.5 - 1.0)).abs() < 1e-9);
        assert!(pareto(&market(), &Matrix::from_rows(&[[1.0, 0.25], [0.0, 0.75]])).unwrap().holds);
    }

    #[test]
    fn what_nobody_can_use_is_no_gain() {
        let market = market().demanding(vec![1.0, 0.5]);
        assert!(pareto(&market, &Matrix::from_rows(&[[0.5, 0.5], [0.0, 0.5]])).unwrap().holds);
        assert!(!pareto(&market, &Matrix::from_rows(&[[1.0, 0.0], [0.0, 0.5]])).unwrap().holds);
    }

    #[test]
    fn where_nobody_has_anything_any_gain_is_infinite() {
        let found = pareto(&market(), &Matrix::zeros(2, 2)).unwrap();
        assert_eq!((found.holds, found.worst), (false, f64::INFINITY));
    }
}
