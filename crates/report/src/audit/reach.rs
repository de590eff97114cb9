//! How much more could have been had: with nobody worse off, and if fairness were no concern.
//!
//! ```text
//! in every stretch of the run, with kinds k of jobs, what they asked for D_k and held x_k, and GPUs within reach m:
//! most       = max { sum_k w_k.z_k :  sum_k z_kj <= m_j ,  sum_j z_kj <= D_k ,  z >= 0 }
//! unopposed  = the same with w_k.z_k >= w_k.x_k for all k
//! ```
//!
//! Both are added up over the stretches. They cut GPUs and gangs as they like, but move no work from one stretch to another.

use super::kind_curves::Stretch;
use super::rounded;
use evenhand_fairness::division::pareto;
use evenhand_solve::{Market, Matrix, best_total, dot};

/// More kinds than this in one stretch, and the linear programs could take seconds.
pub const KINDS_MAX: usize = 200;

/// What was in reach, as means over the run.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The total throughput.
    pub total: f64,
    /// The most; NaN if it was not worked out.
    pub most: f64,
    /// What the total could have been with nobody worse off.
    pub unopposed: Result<f64, String>,
    /// The kind that would have gained most of its own where most was to be gained.
    pub winner: Option<usize>,
}

impl Reach {
    /// Of kinds with these speedups.
    pub fn new(speedups: &[Vec<f64>], stretches: &[Stretch], active_s: f64) -> Self {
        let mut reach = Self { total: 0.0, most: 0.0, unopposed: Ok(0.0), winner: None };
        let mut largest = 0.0;
        for stretch in stretches {
            let part = stretch.length_s / active_s;
            let (present, market, shares) = market(speedups, stretch);
            let total: f64 = shares.rows().enumerate().map(|(at, row)| market.throughput(at, row)).sum();
            reach.total += total * part;
            if present.is_empty() {
                continue;
            }
            reach.most += most(&market).unwrap_or(f64::NAN) * part;
            match unopposed(&market, &shares, total) {
                Ok((better, winner)) => {
                    if (better - total) * part > largest {
                        largest = (better - total) * part;
                        reach.winner = winner.map(|at| present[at]);
                    }
                    reach.unopposed = reach.unopposed.map(|sum| sum + better * part);
                }
                Err(why) => reach.unopposed = Err(why),
            }
        }
        reach
    }

    /// By how much the total could rise with nobody worse off, as a part of it.
    pub fn gain(&self) -> Result<f64, String> {
        let gain = self.unopposed.clone()? - self.total;
        Ok(if gain > 0.0 { gain / self.total } else { 0.0 })
    }
}

/// The kinds that are there in a stretch, as a market, and what they hold of it.
fn market(speedups: &[Vec<f64>], stretch: &Stretch) -> (Vec<usize>, Market, Matrix) {
    let demand = |at: usize| stretch.kinds[at].0.max(stretch.kinds[at].1.iter().sum());
    let there = |at: &usize| demand(*at) > 0.0 && dot(&speedups[*at], &stretch.within) > 0.0;
    let present: Vec<usize> = (0..speedups.len()).filter(there).collect();
    let rows: Vec<&[f64]> = present.iter().map(|at| speedups[*at].as_slice()).collect();
    let held: Vec<&[f64]> = present.iter().map(|at| stretch.kinds[*at].1.as_slice()).collect();
    let market = Market::new(Matrix::from_rows(&rows), stretch.within.clone());
    let demands = present.iter().map(|at| demand(*at)).collect();
    (present, market.demanding(demands), Matrix::from_rows(&held))
}

fn unopposed(market: &Market, shares: &Matrix, total: f64) -> Result<(f64, Option<usize>), String> {
    if market.parties() > KINDS_MAX {
        return Err(format!("more than {KINDS_MAX} kinds of jobs at once"));
    }
    let finding = pareto(market, shares).map_err(|error| error.to_string())?;
    // Where nobody has anything, nobody can be worse off.
    let better = if total > 0.0 { Ok(total * (1.0 + finding.worst)) } else { most(market) };
    Ok((better?, finding.who.first().copied()))
}

fn most(market: &Market) -> Result<f64, String> {
    // Nobody's floor matters here, so kinds that gain alike are one, whoever they belong to.
    let mut alike: Vec<(Vec<f64>, f64)> = Vec::new();
    let rows = market.speedups.rows().map(|row| row.iter().copied().map(rounded).collect::<Vec<f64>>());
    for (row, demand) in rows.zip(&market.demands) {
        match alike.iter_mut().find(|(known, _)| *known == row) {
            Some((_, sum)) => *sum += demand,
            None => alike.push((row, *demand)),
        }
    }
    if alike.len() > KINDS_MAX {
        return Err(format!("more than {KINDS_MAX} kinds of jobs at once"));
    }
    let (rows, demands): (Vec<Vec<f64>>, Vec<f64>) = alike.into_iter().unzip();
    let floors = vec![0.0; rows.len()];
    let market = Market::new(Matrix::from_rows(&rows), market.capacity.clone()).demanding(demands);
    best_total(&market, &floors).map(|best| best.value).map_err(|error| error.to_string())
}
