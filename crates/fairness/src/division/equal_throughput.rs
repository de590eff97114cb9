//! Equal throughput: everybody has the same for its weight (OEF's non-cooperative mode).
//!
//! ```text
//! u_i / pi_i = u_l / pi_l      for all i, l
//! spread = 1 - min_i (u_i / pi_i) / max_i (u_i / pi_i)
//! ```
//!
//! A party that runs on all the GPUs that it can use cannot be raised to the others' level, so it may be below it; it may not
//! be above. A party that is lower because it cannot run on some GPU model does count: equality is what is asked.

use super::finding::percent;
use super::{Finding, Names, Property, TOLERANCE, assert_shape, in_use, throughput, throughputs};
use evenhand_solve::{Market, Matrix};

/// The registry's line.
pub(super) const ENTRY: Property = Property {
    name: "equal_throughput",
    title: "equal throughput",
    measure: "spread",
    summary: "Everybody has the same throughput for its weight.",
    definition: "u_i/pi_i = u_l/pi_l for all i, l (OEF, non-cooperative mode)",
    check: |market, shares| Ok(equal_throughput(market, shares)),
    explain,
};

/// The spread of throughputs per weight: `who` is the party with the least and the one with the most.
pub fn equal_throughput(market: &Market, shares: &Matrix) -> Finding {
    assert_shape(market, shares);
    let levels: Vec<f64> =
        throughputs(market, shares).iter().zip(&market.weights).map(|(own, weight)| own / weight).collect();
    let by_level = |a: &usize, b: &usize| levels[*a].total_cmp(&levels[*b]);
    let most = (0..market.parties()).max_by(|a, b| by_level(a, b).then(b.cmp(a)));
    let least = (0..market.parties()).filter(|party| !is_sated(market, shares, *party)).min_by(by_level);
    let (Some(least), Some(most)) = (least, most) else { return Finding::of(0.0, Vec::new()) };
    let spread = if levels[most] > 0.0 { 1.0 - levels[least] / levels[most] } else { 0.0 };
    Finding::of(spread, vec![least, most])
}

/// Whether a party runs on as many GPUs as it can use.
pub(super) fn is_sated(market: &Market, shares: &Matrix, party: usize) -> bool {
    let used: f64 = in_use(market, party, shares.row(party)).iter().sum();
    used >= market.demands[party] * (1.0 - TOLERANCE)
}

fn explain(market: &Market, shares: &Matrix, finding: &Finding, names: Names<'_>) -> String {
    let level = |party: usize| throughput(market, party, shares.row(party)) / market.weights[party];
    let (least, most) = (finding.who[0], finding.who[1]);
    format!(
        "`{}` has a throughput per weight of {:.4} and `{}` one of {:.4}, {} less.",
        names.parties[most],
        level(most),
        names.parties[least],
        level(least),
        percent(finding.worst),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_use_no_more_may_be_below_the_others_but_not_above() {
        let market = Market::new(Matrix::from_rows(&[[1.0], [1.0]]), vec![4.0]);
        let shares = Matrix::from_rows(&[[1.0], [3.0]]);
        let found = equal_throughput(&market, &shares);
        assert_eq!(found.who, [0, 1]);
        assert!((found.worst - 2.0 / 3.0).abs() < 1e-12);
        assert!(equal_throughput(&market.clone().weighing(vec![1.0, 3.0]), &shares).holds);
        assert!(equal_throughput(&market.clone().demanding(vec![1.0, 9.0]), &shares).holds);
        assert!(!equal_throughput(&market.demanding(vec![9.0, 3.0]), &shares).holds);
    }
}
