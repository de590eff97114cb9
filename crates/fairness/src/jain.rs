//! Jain's index: how even a list of numbers is (Jain, Chiu and Hawe, DEC Research Report TR-301, 1984).
//!
//! ```text
//! J(x) = (sum_i x_i)^2 / (n * sum_i x_i^2)
//! ```
//!
//! 1 when all are equal, 1/n when one has everything. It does not change when all numbers grow by one factor.

/// Jain's index of these numbers, which are not negative; NaN if there are none.
pub fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if !values.is_empty() && squares <= 0.0 {
        // Nobody has anything, and that evenly.
        return 1.0;
    }
    sum * sum / (values.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_is_one_and_all_for_one_is_one_over_n() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[0.0, 0.0, 7.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[1.0, 3.0]) - 0.8).abs() < 1e-12);
        assert!((jain(&[0.0, 0.0]) - 1.0).abs() < 1e-12);
        assert!(jain(&[]).is_nan());
    }
}
