//! Sharing incentive: nobody would be better off with its own part of the cluster (Ghodsi et al., Dominant Resource Fairness,
//! NSDI 2011; for throughputs as in OEF).
//!
//! ```text
//! w_i.x_i >= (pi_i / sum pi) w_i.m      for all i
//! ```
//!
//! Checked as `u_i(x_i) >= u_i(m pi_i/sum pi)`: what i makes of its share against what it would make of its part of every GPU
//! model, used up to its demand. The violation is the part of the latter that i goes without.

use super::finding::percent;
use super::{Finding, Names, Property, assert_shape, throughput, throughputs};
use evenhand_solve::{Market, Matrix};

/// The registry's line.
pub(super) const ENTRY: Property = Property {
    name: "sharing_incentive",
    title: "sharing incentive",
    measure: "worst",
    summary: "Nobody would be better off with its own part of every GPU model.",
    definition: "w_i.x_i >= (pi_i/sum pi) w_i.m for all i (Ghodsi et al. 2011)",
    check: |market, shares| Ok(sharing_incentive(market, shares)),
    explain,
};

/// The party that loses most by sharing: `who` is that party alone.
pub fn sharing_incentive(market: &Market, shares: &Matrix) -> Finding {
    assert_shape(market, shares);
    let all: f64 = market.weights.iter().sum();
    let mut worst = (0.0, Vec::new());
    for (party, own) in throughputs(market, shares).iter().enumerate() {
        let lacks = 1.0 - own / by_itself(market, party, all);
        if lacks > worst.0 {
            worst = (lacks, vec![party]);
        }
    }
    Finding::of(worst.0, worst.1)
}

/// What a party would make of its own part of every GPU model; more than 0 in a checked market.
fn by_itself(market: &Market, party: usize, weights: f64) -> f64 {
    let part = market.weights[party] / weights;
    let share: Vec<f64> = market.capacity.iter().map(|gpus| gpus * part).collect();
    throughput(market, party, &share)
}

fn explain(market: &Market, shares: &Matrix, finding: &Finding, names: Names<'_>) -> String {
    let party = finding.who[0];
    let own = throughput(market, party, shares.row(party));
    let alone = by_itself(market, party, market.weights.iter().sum());
    format!(
        "`{}` would have a throughput of {alone:.4} with its own part of every GPU model, and it has {own:.4}, {} less.",
        names.parties[party],
        percent(finding.worst),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_party_is_that_of_its_weight_and_demand() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 2.0], [1.0, 5.0]]), vec![1.0, 1.0]);
        let shares = Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]);
        let found = sharing_incentive(&market, &shares);
        assert_eq!((found.holds, found.who), (false, vec![0]));
        assert!((found.worst - 1.0 / 3.0).abs() < 1e-12);
        assert!(sharing_incentive(&market.clone().weighing(vec![1.0, 2.0]), &shares).holds);
        // With half a GPU it can use half of the faster one that is its own, which makes 1.
        assert!(sharing_incentive(&market.demanding(vec![0.5, 1.0]), &shares).worst.abs() > 0.4);
    }
}
