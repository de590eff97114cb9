//! Linear programs by interior point: Clarabel, alone in its thread, without a clock, so the same problem has the same answer.
//!
//! Clarabel takes `minimise q.x , A x + s = b , s = 0 or s >= 0`, ranges of variables being rows like any other.

use crate::problem::{Problem, Relation};
use crate::solution::{Solution, SolveError, Status, greatest, without_variables};
use ::clarabel::algebra::CscMatrix;
use ::clarabel::solver::{
    DefaultSettings, DefaultSolution, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};

const METHOD: &str = "the interior point method";
const STEPS_MAX: u32 = 200;

/// Where a row of Clarabel's comes from, and the sign that turns it into `<=`.
enum Origin {
    Row(usize, f64),
    Range(usize, f64),
}

pub(crate) fn solve(problem: &Problem, tolerance: f64) -> Result<Solution, SolveError> {
    if problem.variables() == 0 {
        return without_variables(problem);
    }
    let (equal, mut origins) = origins(problem);
    let free = origins.len();
    origins.splice(0..0, equal);
    let fixed = origins.len() - free;
    let (matrix, right) = rows(problem, &origins);
    let cones = [ZeroConeT(fixed), NonnegativeConeT(free)];
    let costs: Vec<f64> = problem.objective.iter().map(|cost| cost * problem.sense).collect();
    let quadratic = CscMatrix::zeros((costs.len(), costs.len()));
    let made = DefaultSolver::new(&quadratic, &costs, &matrix, &right, &cones, settings(tolerance));
    let stalled = |steps, why, best| SolveError::Stalled { method: METHOD, steps, why, best };
    let mut solver = made.map_err(|error| stalled(0, error.to_string(), None))?;
    solver.solve();
    outcome(problem, &origins, &solver.solution)
}

fn settings(tolerance: f64) -> DefaultSettings<f64> {
    DefaultSettings {
        verbose: false,
        max_iter: STEPS_MAX,
        max_threads: 1,
        tol_gap_abs: tolerance,
        tol_gap_rel: tolerance,
        tol_feas: tolerance,
        reduced_tol_gap_abs: 1e3 * tolerance,
        reduced_tol_gap_rel: 1e3 * tolerance,
        reduced_tol_feas: 1e3 * tolerance,
        ..DefaultSettings::default()
    }
}

/// The rows that are equations, and those that are not.
fn origins(problem: &Problem) -> (Vec<Origin>, Vec<Origin>) {
    let (mut equal, mut other) = (Vec::new(), Vec::new());
    for (row, relation) in problem.relations.iter().enumerate() {
        match relation {
            Relation::Equal => equal.push(Origin::Row(row, 1.0)),
            Relation::AtMost => other.push(Origin::Row(row, 1.0)),
            Relation::AtLeast => other.push(Origin::Row(row, -1.0)),
        }
    }
    for (variable, (lower, upper)) in problem.lower.iter().zip(&problem.upper).enumerate() {
        if lower >= upper {
            equal.push(Origin::Range(variable, 1.0));
            continue;
        }
        if lower.is_finite() {
            other.push(Origin::Range(variable, -1.0));
        }
        if upper.is_finite() {
            other.push(Origin::Range(variable, 1.0));
        }
    }
    (equal, other)
}

/// Clarabel's matrix by columns, and its right side.
fn rows(problem: &Problem, origins: &[Origin]) -> (CscMatrix<f64>, Vec<f64>) {
    let mut columns = vec![Vec::new(); problem.variables()];
    let mut right = Vec::with_capacity(origins.len());
    for (at, origin) in origins.iter().enumerate() {
        match *origin {
            Origin::Row(row, sign) => {
                for (variable, value) in problem.terms(row) {
                    columns[*variable].push((at, sign * value));
                }
                right.push(sign * problem.right[row]);
            }
            Origin::Range(variable, sign) => {
                let end = if sign > 0.0 { problem.upper[variable] } else { problem.lower[variable] };
                columns[variable].push((at, sign));
                right.push(sign * end);
            }
        }
    }
    let mut starts = vec![0];
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for column in &columns {
        places.extend(column.iter().map(|(at, _)| *at));
        values.extend(column.iter().map(|(_, value)| *value));
        starts.push(places.len());
    }
    (CscMatrix::new(origins.len(), columns.len(), starts, places, values), right)
}

fn outcome(
    problem: &Problem,
    origins: &[Origin],
    found: &DefaultSolution<f64>,
) -> Result<Solution, SolveError> {
    let status = match found.status {
        SolverStatus::Solved => Some(Status::Optimal),
        SolverStatus::AlmostSolved => Some(Status::Imprecise),
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => {
            let name = |at: usize| match origins[at] {
                Origin::Row(row, _) => problem.row_names[row].to_string(),
                Origin::Range(variable, _) => format!("the range of {}", problem.variable_names[variable]),
            };
            let conflict = greatest(found.z.iter().copied(), name);
            return Err(SolveError::Infeasible { conflict });
        }
        SolverStatus::DualInfeasible | SolverStatus::AlmostDualInfeasible => {
            let name = |at: usize| problem.variable_names[at].to_string();
            let growing = greatest(found.x.iter().copied(), name);
            return Err(SolveError::Unbounded { growing });
        }
        _ => None,
    };
    let mut duals = vec![0.0; problem.constraints()];
    for (origin, dual) in origins.iter().zip(&found.z) {
        if let Origin::Row(row, sign) = origin {
            duals[*row] = -sign * dual * problem.sense;
        }
    }
    let dual_value = found.obj_val_dual * problem.sense;
    let solution = Solution {
        status: status.unwrap_or(Status::Imprecise),
        value: problem.value_at(&found.x),
        values: found.x.clone(),
        bound: crate::bound::bound(problem, &duals).unwrap_or(dual_value),
        duals,
        steps: found.iterations as usize,
    };
    if status.is_some() {
        return Ok(solution);
    }
    let (why, steps) = (found.status.to_string(), solution.steps);
    Err(SolveError::Stalled { method: METHOD, steps, why, best: Some(Box::new(solution)) })
}
