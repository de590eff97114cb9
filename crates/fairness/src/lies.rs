//! What a party may claim instead of the truth.
//!
//! ```text
//! inflating  w' >= w      deflating  w' <= w      mixed  some entries up, some down
//! ```

use crate::Search;
use evenhand_core::Random;
use evenhand_solve::Market;

/// Factors that are tried on single entries and whole rows, and their inverses.
const FACTORS: &[f64] = &[1.01, 1.05, 1.2, 1.5, 2.0, 4.0];
/// The largest factor on an entry of a random row.
const FACTOR_MOST: f64 = 4.0;

/// Which way a lie goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LieKind {
    /// Claims to be faster, nowhere slower.
    Inflating,
    /// Claims to be slower, nowhere faster.
    Deflating,
    /// Claims to be faster here and slower there.
    Mixed,
}

impl LieKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Inflating, Self::Deflating, Self::Mixed];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inflating => "inflating",
            Self::Deflating => "deflating",
            Self::Mixed => "mixed",
        }
    }
}

/// The rows that a party may report: those that differ in one entry (mixed: in two), whole rows scaled, and random ones.
pub(crate) fn lies(
    market: &Market,
    party: usize,
    kind: LieKind,
    search: Search,
    random: &mut Random,
) -> Vec<Vec<f64>> {
    let truth = market.speedups.row(party);
    let with = |changes: &[(usize, f64)]| {
        let mut row = truth.to_vec();
        for (model, factor) in changes {
            row[*model] = scaled(truth, *model, *factor);
        }
        row
    };
    let models: Vec<usize> = (0..truth.len()).filter(|model| Some(*model) != search.reference).collect();
    let mut rows = Vec::new();
    for factor in FACTORS {
        for up in &models {
            match kind {
                LieKind::Inflating => rows.push(with(&[(*up, *factor)])),
                LieKind::Deflating => rows.push(with(&[(*up, 1.0 / factor)])),
                LieKind::Mixed => {
                    let others = models.iter().filter(|down| *down != up);
                    rows.extend(others.map(|down| with(&[(*up, *factor), (*down, 1.0 / factor)])));
                }
            }
        }
        let whole = |factor: f64| with(&models.iter().map(|model| (*model, factor)).collect::<Vec<_>>());
        match kind {
            LieKind::Inflating => rows.push(whole(*factor)),
            LieKind::Deflating => rows.push(whole(1.0 / factor)),
            LieKind::Mixed => {}
        }
    }
    if kind == LieKind::Deflating {
        // "My work does not run there."
        rows.extend(models.iter().map(|model| with(&[(*model, 0.0)])));
    }
    let (low, high) = match kind {
        LieKind::Inflating => (0.0, FACTOR_MOST.ln()),
        LieKind::Deflating => (-FACTOR_MOST.ln(), 0.0),
        LieKind::Mixed => (-FACTOR_MOST.ln(), FACTOR_MOST.ln()),
    };
    for _ in 0..search.random_rows {
        let factors = models.iter().map(|model| (*model, random.between(low, high).exp()));
        rows.push(with(&factors.collect::<Vec<_>>()));
    }
    rows.retain(|row| is_of_kind(truth, row, kind));
    rows
}

/// An entry times a factor. Where a party cannot run it can still claim to be as fast as anywhere.
fn scaled(truth: &[f64], model: usize, factor: f64) -> f64 {
    if truth[model] > 0.0 || factor <= 1.0 {
        return truth[model] * factor;
    }
    truth.iter().copied().fold(0.0, f64::max) * (factor - 1.0).min(1.0)
}

fn is_of_kind(truth: &[f64], row: &[f64], kind: LieKind) -> bool {
    let up = row.iter().zip(truth).any(|(said, is)| said > is);
    let down = row.iter().zip(truth).any(|(said, is)| said < is);
    match kind {
        LieKind::Inflating => up && !down,
        LieKind::Deflating => down && !up,
        LieKind::Mixed => up && down,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_solve::Matrix;

    #[test]
    fn lies_are_of_their_kind_and_reach_models_that_a_party_cannot_use() {
        let market = Market::new(Matrix::from_rows(&[[1.0, 0.0, 3.0]]), vec![1.0; 3]);
        let search = Search { seed: 1, random_rows: 10, reference: Some(0) };
        for kind in LieKind::ALL {
            let rows = lies(&market, 0, kind, search, &mut Random::new(1));
            assert!(rows.iter().all(|row| row[0].to_bits() == 1.0_f64.to_bits()));
            assert!(rows.iter().all(|row| is_of_kind(&[1.0, 0.0, 3.0], row, kind)));
            assert_eq!(kind != LieKind::Deflating, rows.iter().any(|row| row[1] > 0.0), "{kind:?}");
        }
    }
}
