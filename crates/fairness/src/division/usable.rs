//! What a party makes of a share.
//!
//! ```text
//! u_i(x) = max { w_i.y : 0 <= y <= x ,  sum_j y_j <= D_i ,  y_j = 0 where w_ij = 0 }
//! ```
//!
//! With an infinite demand that is w_i.x; with a finite one a party runs on its fastest GPUs and leaves the others alone.

use evenhand_solve::{Market, Matrix, dot};
use std::borrow::Cow;

/// The part y of a share that a party runs on.
pub fn in_use<'a>(market: &Market, party: usize, share: &'a [f64]) -> Cow<'a, [f64]> {
    let speedups = market.speedups.row(party);
    let asks = market.demands[party];
    let runs_on_all = share.iter().zip(speedups).all(|(gpus, speedup)| *gpus <= 0.0 || *speedup > 0.0);
    if runs_on_all && share.iter().sum::<f64>() <= asks {
        return Cow::Borrowed(share);
    }
    let mut fastest_first: Vec<usize> = (0..share.len()).filter(|model| speedups[*model] > 0.0).collect();
    fastest_first.sort_by(|a, b| speedups[*b].total_cmp(&speedups[*a]).then(a.cmp(b)));
    let mut used = vec![0.0; share.len()];
    let mut left = asks;
    for model in fastest_first {
        used[model] = share[model].min(left);
        left -= used[model];
    }
    Cow::Owned(used)
}

/// The throughput u_i of a party with a share.
pub fn throughput(market: &Market, party: usize, share: &[f64]) -> f64 {
    if market.demands[party].is_infinite() {
        return market.throughput(party, share);
    }
    dot(market.speedups.row(party), &in_use(market, party, share))
}

/// The throughput of every party.
pub fn throughputs(market: &Market, shares: &Matrix) -> Vec<f64> {
    shares.rows().enumerate().map(|(party, share)| throughput(market, party, share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_runs_on_its_fastest_gpus_up_to_its_demand() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 0.0, 3.0]]), vec![4.0; 3]);
        assert_eq!(*in_use(&market, 0, &[2.0, 2.0, 2.0]), [2.0, 0.0, 2.0]);
        let market = market.demanding(vec![3.0]);
        assert_eq!(*in_use(&market, 0, &[2.0, 2.0, 2.0]), [1.0, 0.0, 2.0]);
        assert!((throughput(&market, 0, &[2.0, 2.0, 2.0]) - 7.0).abs() < 1e-12);
    }
}
