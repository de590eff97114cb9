//! Markets over time: utilities that change from round to round, and budgets that are spent over all of them.
//!
//! ```text
//! maximise sum_i pi_i ln( sum_t sum_m u_itm x_itm )   subject to  sum_i x_itm <= M_tm ,  x >= 0            (Shockwave, NSDI 2023)
//!                                                     and, if caps are given, sum_m x_itm <= g_i in every round t
//! ```
//!
//! Utilities are linear, so without caps this is the market of Eisenberg and Gale whose goods are the GPUs of each model in each round, and
//! [`nash`] solves it: Pareto efficiency, sharing incentive and envy-freeness hold over time because they hold there. Rounds in which
//! everybody's utilities are the same, but for one factor, are one good.
//!
//! With caps it is another program, solved by interior point on exponential cones: some thousands of variables. It is still
//! efficient; but whoever is held by its cap pays less than its budget, so sharing incentive is no longer promised.

mod capped;
mod goods;

use crate::{Effort, Market, MarketError, Matrix, SolveError, dot, nash};
use goods::Goods;
use thiserror::Error;

/// What is to be divided round by round, and what each party makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct MarketOverTime {
    /// u: for each party, a row per round and a column per GPU model.
    pub utilities: Vec<Matrix>,
    /// M: GPUs of each model (columns) in each round (rows).
    pub capacity: Matrix,
    /// pi: one per party.
    pub weights: Vec<f64>,
    /// g: GPUs that each party can use in a round, at most; infinite for one that can use whatever it is given.
    pub caps: Vec<f64>,
}

/// What makes a market over time unsolvable.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OverTimeError {
    /// It is nonsense.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// With caps: the interior point method failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

/// A division of every round, and how good it is known to be.
#[derive(Clone, Debug, PartialEq)]
pub struct DivisionOverTime {
    /// x: for each round, GPUs of each model (columns) for each party (rows).
    pub rounds: Vec<Matrix>,
    /// A price per GPU of each model (columns) in each round (rows).
    pub prices: Matrix,
    /// The weighted geometric mean of what the parties have over all rounds.
    pub value: f64,
    /// What no division can exceed.
    pub bound: f64,
    /// Steps that the method took.
    pub steps: usize,
}

impl MarketOverTime {
    /// Parties of weight 1 without caps; as many GPUs in every round.
    pub fn new(utilities: Vec<Matrix>, capacity: &[f64]) -> Self {
        let (parties, rounds) = (utilities.len(), utilities.first().map_or(0, Matrix::len));
        let capacity = Matrix::from_rows(&vec![capacity; rounds]);
        Self { utilities, capacity, weights: vec![1.0; parties], caps: vec![f64::INFINITY; parties] }
    }

    /// The same with these weights.
    pub fn weighing(self, weights: Vec<f64>) -> Self {
        Self { weights, ..self }
    }

    /// The same with these caps.
    pub fn capping(self, caps: Vec<f64>) -> Self {
        Self { caps, ..self }
    }

    /// How many parties there are.
    pub fn parties(&self) -> usize {
        self.utilities.len()
    }

    /// Whether some party can use only so many GPUs in a round.
    pub fn is_capped(&self) -> bool {
        self.caps.iter().any(|cap| cap.is_finite())
    }

    /// The market whose goods are the GPUs of each model in each round, the models of the first round first. Caps are left out.
    pub fn flat(&self) -> Market {
        let rows: Vec<Vec<f64>> =
            self.utilities.iter().map(|utilities| utilities.rows().flatten().copied().collect()).collect();
        let capacity = self.capacity.rows().flatten().copied().collect();
        Market::new(Matrix::from_rows(&rows), capacity).weighing(self.weights.clone())
    }

    /// What a party has over all rounds.
    pub fn utility(&self, party: usize, rounds: &[Matrix]) -> f64 {
        let rows = self.utilities[party].rows().zip(rounds);
        rows.map(|(utilities, shares)| dot(utilities, shares.row(party))).sum()
    }

    /// Whether every number makes sense and every party can run at some time.
    pub fn check(&self) -> Result<(), MarketError> {
        let (rounds, models) = (self.capacity.len(), self.capacity.columns());
        for utilities in &self.utilities {
            for (what, found, expected) in [
                ("the list of a party's rounds", utilities.len(), rounds),
                ("the row of a party in a round", utilities.columns(), models),
            ] {
                if found != expected {
                    return Err(MarketError::Length { what, found, expected });
                }
            }
        }
        // A cap is a number just as a demand is.
        self.flat().demanding(self.caps.clone()).check()
    }
}

impl DivisionOverTime {
    /// How much better the best division is at most, relative to the bound; without end if nothing is known.
    pub fn gap(&self) -> f64 {
        if self.bound.is_infinite() {
            return f64::INFINITY;
        }
        ((self.bound - self.value) / self.bound.abs().max(f64::MIN_POSITIVE)).max(0.0)
    }
}

/// The division over time of greatest Nash welfare, with its prices.
pub fn nash_over_time(market: &MarketOverTime, effort: &Effort) -> Result<DivisionOverTime, OverTimeError> {
    market.check()?;
    if market.is_capped() && market.parties() > 0 {
        return Ok(capped::solve(market)?);
    }
    let flat = market.flat();
    let goods = Goods::of(&flat);
    let mut division = nash(&goods.market, effort)?;
    (division.shares, division.prices) = goods.apart(&flat, &division);
    if division.gap() > effort.gap {
        // Where ties stop the method early, the same market with its goods apart may get further.
        division =
            Some(nash(&flat, effort)?).filter(|other| other.gap() < division.gap()).unwrap_or(division);
    }
    Ok(DivisionOverTime {
        rounds: by_round(&division.shares, &market.capacity),
        prices: in_rounds(&division.prices, market.capacity.columns()),
        value: division.value,
        bound: division.bound,
        steps: division.steps,
    })
}

/// Rows of a flat division, cut into rounds.
fn by_round(shares: &Matrix, capacity: &Matrix) -> Vec<Matrix> {
    let models = capacity.columns();
    let cut = |round: usize| {
        let rows: Vec<&[f64]> = shares.rows().map(|row| &row[round * models..][..models]).collect();
        Matrix::from_rows(&rows)
    };
    (0..capacity.len()).map(cut).collect()
}

fn in_rounds(values: &[f64], models: usize) -> Matrix {
    let rows: Vec<&[f64]> = values.chunks_exact(models.max(1)).collect();
    Matrix::from_rows(&rows)
}

#[cfg(test)]
mod tests;
