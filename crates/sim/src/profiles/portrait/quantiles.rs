//! Some numbers by their quantiles.

use serde::Serialize;

/// Some numbers by their quantiles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct Quantiles {
    pub min: f64,
    pub p1: f64,
    pub p5: f64,
    pub p10: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    pub mean: f64,
}

impl Quantiles {
    /// Of these numbers; `None` if there are none.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        // Between two values, in proportion: the definition of the published tables.
        let at = |fraction: f64| {
            let place = fraction * (values.len() - 1) as f64;
            let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
            low + (high - low) * place.fract()
        };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let [p1, p5, p10, p25, p50, p75, p90, p95, p99] =
            [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99].map(at);
        Some(Self { min, p1, p5, p10, p25, p50, p75, p90, p95, p99, max, mean })
    }
}
