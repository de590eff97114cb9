//! Tiny linear programs by trying every corner: slow, and too simple to be wrong. For tests.
//!
//! A corner of a program in n variables is where n of its rows and ends of ranges hold with equality.

use crate::Problem;

/// The best corner's value and point. The program must be bounded; `None` if it has no corner.
pub(crate) fn solve(problem: &Problem) -> Option<(f64, Vec<f64>)> {
    let size = problem.variables();
    let mut planes = Vec::new();
    for row in 0..problem.constraints() {
        let mut plane = vec![0.0; size + 1];
        for (variable, value) in problem.terms(row) {
            plane[*variable] = *value;
        }
        plane[size] = problem.right[row];
        planes.push(plane);
    }
    for variable in 0..size {
        for end in [problem.lower[variable], problem.upper[variable]] {
            if end.is_finite() {
                let mut plane = vec![0.0; size + 1];
                plane[variable] = 1.0;
                plane[size] = end;
                planes.push(plane);
            }
        }
    }
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut chosen: Vec<usize> = (0..size).collect();
    while chosen.last().is_none_or(|last| *last < planes.len()) {
        if let Some(point) = meeting(chosen.iter().map(|at| planes[*at].clone()).collect()) {
            let value = problem.value_at(&point);
            let better = best.as_ref().is_none_or(|(least, _)| value * problem.sense < least * problem.sense);
            if better && problem.violation_at(&point) < 1e-8 {
                best = Some((value, point));
            }
        }
        if !advance(&mut chosen, planes.len()) {
            break;
        }
    }
    best
}

/// The next choice in lexicographic order.
fn advance(chosen: &mut [usize], from: usize) -> bool {
    let size = chosen.len();
    let Some(at) = (0..size).rev().find(|at| chosen[*at] + size - at < from) else { return false };
    chosen[at] += 1;
    for later in at + 1..size {
        chosen[later] = chosen[later - 1] + 1;
    }
    true
}

/// Where the planes meet, by Gauss elimination.
fn meeting(mut planes: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = planes.len();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| planes[*a][at].abs().total_cmp(&planes[*b][at].abs()))?;
        planes.swap(at, pivot);
        if planes[at][at].abs() < 1e-9 {
            return None;
        }
        let own = planes[at].clone();
        for (other, plane) in planes.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = plane[at] / own[at];
            assert_ne!(other, at);
            plane.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    Some(planes.iter().enumerate().map(|(at, plane)| plane[size] / plane[at]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Solution, SolveError, Status};
    use evenhand_core::Random;

    /// A bounded program; about one in three has no point at all.
    fn program(random: &mut Random) -> Problem {
        let mut problem = if random.below(2) == 0 { Problem::maximise() } else { Problem::minimise() };
        let variables: Vec<_> = (0..=random.below(4) as usize)
            .map(|at| {
                let lower = random.between(-2.0, 1.0);
                problem.variable(
                    ("x", at),
                    random.between(-2.0, 2.0),
                    lower..=lower + random.between(0.0, 4.0),
                )
            })
            .collect();
        for row in 0..random.below(5) as usize {
            let terms: Vec<_> =
                variables.iter().map(|variable| (*variable, random.between(-1.0, 2.0))).collect();
            let right = random.between(-1.0, 3.0);
            match random.below(5) {
                0 => problem.equal(("r", row), terms, right),
                1 => problem.at_least(("r", row), terms, right),
                _ => problem.at_most(("r", row), terms, right),
            };
        }
        problem
    }

    /// What every method there is makes of a program.
    fn all(problem: &Problem) -> Vec<Result<Solution, SolveError>> {
        vec![
            problem.solve_interior(),
            problem.solve_vertex(),
            #[cfg(feature = "highs")]
            problem.solve_highs(),
        ]
    }

    #[test]
    fn every_method_finds_what_trying_every_corner_finds() {
        let (mut solved, mut hopeless) = (0, 0);
        for seed in 0..600 {
            let problem = program(&mut Random::new(seed));
            let Some((value, _)) = solve(&problem) else {
                hopeless += 1;
                for found in all(&problem) {
                    let error = found.expect_err("no corner, no solution");
                    assert!(
                        matches!(error, SolveError::Infeasible { .. }),
                        "seed {seed}: {error}\n{problem}"
                    );
                }
                continue;
            };
            solved += 1;
            for found in all(&problem) {
                let found = found.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{problem}"));
                assert_eq!(found.status, Status::Optimal, "seed {seed}");
                assert!((found.value - value).abs() < 1e-7, "seed {seed}: {} {value}", found.value);
                assert!(problem.violation_at(&found.values) < 1e-7, "seed {seed}");
                assert!(problem.sense * (value - found.bound) > -1e-9, "seed {seed}: {}", found.bound);
                assert!((found.bound - value).abs() < 1e-7, "seed {seed}: {} {value}", found.bound);
            }
        }
        assert!(solved > 300 && hopeless > 50, "{solved} {hopeless}");
    }

    #[test]
    fn errors_call_rows_and_variables_by_their_names() {
        let mut problem = Problem::maximise();
        let x = problem.variable(("x", 0), 1.0, 0.0..);
        problem.at_least("floor", [(x, 1.0)], 0.0);
        for found in [problem.solve_interior(), problem.solve_vertex()] {
            let error = found.expect_err("no end").to_string();
            assert_eq!(error, "the objective has no end along x[1]");
        }
        problem.at_most("ceiling", [(x, 1.0)], -1.0);
        for found in [problem.solve_interior(), problem.solve_vertex()] {
            let error = found.expect_err("no point").to_string();
            assert!(error.starts_with("nothing satisfies all of: ") && error.contains("ceiling"), "{error}");
        }
        problem.at_most(("cap", 1), [(x, f64::NAN)], 1.0);
        let error = problem.solve_vertex().expect_err("not a number").to_string();
        assert_eq!(error, "a coefficient of cap[2] is NaN");
    }

    #[test]
    fn duals_say_what_one_more_on_the_right_would_add() {
        for seed in 0..200 {
            let mut problem = program(&mut Random::new(seed));
            let Ok(found) = problem.solve_interior() else { continue };
            for row in 0..problem.constraints() {
                problem.right[row] += 1e-4;
                let more = problem.solve_interior();
                problem.right[row] -= 2e-4;
                let less = problem.solve_interior();
                problem.right[row] += 1e-4;
                if let (Ok(more), Ok(less)) = (more, less) {
                    // At a kink the slope is anything between the slopes of both sides.
                    let sides = [(more.value - found.value) / 1e-4, (found.value - less.value) / 1e-4];
                    let (low, high) = (sides[0].min(sides[1]) - 1e-3, sides[0].max(sides[1]) + 1e-3);
                    assert!((low..high).contains(&found.duals[row]), "seed {seed} row {row}");
                }
            }
        }
    }
}
