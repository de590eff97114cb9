//! Who wants what of which kind of GPU, and a division of it with its certificate.
//!
//! ```text
//! w_ij   speedup of party i on GPUs of model j; 0 = it cannot run there
//! m_j    GPUs of model j                         x_ij  GPUs of model j given to i:  sum_i x_ij <= m_j ,  x >= 0
//! pi_i   weight of i, > 0                        u_i   = sum_j w_ij x_ij, its throughput
//! D_i    the most GPUs that i can use            sum_j x_ij <= D_i
//! ```

use std::fmt;
use thiserror::Error;

/// Rows of equally many numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// Zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    /// Of rows that are all equally long.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Self {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        assert!(rows.iter().all(|row| row.as_ref().len() == columns), "rows are equally long");
        Self { columns, values: rows.iter().flat_map(AsRef::as_ref).copied().collect() }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
    /// How long a row is.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// One row.
    pub fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }
    /// One row, to be changed.
    pub fn row_mut(&mut self, at: usize) -> &mut [f64] {
        &mut self.values[at * self.columns..(at + 1) * self.columns]
    }
    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.columns.max(1))
    }
    /// The sum of each column, rows added in order.
    pub fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for row in self.rows() {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
        sums
    }
}

/// The product of two rows.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Less of a model than this part of it is a rounding error.
const SOME: f64 = 1e-9;

/// What is to be divided, and what each party makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Market {
    /// w: a row per party, a column per GPU model.
    pub speedups: Matrix,
    /// m: GPUs of each model.
    pub capacity: Vec<f64>,
    /// pi: one per party.
    pub weights: Vec<f64>,
    /// D: one per party; infinite for a party that can use whatever it is given.
    pub demands: Vec<f64>,
}

/// What makes a market nonsense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MarketError {
    /// A number that is no speedup, capacity, weight or demand.
    #[error("{what} is {value}, but {allowed}")]
    Number {
        /// Which number.
        what: String,
        /// As given.
        value: f64,
        /// What would be right.
        allowed: &'static str,
    },
    /// Lengths that do not agree.
    #[error("{what} has {found} numbers where {expected} are needed")]
    Length {
        /// Of what.
        what: &'static str,
        /// As given.
        found: usize,
        /// What would be right.
        expected: usize,
    },
    /// A party that no GPU model will do for.
    #[error("party {} can run on none of the GPU models that there are", party + 1)]
    Useless {
        /// Its row.
        party: usize,
    },
}

impl Market {
    /// Parties of weight 1 that can use whatever they are given.
    pub fn new(speedups: Matrix, capacity: Vec<f64>) -> Self {
        let parties = speedups.len();
        Self { speedups, capacity, weights: vec![1.0; parties], demands: vec![f64::INFINITY; parties] }
    }

    /// The same with these weights.
    pub fn weighing(self, weights: Vec<f64>) -> Self {
        Self { weights, ..self }
    }

    /// The same with these demands.
    pub fn demanding(self, demands: Vec<f64>) -> Self {
        Self { demands, ..self }
    }

    /// How many parties there are.
    pub fn parties(&self) -> usize {
        self.speedups.len()
    }

    /// How many GPU models there are.
    pub fn models(&self) -> usize {
        self.capacity.len()
    }

    /// Whether some party can use only so many GPUs.
    pub fn is_demand_limited(&self) -> bool {
        self.demands.iter().any(|demand| demand.is_finite())
    }

    /// u_i for a row of shares.
    pub fn throughput(&self, party: usize, shares: &[f64]) -> f64 {
        dot(self.speedups.row(party), shares)
    }

    /// What is left when some have gone with their shares.
    pub(crate) fn without(&self, gone: &[bool], shares: &Matrix) -> Self {
        let mut capacity = self.capacity.clone();
        for (party, _) in gone.iter().enumerate().filter(|(_, gone)| **gone) {
            capacity.iter_mut().zip(shares.row(party)).for_each(|(left, taken)| *left -= taken);
        }
        for (left, all) in capacity.iter_mut().zip(&self.capacity) {
            if *left <= SOME * all {
                *left = 0.0;
            }
        }
        let stays = |party: &usize| !gone[*party];
        let rows: Vec<&[f64]> = (0..gone.len()).filter(stays).map(|party| self.speedups.row(party)).collect();
        let kept = |values: &[f64]| (0..gone.len()).filter(stays).map(|party| values[party]).collect();
        let rest = Self::new(Matrix::from_rows(&rows), capacity);
        rest.weighing(kept(&self.weights)).demanding(kept(&self.demands))
    }

    /// A market like this one with about `count` of its parties, every so-manieth, and GPUs in proportion to their weights; `None` if
    /// that saves nothing. Its prices are a good guess at those of the whole.
    pub(crate) fn sample(&self, count: usize) -> Option<Self> {
        let every = self.parties() / count;
        if every < 2 {
            return None;
        }
        let gone: Vec<bool> = (0..self.parties()).map(|party| party % every != 0).collect();
        let mut sample = self.without(&gone, &Matrix::zeros(self.parties(), self.models()));
        let part = sample.weights.iter().sum::<f64>() / self.weights.iter().sum::<f64>();
        for gpus in &mut sample.capacity {
            *gpus *= part;
        }
        sample.check().ok().map(|()| sample)
    }

    /// Whether every number makes sense and every party can run somewhere. Whoever solves may rely on it.
    pub fn check(&self) -> Result<(), MarketError> {
        let lengths = [
            ("the row of a party", self.speedups.columns(), self.models()),
            ("the list of weights", self.weights.len(), self.parties()),
            ("the list of demands", self.demands.len(), self.parties()),
        ];
        for (what, found, expected) in lengths {
            if found != expected && self.parties() > 0 {
                return Err(MarketError::Length { what, found, expected });
            }
        }
        let finite = |value: f64| value.is_finite() && value >= 0.0;
        numbers("the capacity of model", &self.capacity, "it is a number of GPUs, 0 or more", finite)?;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        numbers("the weight of party", &self.weights, "it is more than 0", positive)?;
        numbers("the demand of party", &self.demands, "it is more than 0", |value| value > 0.0)?;
        for party in 0..self.parties() {
            let row = self.speedups.row(party);
            numbers(&format!("party {}'s speedup on model", party + 1), row, "it is 0 or more", finite)?;
            if !row.iter().zip(&self.capacity).any(|(speedup, gpus)| *speedup > 0.0 && *gpus > 0.0) {
                return Err(MarketError::Useless { party });
            }
        }
        Ok(())
    }
}

fn numbers(
    what: &str,
    values: &[f64],
    allowed: &'static str,
    fits: impl Fn(f64) -> bool,
) -> Result<(), MarketError> {
    match values.iter().enumerate().find(|(_, value)| !fits(**value)) {
        None => Ok(()),
        Some((at, value)) => {
            Err(MarketError::Number { what: format!("{what} {}", at + 1), value: *value, allowed })
        }
    }
}

/// A division that can be carried out, and how good it is known to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// x: GPUs of each model (columns) for each party (rows).
    pub shares: Matrix,
    /// What the division reaches of what was to be maximised.
    pub value: f64,
    /// What no division can exceed.
    pub bound: f64,
    /// A price per GPU of each model at which nobody would trade; in the unit of `value`. Empty if the method has none.
    pub prices: Vec<f64>,
    /// Steps that the method took.
    pub steps: usize,
}

impl Division {
    /// Nothing for nobody.
    pub fn empty(market: &Market) -> Self {
        let shares = Matrix::zeros(0, market.models());
        Self { shares, value: 0.0, bound: 0.0, prices: vec![0.0; market.models()], steps: 0 }
    }

    /// A division by a rule that optimises nothing: its value is the total throughput, and nothing is proven of it.
    pub fn by_rule(market: &Market, shares: Matrix) -> Self {
        let mut division = Self { shares, value: 0.0, bound: 0.0, prices: Vec::new(), steps: 0 };
        division.value = division.throughputs(market).iter().sum();
        division.bound = f64::INFINITY;
        division
    }

    /// How much better the best division is at most, relative to the bound: 0 = this one is the best; infinite = who knows.
    pub fn gap(&self) -> f64 {
        if self.bound.is_infinite() {
            return f64::INFINITY;
        }
        let scale = self.bound.abs().max(f64::MIN_POSITIVE);
        ((self.bound - self.value) / scale).max(0.0)
    }

    /// u: the throughput of every party.
    pub fn throughputs(&self, market: &Market) -> Vec<f64> {
        self.shares.rows().enumerate().map(|(party, row)| market.throughput(party, row)).collect()
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.rows() {
            let cells: Vec<String> = row.iter().map(|value| format!("{value:.4}")).collect();
            writeln!(f, "{}", cells.join("  "))?;
        }
        Ok(())
    }
}
