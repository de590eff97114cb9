//! What no division without envy can exceed, from any multipliers of envy rows.
//!
//! ```text
//! for any l_ab >= 0 :   total  <=  sum_j p_j ,      p_j = max_i  ( v_ij + sum_b l_ib d_ij - sum_a l_ai d_aj ) / rho_i ,  at least 0
//! ```
//!
//! Adding l_ab (d_a.y_a - d_a.y_b) >= 0 to the total cannot lower it, and what then stands before y_ij is at most rho_i p_j,
//! where sum_i rho_i y_ij <= 1. Multipliers from a solver that stopped early loosen the bound; nothing makes it wrong.

use super::tastes::Tastes;
use crate::Matrix;

pub(super) fn bound(tastes: &Tastes, multipliers: impl Iterator<Item = (usize, usize, f64)>) -> f64 {
    let mut worth: Matrix = tastes.values.clone();
    for (party, envied, multiplier) in multipliers {
        if multiplier > 0.0 {
            let direction = tastes.directions.row(party);
            for (at, sign) in [(party, multiplier), (envied, -multiplier)] {
                worth.row_mut(at).iter_mut().zip(direction).for_each(|(worth, part)| *worth += sign * part);
            }
        }
    }
    let mut prices = vec![0.0_f64; worth.columns()];
    for (row, weight) in worth.rows().zip(&tastes.weights) {
        prices.iter_mut().zip(row).for_each(|(price, worth)| *price = price.max(worth / weight));
    }
    prices.iter().sum()
}
