//! Where an interior-point solver ends when a program leaves it a choice: in the analytic centre of what is allowed.
//!
//! ```text
//! maximise  sum_i [ a ln(y_i - least_i) + b ln(y_i) + ln(1 - y_i) ] + ln(M - sum_i g_i y_i)      one GPU model
//! a = b = 1      for linear programs
//! a = 3/2, b = 0 where 1/y_i is bounded, by a cone s_i y_i >= 1 of barrier ln(s_i y_i - 1)/2 with the best s_i put in
//! ```
//!
//! The published simulators use such solvers, so their tables contain the centre. With lambda = 1 / (M - sum_i g_i y_i), the price
//! of a GPU, every y_i is the root of a monotone function, and lambda of another.

use evenhand_solve::{Division, Market, Matrix};

/// Halvings of an interval: enough for every bit.
const HALVINGS: u32 = 100;

/// What keeps a fraction from its bounds: a and b.
#[derive(Clone, Copy, Debug)]
pub(super) struct Barrier {
    least: f64,
    zero: f64,
}

/// For linear programs.
pub(super) const LINEAR: Barrier = Barrier { least: 1.0, zero: 1.0 };
/// For bounds on 1/y.
pub(super) const INVERSE: Barrier = Barrier { least: 1.5, zero: 0.0 };

/// y: the centre of what is allowed, given the least that everybody needs and its gang. There is some room inside.
pub(super) fn centre(barrier: Barrier, least: &[f64], gangs: &[f64], gpus: f64) -> Vec<f64> {
    let at = |lambda: f64| -> Vec<f64> {
        least.iter().zip(gangs).map(|(least, gang)| barrier.fraction(*least, gang * lambda)).collect()
    };
    let left = |fractions: &[f64]| gpus - evenhand_solve::dot(fractions, gangs);
    // The price of a GPU is between those at which hardly any and practically all would be left over.
    let (mut low, mut high) = (1e-12_f64, 1e12_f64);
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        if left(&at(middle)) < 1.0 / middle { low = middle } else { high = middle }
    }
    at((low * high).sqrt())
}

impl Barrier {
    /// The y between `least` and 1 at which a/(y - least) + b/y - 1/(1 - y) = price.
    fn fraction(self, least: f64, price: f64) -> f64 {
        let (mut low, mut high) = (least, 1.0);
        for _ in 0..HALVINGS {
            let y = f64::midpoint(low, high);
            let slope = self.least / (y - least) + self.zero / y - 1.0 / (1.0 - y);
            if slope > price { low = y } else { high = y }
        }
        f64::midpoint(low, high)
    }
}

/// Fractions of time on the one GPU model as a division.
pub(super) fn division_of(fractions: &[f64], market: &Market, value: f64) -> Division {
    let gpus: Vec<[f64; 1]> = fractions.iter().zip(&market.demands).map(|(y, gang)| [y * gang]).collect();
    Division { shares: Matrix::from_rows(&gpus), value, bound: value, prices: Vec::new(), steps: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_is_inside_and_no_step_from_it_improves() {
        let (least, gangs, gpus) = ([0.1, 0.3, 0.0, 0.25], [1.0, 2.0, 4.0, 1.0], 3.0);
        let found = centre(LINEAR, &least, &gangs, gpus);
        let value = |y: &[f64]| {
            let own = y.iter().zip(least).map(|(y, least)| (y - least).ln() + y.ln() + (1.0 - y).ln());
            own.sum::<f64>() + (gpus - evenhand_solve::dot(y, &gangs)).ln()
        };
        for at in 0..4 {
            for step in [-1e-4, 1e-4] {
                let mut other = found.clone();
                other[at] += step;
                assert!(value(&other) < value(&found), "{found:?}");
            }
        }
    }
}
