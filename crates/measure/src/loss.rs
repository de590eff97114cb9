//! What the losses that a job has reported say about those to come.
//!
//! ```text
//! loss(k) = f + a (1 + k / s)^-p      after k steps; f, a >= 0
//! ```
//!
//! For every s and p of a grid, f and a follow by least squares, later reports counting more. No single best curve is
//! believed: early reports fit many. Each counts by its likelihood, given the noise of the best, so that an interval is
//! wide while many curves fit and narrows as the reports tell them apart.

use evenhand_core::Estimate;

/// Fewer reports say nothing.
const POINTS_MIN: usize = 4;

/// More are averaged in groups: it costs less and changes little.
const POINTS_MAX: usize = 24;

/// Powers of the grid.
const POWERS: [f64; 13] = [0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.05, 1.25, 1.5, 1.8, 2.2, 2.6, 3.0];

/// Scales of the grid: from the limit down, two of them for every halving.
const SCALES: i32 = 20;

/// A fit is never believed more closely than this part of the loss: no real curve is quite of this form.
const NOISE_MIN: f64 = 0.01;

/// One curve of the grid, and how much it counts.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    floor: f64,
    amplitude: f64,
    scale: f64,
    power: f64,
    /// Squared misfit at first, then the weight.
    weight: f64,
}

/// All curves that fit, each by how well it does.
#[derive(Clone, Debug)]
pub struct LossFit {
    candidates: Vec<Candidate>,
    /// By how much a report is off.
    noise: f64,
}

impl LossFit {
    /// Fits reports `(steps, loss)` in the order of steps, of a job that does at most `limit` steps; `None` if they are
    /// too few.
    pub fn of(points: &[(f64, f64)], limit: f64) -> Option<Self> {
        if points.len() < POINTS_MIN || limit <= 0.0 {
            return None;
        }
        let points = grouped(points);
        let mut candidates = Vec::with_capacity(POWERS.len() * SCALES as usize);
        for at in 0..SCALES {
            let scale = limit * std::f64::consts::FRAC_1_SQRT_2.powi(at);
            let logs: Vec<f64> = points.iter().map(|point| (point.0 / scale).ln_1p()).collect();
            candidates.extend(POWERS.map(|power| fitted(&points, &logs, scale, power)));
        }
        let least = candidates.iter().map(|candidate| candidate.weight).fold(f64::INFINITY, f64::min);
        let last = points.last().map_or(0.0, |point| point.1);
        let freedom = (points.len() - 2) as f64;
        let noise = (least / freedom).sqrt().max(NOISE_MIN * last).max(f64::MIN_POSITIVE);
        for candidate in &mut candidates {
            candidate.weight = f64::exp((least - candidate.weight) / (2.0 * noise * noise));
        }
        let total: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
        for candidate in &mut candidates {
            candidate.weight /= total;
        }
        Some(Self { candidates, noise })
    }

    /// The steps after which the loss is at most `target`, or `limit` if that comes first.
    pub fn steps_to(&self, target: f64, limit: f64) -> Estimate<f64> {
        let mut steps: Vec<(f64, f64)> = self
            .candidates
            .iter()
            .map(|candidate| (candidate.steps_to(target).min(limit), candidate.weight))
            .collect();
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mean = steps.iter().map(|(steps, weight)| steps * weight).sum::<f64>().min(limit);
        let quantile = |part: f64| {
            let mut seen = 0.0;
            let found = steps.iter().find(|(_, weight)| {
                seen += weight;
                seen >= part
            });
            found.map_or(limit, |(steps, _)| *steps)
        };
        Estimate { mean, low: quantile(0.1).min(mean), high: quantile(0.9).max(mean) }
    }

    /// The chance that the loss is at most `target` after `steps`.
    pub fn chance(&self, target: f64, steps: f64) -> f64 {
        // The logistic curve is within 0.01 of the normal distribution.
        let below = |loss: f64| 1.0 / (1.0 + f64::exp(-1.702 * (target - loss) / self.noise));
        self.candidates.iter().map(|candidate| candidate.weight * below(candidate.at(steps))).sum()
    }
}

impl Candidate {
    fn at(&self, steps: f64) -> f64 {
        self.floor + self.amplitude * f64::exp(-self.power * (steps / self.scale).ln_1p())
    }

    fn steps_to(&self, target: f64) -> f64 {
        if target <= self.floor {
            return f64::INFINITY;
        }
        let ratio = self.amplitude / (target - self.floor);
        if ratio <= 1.0 { 0.0 } else { self.scale * ((ratio.ln() / self.power).exp() - 1.0) }
    }
}

/// Means of neighbours, so that there are not too many.
fn grouped(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let group = points.len().div_ceil(POINTS_MAX);
    let mean = |chunk: &[(f64, f64)]| {
        let sum = chunk.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (sum.0 / chunk.len() as f64, sum.1 / chunk.len() as f64)
    };
    points.chunks(group).map(mean).collect()
}

/// The floor and the amplitude that fit best, with their squared misfit.
fn fitted(points: &[(f64, f64)], logs: &[f64], scale: f64, power: f64) -> Candidate {
    let last = points.last().map_or(1.0, |point| point.0).max(f64::MIN_POSITIVE);
    let rows: Vec<(f64, f64, f64)> = points
        .iter()
        .zip(logs)
        .map(|((steps, loss), log)| (steps / last + 0.1, f64::exp(-power * log), *loss))
        .collect();
    let sum = |part: fn(&(f64, f64, f64)) -> f64| rows.iter().map(|row| row.0 * part(row)).sum::<f64>();
    let (w, x, y) = (sum(|_| 1.0), sum(|row| row.1), sum(|row| row.2));
    let (xx, xy) = (sum(|row| row.1 * row.1), sum(|row| row.1 * row.2));
    let determinant = w * xx - x * x;
    let slope = if determinant > 1e-12 * w * xx { (w * xy - x * y) / determinant } else { 0.0 };
    let (mut amplitude, mut floor) = (slope.max(0.0), (y - slope.max(0.0) * x) / w);
    if floor < 0.0 {
        (amplitude, floor) = (xy / xx, 0.0);
    }
    let misfit: f64 = rows.iter().map(|row| row.0 * (row.2 - floor - amplitude * row.1).powi(2)).sum();
    // As though every report counted once.
    Candidate { floor, amplitude, scale, power, weight: misfit * rows.len() as f64 / w }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(count: u32, scale: f64, power: f64) -> Vec<(f64, f64)> {
        let loss = |k: f64| 0.5 + 2.0 * (1.0 + k / scale).powf(-power);
        (1..=count).map(|k| (f64::from(k), loss(f64::from(k)))).collect()
    }

    #[test]
    fn a_clean_curve_is_found_and_the_interval_narrows() {
        let all = points(90, 7.0, 0.9);
        let target = all[59].1;
        let told = |count: usize| LossFit::of(&all[..count], 100.0).unwrap().steps_to(target, 100.0);
        for (count, off) in [(15, 0.25), (30, 0.1), (50, 0.06)] {
            let estimate = told(count);
            assert!((estimate.mean / 60.0 - 1.0).abs() < off, "after {count}: {estimate:?}");
        }
        let width = |estimate: Estimate<f64>| estimate.high - estimate.low;
        assert!(width(told(50)) < width(told(15)), "{:?}, {:?}", told(15), told(50));
        assert!(LossFit::of(&all[..3], 100.0).is_none());
    }

    #[test]
    fn what_cannot_be_reached_has_no_chance() {
        let fit = LossFit::of(&points(30, 5.0, 1.0), 100.0).unwrap();
        assert!(fit.chance(0.4, 100.0) < 0.01 && fit.chance(0.7, 100.0) > 0.95);
        let estimate = fit.steps_to(0.3, 100.0);
        assert!((estimate.mean - 100.0).abs() < 1.0, "{estimate:?}");
    }
}
