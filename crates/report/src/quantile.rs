//! Means and quantiles of lists of numbers.

/// The mean; NaN if there is nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The largest; NaN if there is nothing.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The share of values above `limit`; NaN if there is nothing.
pub fn share_above(values: &[f64], limit: f64) -> f64 {
    values.iter().filter(|value| **value > limit).count() as f64 / values.len() as f64
}

/// The `p`-quantile of sorted values, between two of them by straight line (as NumPy does, so that published numbers
/// compare); NaN if there is nothing.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The values, smallest first.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_on_straight_lines_between_values() {
        let values = sorted(vec![40.0, 10.0, 30.0, 20.0]);
        assert!((quantile(&values, 0.5) - 25.0).abs() < 1e-12);
        assert!((quantile(&values, 0.95) - 38.5).abs() < 1e-12);
        assert!((quantile(&values, 1.0) - 40.0).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
        assert!((share_above(&values, 20.0) - 0.5).abs() < 1e-12);
        assert!(mean(&[]).is_nan() && largest(&[]).is_nan());
    }
}
