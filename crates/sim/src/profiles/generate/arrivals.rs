//! When batches come, and how large they are.

use crate::profiles::portrait::BATCH_GAP_S;
use crate::profiles::{Arrivals, Batches};
use evenhand_core::Random;

const HOUR_S: f64 = 3600.0;

/// The instants at which batches come: a Poisson process whose rate is constant within an hour.
///
/// Time 0 is midnight before a Monday.
#[derive(Clone, Debug)]
pub(super) struct BatchClock {
    shape: [f64; 24 * 7],
    batches_per_s: f64,
    day_sigma: f64,
    day_factor: f64,
    now_s: f64,
    hour: u64,
    gaps: Random,
    days: Random,
}

impl BatchClock {
    /// A clock at time 0 that comes to this many batches in a mean hour.
    pub(super) fn new(arrivals: &Arrivals, batches_per_hour: f64, seed: u64) -> Self {
        let mut shape = [0.0; 24 * 7];
        for (hour, rate) in shape.iter_mut().enumerate() {
            *rate = arrivals.weekdays[hour / 24] * arrivals.hours[hour % 24];
        }
        let mean = shape.iter().sum::<f64>() / shape.len() as f64;
        for rate in &mut shape {
            *rate /= mean;
        }
        let mut clock = Self {
            shape,
            batches_per_s: batches_per_hour / HOUR_S,
            day_sigma: arrivals.day_sigma,
            day_factor: 1.0,
            now_s: 0.0,
            hour: 0,
            gaps: Random::stream(seed, "arrivals"),
            days: Random::stream(seed, "days"),
        };
        clock.dawn();
        clock
    }

    /// The mood of a new day: 1 on average.
    fn dawn(&mut self) {
        let sigma = self.day_sigma;
        self.day_factor = self.days.log_normal(-sigma * sigma / 2.0, sigma);
    }

    /// Seconds from time 0 to the next batch.
    pub(super) fn next(&mut self) -> f64 {
        let mut wait = self.gaps.exponential(1.0);
        loop {
            let shape = self.shape[(self.hour % self.shape.len() as u64) as usize];
            let rate = self.batches_per_s * self.day_factor * shape;
            let end_s = (self.hour + 1) as f64 * HOUR_S;
            let room = rate * (end_s - self.now_s);
            if wait < room {
                self.now_s += wait / rate;
                return self.now_s;
            }
            wait -= room;
            self.now_s = end_s;
            self.hour += 1;
            if self.hour.is_multiple_of(24) {
                self.dawn();
            }
        }
    }
}

impl Batches {
    /// How many jobs come together.
    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        if random.chance(self.single) {
            return 1;
        }
        let (first, last) = self.ends();
        let size = (first - random.unit() * (first - last)).powf(-1.0 / self.tail);
        (size as u32).clamp(2, self.max)
    }

    /// Jobs in a batch on average.
    pub(super) fn mean(&self) -> f64 {
        let (first, last) = self.ends();
        let at_least = |size: u32| (f64::from(size).powf(-self.tail) - last) / (first - last);
        let several = 2.0 + (3..=self.max).map(at_least).sum::<f64>();
        self.single + (1.0 - self.single) * several
    }

    /// Survival of the Pareto at both ends; sizes are rounded down, so the largest reaches to one more.
    fn ends(&self) -> (f64, f64) {
        (2.0_f64.powf(-self.tail), f64::from(self.max + 1).powf(-self.tail))
    }

    /// Seconds to the next job of the same batch.
    pub(super) fn gap(&self, random: &mut Random) -> f64 {
        random.exponential(self.gap_mean_s).min(BATCH_GAP_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_batch_is_the_mean_of_many() {
        let batches = Batches { single: 0.58, tail: 1.4, max: 242, gap_mean_s: 8.0 };
        let mut random = Random::new(5);
        let mean = (0..100_000).map(|_| f64::from(batches.draw(&mut random))).sum::<f64>() / 1e5;
        assert!((mean / batches.mean() - 1.0).abs() < 0.03, "{mean} against {}", batches.mean());
        // The specification's own simulation of these parameters comes to 2.9.
        assert!((batches.mean() - 2.9).abs() < 0.1, "{}", batches.mean());
    }

    #[test]
    fn batches_come_at_the_rate_that_was_asked_for() {
        let arrivals = crate::profiles::find("helios").unwrap().arrivals.clone();
        let mut clock = BatchClock::new(&Arrivals { day_sigma: 0.0, ..arrivals }, 20.0, 9);
        let last = (0..20 * 24 * 7 * 20).map(|_| clock.next()).last().unwrap();
        assert!((last / HOUR_S / (24.0 * 7.0 * 20.0) - 1.0).abs() < 0.02, "{last}");
    }
}
