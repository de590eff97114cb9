//! Numbers and markets for tests, the same from the same seed.

use crate::{Market, Matrix};

/// SplitMix64.
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`.
    pub(crate) fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high - low + 1) as u64) as usize
    }
}

/// How the rows of a random market come about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// Every party is faster on later models.
    Rising,
    /// As rising, and whoever gains more from one step up gains more from every step.
    Ordered,
    /// Anything, zeros included.
    Free,
}

pub(crate) const FAMILIES: [Family; 3] = [Family::Rising, Family::Ordered, Family::Free];

/// A market of so many parties and models, with weights from 1 to 3.
pub(crate) fn market(seeded: &mut Seeded, family: Family, parties: usize, models: usize) -> Market {
    let mut rows = vec![vec![1.0; models]; parties];
    let taste: Vec<f64> = {
        let mut taste: Vec<f64> = rows.iter().map(|_| seeded.real(0.0, 1.0)).collect();
        taste.sort_by(f64::total_cmp);
        taste
    };
    let steps: Vec<f64> = (0..models).map(|_| seeded.real(0.1, 1.5)).collect();
    for (row, taste) in rows.iter_mut().zip(&taste) {
        for model in 0..models {
            row[model] = match family {
                Family::Free if seeded.whole(0, 5) == 0 && model > 0 => 0.0,
                Family::Free => seeded.real(0.2, 4.0),
                _ if model == 0 => 1.0,
                Family::Rising => row[model - 1] * (1.0 + seeded.real(0.0, 3.0 / models as f64)),
                Family::Ordered => row[model - 1] * (1.0 + taste * steps[model]),
            };
        }
    }
    let capacity = (0..models).map(|_| seeded.whole(1, 8) as f64).collect();
    let weights = (0..parties).map(|_| seeded.whole(1, 3) as f64).collect();
    Market::new(Matrix::from_rows(&rows), capacity).weighing(weights)
}
