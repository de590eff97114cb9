//! How many were present on average, of many that came and went.

use evenhand_core::Time;

/// The integral of how many have come, and of how many have gone.
#[derive(Debug)]
pub struct Presence {
    came: Moments,
    went: Moments,
}

/// Moments in order, and for each the sum of those before it.
#[derive(Debug)]
struct Moments {
    at: Vec<u64>,
    sums: Vec<u128>,
}

impl Presence {
    /// Of those who stayed from a first moment to a second.
    pub fn new(stays: &[(Time, Time)]) -> Self {
        Self {
            came: Moments::new(stays.iter().map(|stay| stay.0.0).collect()),
            went: Moments::new(stays.iter().map(|stay| stay.1.0).collect()),
        }
    }

    /// How many were there between two moments, on average; 1 if they are the same, as who asks was there.
    pub fn mean(&self, from: Time, to: Time) -> f64 {
        if to <= from {
            return 1.0;
        }
        let area = |now: Time| self.came.area(now.0) - self.went.area(now.0);
        (area(to) - area(from)) as f64 / to.since(from).0 as f64
    }
}

impl Moments {
    fn new(mut at: Vec<u64>) -> Self {
        at.sort_unstable();
        let sums = std::iter::once(0).chain(at.iter().scan(0_u128, |sum, moment| {
            *sum += u128::from(*moment);
            Some(*sum)
        }));
        Self { sums: sums.collect(), at }
    }

    /// The time from each moment to now, all added up.
    fn area(&self, now: u64) -> u128 {
        let count = self.at.partition_point(|moment| *moment < now);
        u128::from(now) * count as u128 - self.sums[count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_area_over_the_time() {
        let stay = |from, to| (Time(from), Time(to));
        let presence = Presence::new(&[stay(0, 100), stay(50, 150), stay(60, 60), stay(140, 400)]);
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found}");
        close(presence.mean(Time(0), Time(100)), 1.5);
        close(presence.mean(Time(50), Time(150)), 1.6);
        close(presence.mean(Time(200), Time(300)), 1.0);
        close(presence.mean(Time(400), Time(500)), 0.0);
        close(presence.mean(Time(60), Time(60)), 1.0);
    }
}
