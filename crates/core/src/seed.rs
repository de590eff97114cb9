//! All randomness comes from a seed that was given: a small generator whose stream never changes with a
//! library version, so that a seed printed today means the same run in ten years.

/// A stream of random numbers from one seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent stream for a purpose, so that drawing more of one thing does not shift another.
    pub fn stream(seed: u64, purpose: &str) -> Self {
        let tag = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut mixed = Self(seed ^ tag);
        Self(mixed.bits())
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..1`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low..high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in `0..bound`; `bound` must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number lies below 0");
        // The bias of the multiply-shift method is below 2^-32 for the small bounds used here.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Exponential with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Standard normal (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Log-normal: the exponential of a normal with this mean and deviation.
    pub fn log_normal(&mut self, mu: f64, sigma: f64) -> f64 {
        (mu + sigma * self.normal()).exp()
    }

    /// The place of one of these weights, drawn in proportion; `None` if they sum to nothing.
    pub fn weighted(&mut self, weights: &[f64]) -> Option<usize> {
        let total: f64 = weights.iter().sum();
        let mut left = self.unit() * total;
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return Some(at);
            }
            left -= weight;
        }
        weights.iter().rposition(|weight| *weight > 0.0)
    }

    /// One of these, all equally likely; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.below(items.len() as u64) as usize) }
    }

    /// Shuffles in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_stream_for_ever() {
        let mut random = Random::new(1);
        assert_eq!([random.bits(), random.bits()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
        assert_ne!(Random::stream(1, "crashes").bits(), Random::stream(1, "nodes").bits());
    }

    #[test]
    fn draws_have_the_mean_they_should() {
        let mut random = Random::new(7);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..20_000).map(|_| draw()).sum::<f64>() / 20_000.0;
        assert!((mean(&mut || random.exponential(5.0)) - 5.0).abs() < 0.15);
        assert!(mean(&mut || random.normal()).abs() < 0.03);
        assert!((mean(&mut || random.below(10) as f64) - 4.5).abs() < 0.1);
        let picks = mean(&mut || random.weighted(&[1.0, 0.0, 3.0]).unwrap() as f64);
        assert!((picks - 1.5).abs() < 0.05);
    }
}
