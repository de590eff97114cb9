//! Linear programs by simplex: microlp, without a time limit, so the same problem has the same corner.

use crate::problem::{Problem, Relation};
use crate::solution::{Solution, SolveError, Status, without_variables};
use ::microlp::{ComparisonOp, Error, OptimizationDirection, SolveOptions};

const METHOD: &str = "the simplex method";
/// How far a corner may be outside a row.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn solve(problem: &Problem) -> Result<Solution, SolveError> {
    solve_whole(problem, &[])
}

/// With these variables whole; they have finite ranges.
pub(crate) fn solve_whole(problem: &Problem, whole: &[usize]) -> Result<Solution, SolveError> {
    if problem.variables() == 0 {
        return without_variables(problem);
    }
    let mut program = ::microlp::Problem::new(OptimizationDirection::Minimize);
    let mut is_whole = vec![false; problem.variables()];
    for variable in whole {
        is_whole[*variable] = true;
    }
    let ranges = problem.lower.iter().copied().zip(problem.upper.iter().copied());
    let columns: Vec<_> = (problem.objective.iter().zip(ranges))
        .enumerate()
        .map(|(at, (cost, (low, high)))| {
            let cost = cost * problem.sense;
            if is_whole[at] {
                program.add_integer_var(cost, (low.ceil() as i32, high.floor() as i32))
            } else {
                program.add_var(cost, (low, high))
            }
        })
        .collect();
    for row in 0..problem.constraints() {
        let relation = match problem.relations[row] {
            Relation::AtMost => ComparisonOp::Le,
            Relation::AtLeast => ComparisonOp::Ge,
            Relation::Equal => ComparisonOp::Eq,
        };
        let terms = problem.terms(row).iter().map(|(variable, value)| (columns[*variable], *value));
        program.add_constraint(terms, relation, problem.right[row]);
    }
    let mut options = SolveOptions::default();
    options.tolerances.feasibility = TOLERANCE;
    let stalled = |why: String| SolveError::Stalled { method: METHOD, steps: 0, why, best: None };
    match program.solve_with(options) {
        Ok(outcome) => {
            let found = outcome.into_solution().map_err(|_| stalled("interrupted".to_owned()))?;
            let values: Vec<f64> = columns.iter().map(|column| found.var_value(*column)).collect();
            let value = problem.value_at(&values);
            let steps = found.stats().lp_iterations as usize;
            Ok(Solution { status: Status::Optimal, value, values, duals: Vec::new(), bound: value, steps })
        }
        Err(Error::Infeasible) => Err(explained(problem, SolveError::Infeasible { conflict: Vec::new() })),
        Err(Error::Unbounded) => Err(explained(problem, SolveError::Unbounded { growing: Vec::new() })),
        Err(error) => Err(stalled(error.to_string())),
    }
}

/// The same finding with its reason, which only the interior point method gives.
fn explained(problem: &Problem, finding: SolveError) -> SolveError {
    match crate::clarabel::solve(problem, TOLERANCE) {
        Err(other) if std::mem::discriminant(&other) == std::mem::discriminant(&finding) => other,
        _ => finding,
    }
}
