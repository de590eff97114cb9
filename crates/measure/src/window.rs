//! A robust mean of what was measured lately, in bounded memory.

use evenhand_core::{Estimate, Rate};
use serde::{Deserialize, Serialize};

/// Paces that are kept: those before are forgotten, so that a speed that changed is believed in the end.
const KEPT_MAX: usize = 64;

/// One pace in five is left out at either end, so that slow nodes and bad moments do not count.
const TRIMMED: usize = 5;

/// How far off a single pace may be; the mean of many is closer, by the square root of their number.
const NOISE: f64 = 0.1;

/// The last paces on one GPU model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    /// In the order they came; the oldest is at `next` once there are as many as are kept.
    paces: Vec<f64>,
    next: usize,
    /// The same, smallest first: a pace costs two short moves of memory, and a mean no sorting.
    sorted: Vec<f64>,
    count: u64,
}

impl Window {
    /// Takes one more pace in.
    pub fn add(&mut self, pace: Rate) {
        let pace = pace.get();
        if self.paces.len() < KEPT_MAX {
            self.paces.push(pace);
        } else {
            let oldest = std::mem::replace(&mut self.paces[self.next], pace);
            self.next = (self.next + 1) % KEPT_MAX;
            self.sorted.remove(self.sorted.partition_point(|kept| *kept < oldest));
        }
        self.sorted.insert(self.sorted.partition_point(|kept| *kept < pace), pace);
        self.count += 1;
    }

    /// How many were ever taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their trimmed mean, and the range of four out of five: never exact, and wider while they are few.
    pub fn speed(&self) -> Estimate<Rate> {
        let count = self.sorted.len();
        if count == 0 {
            return Estimate::default();
        }
        let inner = &self.sorted[count / TRIMMED..count - count / TRIMMED];
        let mean = inner.iter().sum::<f64>() / inner.len() as f64;
        let noise = NOISE / (count as f64).sqrt();
        let (low, high) = (self.sorted[count / 10], self.sorted[count - 1 - count / 10]);
        let rate = |value: f64| Rate::new(value).unwrap_or_default();
        Estimate { mean: rate(mean), low: rate(low * (1.0 - noise)), high: rate(high * (1.0 + noise)) }
    }
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
        assert_eq!((window.count(), window.paces.len(), window.sorted.len()), (200, KEPT_MAX, KEPT_MAX));
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
