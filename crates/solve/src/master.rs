//! The small linear program at the heart of every price method: few rows, columns that arrive one by one.
//!
//! ```text
//! maximise sum_c value_c lambda_c   subject to  sum_c lambda_c column_c <= 1 in every row ,  lambda >= 0
//! ```
//!
//! Rows are capacities, scaled to 1, and perhaps one row that is an equality (the columns are then points of a convex set, and
//! the answer is a mixture of them). There are hardly more than a dozen rows, so the basis is inverted afresh at every pivot:
//! nothing drifts, and it costs less than asking the parties once.

/// A basis is left alone when no column would gain more than this.
const NO_GAIN: f64 = 1e-13;

/// A pivot smaller than this divides by noise.
const NO_PIVOT: f64 = 1e-9;

/// Every row is loosened by about this much, each a little differently: else several columns could be used up at once, and
/// pivots would go round in circles. The basis found is then read with rows of exactly 1 where it can be.
const LOOSE: f64 = 1e-10;

/// A level below this is a rounding error.
const USED_UP: f64 = 1e-13;

/// A basis whose mixture misses a row by more than this, or has less than nothing of a column, is of no use.
const RESIDUE: f64 = 1e-11;

pub(crate) struct Master {
    rows: usize,
    /// Values of the columns; the first `rows` are slacks (in a row for mixing, the point that uses nothing).
    values: Vec<f64>,
    /// All columns, one after the other.
    columns: Vec<f64>,
    /// The column that is basic in each row.
    basis: Vec<usize>,
    /// The inverse of the basis, row by row.
    inverse: Vec<f64>,
    /// How much of each basic column is used.
    levels: Vec<f64>,
}

impl Master {
    /// Capacities only: nothing is used yet.
    pub fn of_capacities(rows: usize) -> Self {
        let mut master = Self {
            rows,
            values: vec![0.0; rows],
            columns: vec![0.0; rows * rows],
            basis: (0..rows).collect(),
            inverse: Vec::new(),
            levels: Vec::new(),
        };
        for row in 0..rows {
            master.columns[row * rows + row] = 1.0;
        }
        master.refresh();
        master
    }

    /// Capacities and, as the last row, mixtures of points. The first point uses nothing and has this value.
    pub fn of_points(capacities: usize, nothing: f64) -> Self {
        let mut master = Self::of_capacities(capacities + 1);
        master.values[capacities] = nothing;
        master
    }

    /// Adds a column; it is used from the next [`Self::optimise`] on.
    pub fn add(&mut self, value: f64, column: impl IntoIterator<Item = f64>) {
        self.values.push(value);
        self.columns.extend(column);
        assert_eq!(self.columns.len(), self.values.len() * self.rows, "a column has a number for every row");
    }

    /// Finds the best mixture of the columns there are.
    pub fn optimise(&mut self) {
        // Columns never make the program unbounded, and a stuck pivot rule is cut off: the bound says what is missing.
        for step in 0..30 * self.rows {
            let prices = self.prices();
            let careful = step > 10 * self.rows;
            let Some(entering) = self.entering(&prices, careful) else { return };
            let Some(row) = self.leaving(entering) else { return };
            let left = std::mem::replace(&mut self.basis[row], entering);
            self.refresh();
            if !self.is_sound() {
                self.basis[row] = left;
                self.refresh();
                // Too much like the columns that are there: it has nothing to add.
                self.values[entering] = f64::NEG_INFINITY;
            }
        }
    }

    /// The price of each row.
    pub fn prices(&self) -> Vec<f64> {
        let mut prices = vec![0.0; self.rows];
        for _ in 0..2 {
            let missing: Vec<f64> = (self.basis.iter())
                .map(|column| self.values[*column] - crate::dot(self.column(*column), &prices))
                .collect();
            for (missing, inverse) in missing.iter().zip(self.inverse.chunks_exact(self.rows)) {
                prices.iter_mut().zip(inverse).for_each(|(price, inverse)| *price += missing * inverse);
            }
        }
        prices
    }

    /// The value of the best mixture.
    pub fn value(&self) -> f64 {
        self.prices().iter().sum()
    }

    /// The columns in the best mixture and how much there is of each; slacks have the numbers below `rows`.
    pub fn mixture(&self) -> Vec<(usize, f64)> {
        let exact = self.levels_for(&vec![1.0; self.rows]);
        let sound = exact.iter().all(|level| *level >= -USED_UP);
        let levels = if sound { exact } else { self.levels.clone() };
        self.basis.iter().copied().zip(levels).filter(|(_, level)| *level > 0.0).collect()
    }

    /// How much of each basic column gives these sums in the rows.
    fn levels_for(&self, sums: &[f64]) -> Vec<f64> {
        let mut levels = vec![0.0; self.rows];
        // The second time round corrects what rounding left of the first.
        for _ in 0..2 {
            let missing = self.missing(sums, &levels);
            for (level, inverse) in levels.iter_mut().zip(self.inverse.chunks_exact(self.rows)) {
                *level += crate::dot(inverse, &missing);
            }
        }
        levels
    }

    fn missing(&self, sums: &[f64], levels: &[f64]) -> Vec<f64> {
        let mut missing = sums.to_vec();
        for (column, level) in self.basis.iter().zip(levels) {
            missing.iter_mut().zip(self.column(*column)).for_each(|(left, used)| *left -= level * used);
        }
        missing
    }

    fn loosened(&self) -> Vec<f64> {
        // Not the last row, which may be the one for mixing.
        let loose = |row: usize| if row + 1 < self.rows { LOOSE * (1.0 + 0.618 * row as f64) } else { 0.0 };
        (0..self.rows).map(|row| 1.0 + loose(row)).collect()
    }

    fn column(&self, at: usize) -> &[f64] {
        &self.columns[at * self.rows..(at + 1) * self.rows]
    }

    /// The column that gains most; when `careful`, the first that gains, so that no cycle goes on for ever.
    fn entering(&self, prices: &[f64], careful: bool) -> Option<usize> {
        let scale = self.value().abs().max(f64::MIN_POSITIVE);
        let mut best = (NO_GAIN * scale, None);
        for at in 0..self.values.len() {
            let gain = self.values[at] - crate::dot(self.column(at), prices);
            if gain > best.0 && !self.basis.contains(&at) {
                best = (gain, Some(at));
                if careful {
                    break;
                }
            }
        }
        best.1
    }

    /// The row whose column leaves: of those that are used up first, give or take a rounding error, the one with the largest
    /// pivot (Harris 1973), so that the basis stays far from singular.
    fn leaving(&self, entering: usize) -> Option<usize> {
        let change = |row: usize| {
            let inverse = &self.inverse[row * self.rows..(row + 1) * self.rows];
            crate::dot(inverse, self.column(entering))
        };
        let shrinking = (0..self.rows).map(|row| (row, change(row))).filter(|(_, change)| *change > NO_PIVOT);
        let shrinking: Vec<(usize, f64)> = shrinking.collect();
        let slack = |(row, change): &(usize, f64)| (self.levels[*row].max(0.0) + USED_UP) / change;
        let first = shrinking.iter().map(slack).fold(f64::INFINITY, f64::min);
        let used_up = shrinking.iter().filter(|(row, change)| self.levels[*row].max(0.0) / change <= first);
        used_up.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map(|(row, _)| *row)
    }

    /// Whether the mixture is one: nothing negative, and every row met.
    fn is_sound(&self) -> bool {
        let met = self.missing(&self.loosened(), &self.levels).iter().all(|missing| missing.abs() <= RESIDUE);
        met && self.levels.iter().all(|level| *level >= -RESIDUE)
    }

    /// Inverts the basis (Gauss-Jordan with the largest pivot) and reads off the levels.
    fn refresh(&mut self) {
        let rows = self.rows;
        let width = 2 * rows;
        let mut table = vec![0.0; rows * width];
        for (at, column) in self.basis.iter().enumerate() {
            for row in 0..rows {
                table[row * width + at] = self.columns[column * rows + row];
            }
        }
        for row in 0..rows {
            table[row * width + rows + row] = 1.0;
        }
        for at in 0..rows {
            let size = |row: usize| table[row * width + at].abs();
            let pivot = (at..rows).max_by(|a, b| size(*a).total_cmp(&size(*b))).unwrap_or(at);
            if pivot != at {
                for column in 0..width {
                    table.swap(at * width + column, pivot * width + column);
                }
            }
            let scale = 1.0 / table[at * width + at];
            table[at * width..(at + 1) * width].iter_mut().for_each(|value| *value *= scale);
            let pivot_row = table[at * width..(at + 1) * width].to_vec();
            for row in (0..rows).filter(|row| *row != at) {
                let factor = table[row * width + at];
                if factor != 0.0 {
                    let own = &mut table[row * width..(row + 1) * width];
                    own.iter_mut().zip(&pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
                }
            }
        }
        self.inverse.clear();
        for row in 0..rows {
            self.inverse.extend_from_slice(&table[row * width + rows..(row + 1) * width]);
        }
        self.levels = self.levels_for(&self.loosened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_mixture_of_columns_is_found() {
        let mut master = Master::of_capacities(2);
        master.add(1.0, [1.0, 0.0]);
        master.add(1.0, [0.0, 0.5]);
        master.add(1.0, [0.2, 0.2]);
        master.optimise();
        // The third alone gives 5; mixed with nothing else it exhausts both rows.
        assert!((master.value() - 5.0).abs() < 1e-9);
        assert_eq!(master.mixture().iter().filter(|(_, level)| *level > 1e-9).count(), 1);
        master.add(1.0, [0.01, 0.5]);
        master.optimise();
        let prices = master.prices();
        assert!((prices.iter().sum::<f64>() - master.value()).abs() < 1e-9);
    }

    #[test]
    fn points_are_mixed_to_one() {
        let mut master = Master::of_points(1, -100.0);
        master.add(0.0, [0.5, 1.0]);
        master.add(10.0, [2.0, 1.0]);
        master.optimise();
        // A third of the way from the point at 0.5 to the one at 2 the capacity of 1 is reached.
        assert!((master.value() - 10.0 / 3.0).abs() < 1e-9);
    }
}
