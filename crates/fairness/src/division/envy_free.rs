//! Envy-freeness: nobody would rather have somebody else's share (Foley, Resource Allocation and the Public Sector, 1967;
//! between weights as in OEF's cooperative mode).
//!
//! ```text
//! w_i.x_i / pi_i >= w_i.x_l / pi_l      for all i, l
//! ```
//!
//! Checked as `u_i(x_i) >= u_i(x_l pi_i/pi_l)`: what i makes of its share against what it would make of l's, scaled to i's weight
//! and used up to i's demand. The violation is the part of the latter that i goes without: 1 - u_i(x_i) / u_i(x_l pi_i/pi_l).
//! Costs the square of the number of parties.

use super::finding::percent;
use super::{Finding, Names, Property, assert_shape, throughput, throughputs};
use evenhand_solve::{Market, Matrix};

/// The registry's line.
pub(super) const ENTRY: Property = Property {
    name: "envy_free",
    title: "envy-freeness",
    measure: "worst",
    summary: "Nobody would rather have somebody else's share, scaled to its own weight.",
    definition: "w_i.x_i/pi_i >= w_i.x_l/pi_l for all i, l (Foley 1967)",
    check: |market, shares| Ok(envy_free(market, shares)),
    explain,
};

/// The worst envy: `who` is the envious party and the one it envies.
pub fn envy_free(market: &Market, shares: &Matrix) -> Finding {
    envy(market, shares, &throughputs(market, shares))
}

/// The worst envy between parties that are known to make this much of their own shares: more than their speedups say if each
/// is many, who use every GPU model where it does most.
pub fn envy(market: &Market, shares: &Matrix, own: &[f64]) -> Finding {
    assert_shape(market, shares);
    let mut worst = (0.0, Vec::new());
    for (envious, own) in own.iter().enumerate() {
        for envied in 0..market.parties() {
            let other = in_place_of(market, shares, envious, envied);
            let lacks = 1.0 - own / other;
            if envious != envied && other > 0.0 && lacks > worst.0 {
                worst = (lacks, vec![envious, envied]);
            }
        }
    }
    Finding::of(worst.0, worst.1)
}

/// The envy of each party (row) of each other (column), as in [`envy`]; 0 where there is none.
pub fn envy_matrix(market: &Market, shares: &Matrix, own: &[f64]) -> Vec<Vec<f64>> {
    assert_shape(market, shares);
    let lacks = |envious: usize, envied: usize| {
        let other = in_place_of(market, shares, envious, envied);
        if envious == envied || other <= 0.0 { 0.0 } else { (1.0 - own[envious] / other).max(0.0) }
    };
    let parties = market.parties();
    (0..parties).map(|envious| (0..parties).map(|envied| lacks(envious, envied)).collect()).collect()
}

/// What one party would make of another's share, scaled to its own weight.
fn in_place_of(market: &Market, shares: &Matrix, envious: usize, envied: usize) -> f64 {
    let scale = market.weights[envious] / market.weights[envied];
    if market.demands[envious].is_infinite() {
        return market.throughput(envious, shares.row(envied)) * scale;
    }
    let share: Vec<f64> = shares.row(envied).iter().map(|gpus| gpus * scale).collect();
    throughput(market, envious, &share)
}

fn explain(market: &Market, shares: &Matrix, finding: &Finding, names: Names<'_>) -> String {
    envy_in_words(market, shares, &throughputs(market, shares), finding, names)
}

/// The worst [`envy`] in a sentence, for a finding that does not hold.
pub fn envy_in_words(
    market: &Market,
    shares: &Matrix,
    own: &[f64],
    finding: &Finding,
    names: Names<'_>,
) -> String {
    let (envious, envied) = (finding.who[0], finding.who[1]);
    let own = own[envious];
    let other = in_place_of(market, shares, envious, envied);
    let weights_differ = (market.weights[envious] - market.weights[envied]).abs() > 0.0;
    let scaled = if weights_differ { ", scaled to its own weight," } else { "" };
    format!(
        "`{}` envies `{}`: with that share{scaled} it would have a throughput of {other:.4}, and it has {own:.4}, {} less.",
        names.parties[envious],
        names.parties[envied],
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
    fn the_envious_and_the_envied_are_named() {
        let found = envy_free(&market(), &Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]));
        assert_eq!((found.holds, &found.who[..]), (false, &[0, 1][..]));
        assert!((found.worst - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_larger_weight_may_have_more() {
        let shares = Matrix::from_rows(&[[0.25, 0.25], [0.75, 0.75]]);
        assert!(!envy_free(&market(), &shares).holds);
        assert!(envy_free(&market().weighing(vec![1.0, 3.0]), &shares).holds);
        let found = envy_free(&market().weighing(vec![1.0, 6.0]), &shares);
        assert_eq!(found.who, [1, 0]);
        assert!((found.worst - 0.5).abs() < 1e-12);
    }

    #[test]
    fn who_has_all_it_can_use_envies_nobody() {
        let shares = Matrix::from_rows(&[[0.0, 0.25], [1.0, 0.75]]);
        assert!(!envy_free(&market(), &shares).holds);
        assert!(envy_free(&market().demanding(vec![0.25, f64::INFINITY]), &shares).holds);
    }
}
