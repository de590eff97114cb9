//! Where an interior-point solver ends when a program leaves it a choice: in the analytic centre of what is allowed.
//!
//! ```text
//! maximise  sum_i [ ln(y_i - least_i) + ln(y_i) + ln(1 - y_i) ] + ln(M - sum_i g_i y_i)      one GPU model
//! ```
//!
//! The published simulators use such solvers, so their tables contain the centre. With lambda = 1 / (M - sum_i g_i y_i), the price
//! of a GPU, every y_i is the root of a monotone function, and lambda of another.

/// Halvings of an interval: enough for every bit.
const HALVINGS: u32 = 100;

/// y: the centre of what is allowed, given the least that everybody needs and its gang. There is some room inside.
pub(super) fn centre(least: &[f64], gangs: &[f64], gpus: f64) -> Vec<f64> {
    let at = |lambda: f64| -> Vec<f64> {
        least.iter().zip(gangs).map(|(least, gang)| fraction(*least, gang * lambda)).collect()
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

/// The y between `least` and 1 at which 1/(y - least) + 1/y - 1/(1 - y) = price.
fn fraction(least: f64, price: f64) -> f64 {
    let (mut low, mut high) = (least, 1.0);
    for _ in 0..HALVINGS {
        let y = f64::midpoint(low, high);
        if 1.0 / (y - least) + 1.0 / y - 1.0 / (1.0 - y) > price { low = y } else { high = y }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_is_inside_and_no_step_from_it_improves() {
        let (least, gangs, gpus) = ([0.1, 0.3, 0.0, 0.25], [1.0, 2.0, 4.0, 1.0], 3.0);
        let found = centre(&least, &gangs, gpus);
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
