//! Nothing wasted: no GPU that somebody could use is left over (ours: the part of Pareto efficiency that needs no trade, and so
//! no linear program; every optimum of OEF's cooperative mode has it).
//!
//! ```text
//! idle_j = m_j - sum_i y_ij      y_i the part of its share that i runs on
//! idle_j = 0                     for every j with some i that w_ij > 0 and sum_j y_ij < D_i
//! ```
//!
//! A GPU in the share of a party that cannot run on it, or has more than it can use, is as idle as one that nobody has. The
//! violation is the largest idle_j / m_j.

use super::equal_throughput::is_sated;
use super::finding::percent;
use super::{Finding, Names, Property, assert_shape, in_use};
use evenhand_solve::{Market, Matrix};

/// The registry's line.
pub(super) const ENTRY: Property = Property {
    name: "all_used",
    title: "nothing wasted",
    measure: "idle",
    summary: "No GPU that somebody could use is left over.",
    definition: "sum_i y_ij = m_j for every j that somebody could use more of",
    check: |market, shares| Ok(all_used(market, shares)),
    explain,
};

/// The GPU model of which the largest part is idle: `who` is a party that could use it and the place of the model.
pub fn all_used(market: &Market, shares: &Matrix) -> Finding {
    assert_shape(market, shares);
    let idle = idle(market, shares);
    let hungry: Vec<usize> =
        (0..market.parties()).filter(|party| !is_sated(market, shares, *party)).collect();
    let mut worst = (0.0, Vec::new());
    for (model, idle) in idle.iter().enumerate() {
        let user = hungry.iter().find(|party| market.speedups.row(**party)[model] > 0.0);
        let part = idle / market.capacity[model];
        if let Some(user) = user
            && part > worst.0
        {
            worst = (part, vec![*user, model]);
        }
    }
    Finding::of(worst.0, worst.1)
}

/// GPUs of each model that nobody runs on.
fn idle(market: &Market, shares: &Matrix) -> Vec<f64> {
    let mut idle = market.capacity.clone();
    for (party, share) in shares.rows().enumerate() {
        for (idle, gpus) in idle.iter_mut().zip(in_use(market, party, share).iter()) {
            *idle -= gpus;
        }
    }
    idle
}

fn explain(market: &Market, shares: &Matrix, finding: &Finding, names: Names<'_>) -> String {
    let (user, model) = (finding.who[0], finding.who[1]);
    format!(
        "{:.4} GPUs of model `{}`, {} of them, are idle, and `{}` could use them.",
        idle(market, shares)[model],
        names.models[model],
        percent(finding.worst),
        names.parties[user],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_that_nobody_can_use_may_be_idle_and_those_held_in_vain_may_not() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 0.0], [1.0, 1.0]]), vec![1.0, 5.0]);
        // The equal throughputs of this market leave four GPUs of the second model idle.
        let found = all_used(&market, &Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]]));
        assert_eq!((found.holds, &found.who[..]), (false, &[1, 1][..]));
        assert!((found.worst - 0.8).abs() < 1e-12);
        assert!(!all_used(&market, &Matrix::from_rows(&[[1.0, 4.0], [0.0, 1.0]])).holds);
        let market = market.demanding(vec![9.0, 1.0]);
        assert!(all_used(&market, &Matrix::from_rows(&[[1.0, 0.0], [0.0, 1.0]])).holds);
    }
}
