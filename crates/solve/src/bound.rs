//! A bound on a linear program from any guess at its duals.
//!
//! ```text
//! minimise c.x , A x >= b , l <= x <= u :     c.x  >=  y.b + sum_j min over l_j <= x_j <= u_j of (c - y A)_j x_j     for y >= 0
//! ```
//!
//! It holds whatever y is, so a method's tolerance cannot make it false. It needs both ends of every variable whose reduced
//! cost came out a little off; where the problem states none, ends that follow from single rows are used.

use crate::Problem;
use crate::problem::Relation;

/// What no point's objective can be better than, from the duals of the rows; `None` if they prove nothing.
pub(crate) fn bound(problem: &Problem, duals: &[f64]) -> Option<f64> {
    let mut reduced: Vec<f64> = problem.objective.iter().map(|cost| cost * problem.sense).collect();
    let mut total = 0.0;
    for (row, dual) in duals.iter().enumerate() {
        let dual = match problem.relations[row] {
            Relation::AtMost => (dual * problem.sense).min(0.0),
            Relation::AtLeast => (dual * problem.sense).max(0.0),
            Relation::Equal => dual * problem.sense,
        };
        total += dual * problem.right[row];
        for (variable, value) in problem.terms(row) {
            reduced[*variable] -= dual * value;
        }
    }
    let (lower, upper) = implied(problem);
    for (at, cost) in reduced.iter().enumerate() {
        let end = if *cost > 0.0 { lower[at] } else { upper[at] };
        if cost.abs() > 0.0 {
            total += cost * end;
        }
    }
    (total > f64::NEG_INFINITY).then_some(total * problem.sense)
}

/// The ends of every variable, tightened by each row once.
fn implied(problem: &Problem) -> (Vec<f64>, Vec<f64>) {
    let (mut lower, mut upper) = (problem.lower.clone(), problem.upper.clone());
    for row in 0..problem.constraints() {
        let right = problem.right[row];
        let terms = problem.terms(row);
        if problem.relations[row] != Relation::AtLeast {
            tighten(terms, 1.0, right, &mut lower, &mut upper);
        }
        if problem.relations[row] != Relation::AtMost {
            tighten(terms, -1.0, -right, &mut lower, &mut upper);
        }
    }
    (lower, upper)
}

/// What `sign * terms <= right` says of each of its variables when all others do their least.
fn tighten(terms: &[(usize, f64)], sign: f64, right: f64, lower: &mut [f64], upper: &mut [f64]) {
    let least = |lower: &[f64], upper: &[f64], variable: usize, value: f64| {
        value * if value > 0.0 { lower[variable] } else { upper[variable] }
    };
    let (mut finite, mut open) = (0.0, 0);
    for (variable, value) in terms.iter().filter(|(_, value)| value.abs() > 0.0) {
        let part = least(lower, upper, *variable, sign * value);
        if part.is_finite() {
            finite += part;
        } else {
            open += 1;
        }
    }
    for (variable, value) in terms.iter().filter(|(_, value)| value.abs() > 0.0) {
        let own = least(lower, upper, *variable, sign * value);
        let others = match (open, own.is_finite()) {
            (0, _) => finite - own,
            (1, false) => finite,
            _ => continue,
        };
        let end = (right - others) / (sign * value);
        if sign * value > 0.0 {
            upper[*variable] = upper[*variable].min(end);
        } else {
            lower[*variable] = lower[*variable].max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_duals_give_a_bound_that_holds() {
        let mut problem = Problem::maximise();
        let x = problem.variable("x", 3.0, 0.0..);
        let y = problem.variable("y", 2.0, 0.0..);
        problem.at_most("a", [(x, 1.0), (y, 1.0)], 4.0);
        problem.at_most("b", [(x, 1.0)], 3.0);
        assert_eq!(bound(&problem, &[2.0, 1.0]), Some(11.0));
        assert_eq!(bound(&problem, &[0.0, 0.0]), Some(17.0));
        assert_eq!(bound(&problem, &[2.5, 0.0]), Some(11.5));
    }

    #[test]
    fn where_the_rows_leave_a_variable_open_wrong_duals_prove_nothing() {
        let mut problem = Problem::minimise();
        let x = problem.variable("x", 1.0, ..);
        problem.at_least("floor", [(x, 1.0)], 2.0);
        assert_eq!(bound(&problem, &[1.0]), Some(2.0));
        assert_eq!(bound(&problem, &[1.5]), None);
    }
}
