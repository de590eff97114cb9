//! How long a job takes: drawn from its class, and what to expect of a class.

use crate::profiles::{Durations, Part};
use evenhand_core::Random;

impl Durations {
    /// The mixture of the class that a gang belongs to.
    fn parts(&self, gpus: u32) -> &'static [Part] {
        let class = self.classes.iter().rev().find(|(from, _)| *from <= gpus);
        class.map_or(self.classes[0].1, |(_, parts)| *parts)
    }

    /// A duration in whole seconds, as published traces have them.
    pub(super) fn draw(&self, gpus: u32, random: &mut Random) -> f64 {
        let parts = self.parts(gpus);
        loop {
            let (_, mu, sigma) = pick(parts, random);
            if let Some(seconds) = self.cut(random.log_normal(mu, sigma)) {
                return seconds.round().max(1.0);
            }
        }
    }

    /// What becomes of a draw: `None` if it must be drawn again.
    fn cut(&self, seconds: f64) -> Option<f64> {
        if seconds > self.max_s {
            return self.clamped.then_some(self.max_s);
        }
        (seconds >= self.min_s).then_some(seconds)
    }

    /// The expected value of `value` over the durations of a gang, by summing over a fine grid of each part.
    pub(super) fn expect(&self, gpus: u32, value: impl Fn(f64) -> f64) -> f64 {
        const STEPS: i32 = 700;
        const REACH: f64 = 7.0;
        let (mut sum, mut mass) = (0.0, 0.0);
        for (weight, mu, sigma) in self.parts(gpus) {
            for step in -STEPS..=STEPS {
                let z = REACH * f64::from(step) / f64::from(STEPS);
                if let Some(seconds) = self.cut((mu + sigma * z).exp()) {
                    let density = weight * (-z * z / 2.0).exp();
                    sum += density * value(seconds);
                    mass += density;
                }
            }
        }
        sum / mass
    }
}

fn pick(parts: &[Part], random: &mut Random) -> Part {
    let total: f64 = parts.iter().map(|part| part.0).sum();
    let mut left = random.unit() * total;
    for part in parts {
        if left < part.0 {
            return *part;
        }
        left -= part.0;
    }
    parts[parts.len() - 1]
}

#[cfg(test)]
mod tests {
    use crate::profiles::PROFILES;
    use evenhand_core::Random;

    #[test]
    fn the_expected_duration_is_the_mean_of_many_draws() {
        for profile in PROFILES {
            let (cut, n) = (50_000.0_f64, 40_000);
            let mut random = Random::new(3);
            // Cut, because the mean of a heavy tail needs more draws than a test should make.
            let sum: f64 = (0..n).map(|_| profile.durations.draw(1, &mut random).min(cut)).sum();
            let expected = profile.durations.expect(1, |seconds| seconds.min(cut));
            let ratio = sum / f64::from(n) / expected;
            assert!((ratio - 1.0).abs() < 0.03, "{}: {ratio}", profile.name);
        }
    }
}
