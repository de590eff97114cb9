//! A figure over several seeds: its mean, and how far the true mean may be from it.

use crate::quantile::mean;
use crate::{Summary, student};

/// The mean of a figure over seeds, with its 95 % interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Average {
    /// The mean of the seeds in which there was something to measure; NaN if there are none.
    pub mean: f64,
    /// Half the width of the interval; NaN with fewer than two seeds, which say nothing of chance.
    pub half: f64,
}

impl Average {
    /// The average of these values; those that are not numbers are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let (mean, count) = (mean(&values), values.len());
        if count < 2 {
            return Self { mean, half: f64::NAN };
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (count - 1) as f64).sqrt();
        Self { mean, half: student::quantile(count - 1) * deviation / (count as f64).sqrt() }
    }

    /// The lower end of the interval; the mean itself if there is none.
    pub fn low(self) -> f64 {
        if self.half.is_nan() { self.mean } else { self.mean - self.half }
    }

    /// The upper end of the interval; the mean itself if there is none.
    pub fn high(self) -> f64 {
        if self.half.is_nan() { self.mean } else { self.mean + self.half }
    }
}

/// Runs that differ in nothing but their seeds, by their places.
pub type Seeds = Vec<usize>;

/// Which runs differ in nothing but their seeds, in the order of their first.
pub fn groups(runs: &[&Summary]) -> Vec<Seeds> {
    let mut groups: Vec<Seeds> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let alike = |other: &&Summary| (&other.policy, &other.parameters) == (&run.policy, &run.parameters);
        // A second run with the same seed is a run of its own: nobody averages a thing with itself.
        let joins = |seeds: &&mut Seeds| {
            alike(&runs[seeds[0]]) && seeds.iter().all(|other| runs[*other].seed != run.seed)
        };
        match groups.iter_mut().find(joins) {
            Some(seeds) => seeds.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // Four values, variance 2/3, three degrees of freedom.
        let average = Average::of([1.0, 2.0, f64::NAN, 2.0, 3.0]);
        close(average.mean, 2.0);
        close(average.half, 3.1824 * (2.0_f64 / 3.0).sqrt() / 2.0);
        close(average.low() + average.high(), 4.0);
        let alone = Average::of([5.0]);
        assert!(alone.half.is_nan() && (alone.low() - 5.0).abs() < 1e-12);
        assert!(Average::of([]).mean.is_nan());
    }
}
