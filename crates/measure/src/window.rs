//! A robust mean of what was measured lately, in bounded memory.

use evenhand_core::{Estimate, Rate};

/// Paces that are kept: those before are forgotten, so that a speed that changed is believed in the end.
const KEPT_MAX: usize = 64;

/// One pace in five is left out at either end, so that slow nodes and bad moments do not count.
const TRIMMED: usize = 5;

/// How far off a single pace may be; the mean of many is closer, by the square root of their number.
const NOISE: f64 = 0.1;

/// The last paces on one GPU model.
#[derive(Clone, Debug, Default)]
pub struct Window {
    paces: Vec<f64>,
    next: usize,
    count: u64,
    estimate: Estimate<Rate>,
}

impl Window {
    /// Takes one more pace in.
    pub fn add(&mut self, pace: Rate) {
        if self.paces.len() < KEPT_MAX {
            self.paces.push(pace.get());
        } else {
            self.paces[self.next] = pace.get();
            self.next = (self.next + 1) % KEPT_MAX;
        }
        self.count += 1;
        self.estimate = estimate(&self.paces);
    }

    /// How many were ever taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their trimmed mean, and the range of four out of five: never exact, and wider while they are few.
    pub fn speed(&self) -> Estimate<Rate> {
        self.estimate
    }
}

fn estimate(paces: &[f64]) -> Estimate<Rate> {
    let mut sorted = paces.to_vec();
    sorted.sort_by(f64::total_cmp);
    let inner = &sorted[sorted.len() / TRIMMED..sorted.len() - sorted.len() / TRIMMED];
    let mean = inner.iter().sum::<f64>() / inner.len() as f64;
    let tenth = sorted.len() / 10;
    let noise = NOISE / (sorted.len() as f64).sqrt();
    let rate = |value: f64| Rate::new(value).unwrap_or_default();
    let (low, high) = (sorted[tenth], sorted[sorted.len() - 1 - tenth]);
    Estimate { mean: rate(mean), low: rate(low * (1.0 - noise)), high: rate(high * (1.0 + noise)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Random;

    fn window(paces: impl IntoIterator<Item = f64>) -> Window {
        let mut window = Window::default();
        paces.into_iter().for_each(|pace| window.add(Rate::new(pace).unwrap()));
        window
    }

    #[test]
    fn one_bad_moment_in_six_does_not_count() {
        let mut random = Random::new(3);
        let paces = (0..60).map(|at| if at % 6 == 0 { 0.5 } else { 2.0 * random.between(0.99, 1.01) });
        let speed = window(paces).speed();
        assert!((speed.mean.get() - 2.0).abs() < 0.02, "{speed:?}");
    }

    #[test]
    fn a_speed_that_changed_is_believed_in_the_end() {
        let window = window((0..200).map(|at| if at < 100 { 1.0 } else { 3.0 }));
        assert!((window.speed().mean.get() - 3.0).abs() < 1e-12);
        assert_eq!((window.count(), window.paces.len()), (200, KEPT_MAX));
    }

    #[test]
    fn few_paces_say_less_than_many() {
        let width = |count| {
            let speed = window(std::iter::repeat_n(1.0, count)).speed();
            speed.high.get() - speed.low.get()
        };
        assert!(width(1) > width(9) && width(9) > width(64) && width(64) > 0.0);
    }
}
