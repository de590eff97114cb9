//! Ridge regression on standardised features, by the normal equations: the plainest of all predictors.

use crate::boost::Table;

/// How much weights are drawn to 0, for each row.
const RIDGE: f64 = 0.02;

/// Weights on standardised features.
#[derive(Clone, Debug)]
pub struct Linear {
    base: f64,
    /// Mean, spread and weight of each feature.
    features: Vec<(f64, f64, f64)>,
}

impl Linear {
    /// Fits it.
    pub fn fit(table: Table<'_>) -> Self {
        let count = table.rows.len().max(1) as f64;
        let width = table.rows.first().map_or(0, Vec::len);
        let base = table.targets.iter().sum::<f64>() / count;
        let scales: Vec<(f64, f64)> = (0..width)
            .map(|at| {
                let mean = table.rows.iter().map(|row| row[at]).sum::<f64>() / count;
                let square = table.rows.iter().map(|row| (row[at] - mean).powi(2)).sum::<f64>() / count;
                (mean, square.sqrt())
            })
            .collect();
        let standard = |row: &[f64], at: usize| {
            let (mean, spread) = scales[at];
            if spread > 1e-9 { (row[at] - mean) / spread } else { 0.0 }
        };
        let mut matrix = vec![vec![0.0; width + 1]; width];
        for (row, target) in table.rows.iter().zip(table.targets) {
            let row: Vec<f64> = (0..width).map(|at| standard(row, at)).collect();
            for (one, line) in matrix.iter_mut().enumerate() {
                for (other, cell) in line.iter_mut().take(width).enumerate() {
                    *cell += row[one] * row[other];
                }
                line[width] += row[one] * (target - base);
            }
        }
        for (at, line) in matrix.iter_mut().enumerate() {
            line[at] += RIDGE * count;
        }
        let weights = solved(matrix);
        let features = scales.into_iter().zip(weights).map(|((mean, spread), weight)| (mean, spread, weight));
        Self { base, features: features.collect() }
    }

    /// The value for a row.
    pub fn value(&self, row: &[f64]) -> f64 {
        let parts = self.features.iter().zip(row).filter(|((_, spread, _), _)| *spread > 1e-9);
        self.base + parts.map(|((mean, spread, weight), value)| weight * (value - mean) / spread).sum::<f64>()
    }
}

/// Gaussian elimination with pivots; the last column is the right-hand side.
fn solved(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let width = matrix.len();
    for at in 0..width {
        let pivot = (at..width).max_by(|a, b| matrix[*a][at].abs().total_cmp(&matrix[*b][at].abs()));
        matrix.swap(at, pivot.unwrap_or(at));
        let own = matrix[at].clone();
        for line in matrix.iter_mut().skip(at + 1) {
            let factor = line[at] / own[at];
            line.iter_mut().zip(&own).for_each(|(cell, own)| *cell -= factor * own);
        }
    }
    let mut found = vec![0.0; width];
    for at in (0..width).rev() {
        let known: f64 = (at + 1..width).map(|other| matrix[at][other] * found[other]).sum();
        found[at] = (matrix[at][width] - known) / matrix[at][at];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found() {
        let rows: Vec<Vec<f64>> =
            (0..50).map(|at| vec![f64::from(at % 7), f64::from(at % 11), 4.0]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| 3.0 + 2.0 * row[0] - row[1]).collect();
        let linear = Linear::fit(Table { rows: &rows, targets: &targets });
        let mean = targets.iter().sum::<f64>() / 50.0;
        for (row, target) in rows.iter().zip(&targets) {
            // Weights are drawn to 0 by RIDGE over one plus RIDGE, and a little by how alike the features are.
            let most = 1.5 * RIDGE * (target - mean).abs() + 0.01;
            assert!((linear.value(row) - target).abs() < most, "{} for {target}", linear.value(row));
        }
    }
}
