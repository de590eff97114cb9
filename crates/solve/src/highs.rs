//! Linear programs by HiGHS, to compare with: a corner and its duals from one thread.

use crate::problem::{Problem, Relation};
use crate::solution::{Solution, SolveError, Status, without_variables};
use ::highs::{HighsModelStatus, RowProblem, Sense};

const METHOD: &str = "HiGHS";

pub(crate) fn solve(problem: &Problem) -> Result<Solution, SolveError> {
    if problem.variables() == 0 {
        return without_variables(problem);
    }
    let mut program = RowProblem::default();
    let ranges = problem.lower.iter().zip(&problem.upper);
    let columns: Vec<_> = (problem.objective.iter().zip(ranges))
        .map(|(cost, (lower, upper))| program.add_column(*cost, *lower..=*upper))
        .collect();
    for row in 0..problem.constraints() {
        let terms = problem.terms(row).iter().map(|(variable, value)| (columns[*variable], *value));
        let right = problem.right[row];
        match problem.relations[row] {
            Relation::AtMost => program.add_row(..=right, terms),
            Relation::AtLeast => program.add_row(right.., terms),
            Relation::Equal => program.add_row(right..=right, terms),
        }
    }
    let sense = if problem.sense > 0.0 { Sense::Minimise } else { Sense::Maximise };
    let stalled = |why: String| SolveError::Stalled { method: METHOD, steps: 0, why, best: None };
    let mut model = program.try_optimise(sense).map_err(|status| stalled(format!("{status:?}")))?;
    for (option, value) in [("primal_feasibility_tolerance", 1e-9), ("dual_feasibility_tolerance", 1e-9)] {
        model.try_set_option(option, value).map_err(|_| stalled(format!("no option {option}")))?;
    }
    model.try_set_option("threads", 1).map_err(|_| stalled("no option threads".to_owned()))?;
    let solved = model.try_solve().map_err(|status| stalled(format!("{status:?}")))?;
    match solved.status() {
        HighsModelStatus::Optimal => {}
        HighsModelStatus::Infeasible => return Err(SolveError::Infeasible { conflict: Vec::new() }),
        HighsModelStatus::Unbounded => return Err(SolveError::Unbounded { growing: Vec::new() }),
        // Its presolve does not tell the two apart; the interior point method does.
        HighsModelStatus::UnboundedOrInfeasible => {
            let why = || stalled("unbounded or infeasible".to_owned());
            return Err(crate::clarabel::solve(problem, 1e-9).err().unwrap_or_else(why));
        }
        other => return Err(stalled(format!("{other:?}"))),
    }
    let found = solved.get_solution();
    let (values, duals) = (found.columns().to_vec(), found.dual_rows().to_vec());
    let value = problem.value_at(&values);
    Ok(Solution {
        status: Status::Optimal,
        value,
        bound: crate::bound::bound(problem, &duals).unwrap_or(value),
        values,
        duals,
        steps: usize::try_from(solved.simplex_iteration_count()).unwrap_or(0),
    })
}
