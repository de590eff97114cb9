//! What came of a linear program, and what can go wrong with one.

use crate::problem::{Constraint, Variable};
use crate::{MarketError, Problem};
use std::ops::Index;
use thiserror::Error;

/// How sure the method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The best, within the method's tolerance.
    Optimal,
    /// The method stopped early, within a thousand tolerances; value and bound say how near.
    Imprecise,
}

/// A point, its value, and a bound on every other point's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// How sure the method is.
    pub status: Status,
    /// The objective at the point.
    pub value: f64,
    /// One per variable.
    pub values: Vec<f64>,
    /// What one more on the right side of each row would add to the objective. Empty if the method has none.
    pub duals: Vec<f64>,
    /// What no point's objective can be better than.
    pub bound: f64,
    /// Steps that the method took.
    pub steps: usize,
}

impl Solution {
    /// The dual of a row; 0 if the method has none.
    pub fn dual(&self, row: Constraint) -> f64 {
        self.duals.get(row.0).copied().unwrap_or(0.0)
    }
}

impl Index<Variable> for Solution {
    type Output = f64;
    fn index(&self, variable: Variable) -> &f64 {
        &self.values[variable.0]
    }
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SolveError {
    /// Nothing meets all rows.
    #[error("nothing satisfies all of: {}", several(conflict))]
    Infeasible {
        /// Rows that contradict each other, those with the greatest say first; empty if the method cannot tell.
        conflict: Vec<String>,
    },
    /// The objective has no end.
    #[error("the objective has no end along {}", several(growing))]
    Unbounded {
        /// Variables that grow without end, the fastest first; empty if the method cannot tell.
        growing: Vec<String>,
    },
    /// The method gave up.
    #[error("{method} gave up after {steps} steps ({why}){}", known(best.as_deref()))]
    Stalled {
        /// Which method.
        method: &'static str,
        /// How far it came.
        steps: usize,
        /// In the method's own words.
        why: String,
        /// The last point, if there is one. It need not be feasible.
        best: Option<Box<Solution>>,
    },
    /// A number that no program may contain.
    #[error("{what} is {value}")]
    Number {
        /// Which number.
        what: String,
        /// As given.
        value: f64,
    },
    /// There is nothing to be divided sensibly.
    #[error(transparent)]
    Market(#[from] MarketError),
}

fn several(names: &[String]) -> String {
    if names.is_empty() { "its rows".to_owned() } else { names.join(", ") }
}

fn known(best: Option<&Solution>) -> String {
    best.map_or(String::new(), |best| format!(", between {} and {}", best.value, best.bound))
}

/// The names of the parts with the greatest multipliers, the greatest first, those that hardly count left out.
pub(crate) fn greatest(
    multipliers: impl Iterator<Item = f64>,
    name: impl Fn(usize) -> String,
) -> Vec<String> {
    let mut order: Vec<(usize, f64)> = multipliers.map(f64::abs).enumerate().collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let least = order.first().map_or(0.0, |(_, greatest)| greatest * 1e-3);
    order.iter().take(6).take_while(|(_, size)| *size > least).map(|(at, _)| name(*at)).collect()
}

/// The whole solution of a program without variables.
pub(crate) fn without_variables(problem: &Problem) -> Result<Solution, SolveError> {
    let broken = (0..problem.constraints()).find(|row| {
        let right = problem.right[*row];
        match problem.relations[*row] {
            crate::problem::Relation::AtMost => right < 0.0,
            crate::problem::Relation::AtLeast => right > 0.0,
            crate::problem::Relation::Equal => right.abs() > 0.0,
        }
    });
    if let Some(row) = broken {
        return Err(SolveError::Infeasible { conflict: vec![problem.row_names[row].to_string()] });
    }
    let duals = vec![0.0; problem.constraints()];
    Ok(Solution { status: Status::Optimal, value: 0.0, values: Vec::new(), duals, bound: 0.0, steps: 0 })
}
