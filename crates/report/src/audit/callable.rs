//! How many GPUs a tenant could have used, had it been given as many as others: what it may envy them for.
//!
//! ```text
//! h_i(t)    = pi_i max_l x_l(t) / pi_l          GPUs that i would have with the most per weight that anybody has
//! callable  = mean over time of min(d_i(t), h_i(t))
//! ```
//!
//! The mean of its demand would be too much. A tenant that asks for 2 GPUs by day and for 98 in the evening asks for 50 on
//! average, but nobody who had 50 all day had them at its expense. The run is cut into equal stretches, and both are means
//! over a stretch: in a single round whoever has a gang has more than its share.

use super::Account;
use crate::book::Book;
use crate::series::{Step, thin};
use crate::shares::Shares;

/// Stretches that a run is cut into, at most.
const STRETCHES_MAX: usize = 64;

/// GPUs that each of these tenants could have used of what others had.
pub fn callable(tenants: &[usize], book: &Book, account: &Account, shares: &Shares) -> Vec<f64> {
    let weight = |tenant: usize| book.standings.rows()[tenant].weight.get();
    let mut level: Vec<f64> = Vec::new();
    for tenant in tenants {
        for (at, step) in stretches(&shares.received(*tenant)).iter().enumerate() {
            level.resize(level.len().max(at + 1), 0.0);
            level[at] = level[at].max(step.mean / weight(*tenant));
        }
    }
    let of_one = |tenant: &usize| {
        let asked = stretches(&account.asks.steps(*tenant));
        let used = asked
            .iter()
            .zip(&level)
            .map(|(step, level)| step.mean.min(level * weight(*tenant)) * (step.to_s - step.from_s));
        used.sum::<f64>() * 1e3 / account.active
    };
    tenants.iter().map(of_one).collect()
}

fn stretches(steps: &[Step]) -> Vec<Step> {
    thin(steps, STRETCHES_MAX)
}
