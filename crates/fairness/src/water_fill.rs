//! Weighted max-min shares of one divisible resource (progressive filling; Bertsekas and Gallager, Data Networks,
//! 1992, section 6.5.2).
//!
//! ```text
//! maximise lexicographically the sorted vector of  x_i / pi_i
//! subject to  sum_i x_i <= M ,  0 <= x_i <= d_i
//! ```
//!
//! In words: raise everybody's level x_i / pi_i together; who has all it asks for stops rising.

/// The weighted max-min share of `capacity` for parties with these `(weight, demand)`, in the same order.
///
/// Weights are positive; demands and capacity are not negative. What nobody asks for is left over.
pub fn water_fill(parties: &[(f64, f64)], capacity: f64) -> Vec<f64> {
    // Whoever asks for the least per weight is full first.
    let mut order: Vec<usize> = (0..parties.len()).collect();
    let level = |at: usize| parties[at].1 / parties[at].0;
    order.sort_by(|a, b| level(*a).total_cmp(&level(*b)).then(a.cmp(b)));
    let mut weight_left: f64 = parties.iter().map(|(weight, _)| weight).sum();
    let mut left = capacity;
    let mut shares = vec![0.0; parties.len()];
    for at in order {
        let (weight, demand) = parties[at];
        let fair = if weight_left > 0.0 { left.max(0.0) * weight / weight_left } else { 0.0 };
        shares[at] = demand.min(fair);
        left -= shares[at];
        weight_left -= weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: &[f64], expected: &[f64]) {
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?} is not {expected:?}"
        );
    }

    #[test]
    fn who_asks_for_little_gets_it_and_the_rest_is_split_by_weight() {
        assert_close(
            &water_fill(&[(1.0, 2.0), (1.0, 10.0), (2.0, 10.0)], 12.0),
            &[2.0, 10.0 / 3.0, 20.0 / 3.0],
        );
        assert_close(&water_fill(&[(1.0, 3.0), (5.0, 4.0)], 100.0), &[3.0, 4.0]);
        assert_close(&water_fill(&[], 5.0), &[]);
        assert_close(&water_fill(&[(1.0, 4.0), (1.0, 4.0)], 0.0), &[0.0, 0.0]);
    }
}
