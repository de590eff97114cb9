//! Goods that are one good: nobody can tell them apart but by one factor.
//!
//! ```text
//! u_ij = c u_ik for all i:   M_j GPUs of j are worth c M_j of k to everybody, and cost as much
//! ```
//!
//! Rounds in which nothing changes are most of a market over time; kept apart, their prices could only be found together.

use crate::{Division, Market, Matrix};

/// Columns this close to being proportional are.
const SAME: f64 = 1e-12;

pub(super) struct Goods {
    /// With one column for goods that are one.
    pub market: Market,
    /// For every good: its column, and how much of it a unit is worth; `None` for a good that there is none of or that nobody wants.
    places: Vec<Option<(usize, f64)>>,
}

impl Goods {
    pub fn of(flat: &Market) -> Self {
        let columns: Vec<Vec<f64>> =
            (0..flat.models()).map(|good| flat.speedups.rows().map(|row| row[good]).collect()).collect();
        let mut kept: Vec<usize> = Vec::new();
        let mut capacity: Vec<f64> = Vec::new();
        let mut places = Vec::with_capacity(columns.len());
        for (good, column) in columns.iter().enumerate() {
            let wanted = column.iter().any(|utility| *utility > 0.0) && flat.capacity[good] > 0.0;
            if !wanted {
                places.push(None);
                continue;
            }
            let known =
                kept.iter().enumerate().find_map(|(at, other)| Some((at, factor(column, &columns[*other])?)));
            let (at, factor) = known.unwrap_or_else(|| {
                kept.push(good);
                capacity.push(0.0);
                (kept.len() - 1, 1.0)
            });
            capacity[at] += factor * flat.capacity[good];
            places.push(Some((at, factor)));
        }
        let rows: Vec<Vec<f64>> =
            flat.speedups.rows().map(|row| kept.iter().map(|good| row[*good]).collect()).collect();
        let market = Market::new(Matrix::from_rows(&rows), capacity).weighing(flat.weights.clone());
        Self { market, places }
    }

    /// Shares and prices of all goods: everybody has the same part of goods that are one.
    pub fn apart(&self, flat: &Market, division: &Division) -> (Matrix, Vec<f64>) {
        let mut shares = Matrix::zeros(flat.parties(), flat.models());
        for party in 0..flat.parties() {
            for (good, place) in self.places.iter().enumerate() {
                if let Some((at, _)) = place {
                    let part = division.shares.row(party)[*at] / self.market.capacity[*at];
                    shares.row_mut(party)[good] = part * flat.capacity[good];
                }
            }
        }
        let price =
            |place: &Option<(usize, f64)>| place.map_or(0.0, |(at, factor)| division.prices[at] * factor);
        (shares, self.places.iter().map(price).collect())
    }
}

/// c with `column = c other`, if there is one.
fn factor(column: &[f64], other: &[f64]) -> Option<f64> {
    let most = |column: &[f64]| column.iter().copied().fold(0.0, f64::max);
    let (largest, factor) = (most(column), most(column) / most(other));
    let same = column.iter().zip(other).all(|(a, b)| (a - factor * b).abs() <= SAME * largest);
    same.then_some(factor)
}
