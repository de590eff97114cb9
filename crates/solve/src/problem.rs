//! Linear programs, written down once and solved by whichever method suits.
//!
//! ```text
//! maximise or minimise   sum_j c_j x_j
//! subject to             sum_j a_rj x_j  <= , >= or =  b_r          l_j <= x_j <= u_j
//! ```

use crate::name::Name;
use crate::{Solution, SolveError};
use std::ops::{Bound, RangeBounds};

/// A variable of the problem that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Variable(pub(crate) usize);

/// A row of the problem that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Constraint(pub(crate) usize);

/// How a row's left side compares with its right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    AtMost,
    AtLeast,
    Equal,
}

/// A linear program. Repeated variables in a row are summed; ranges of variables include their ends.
#[derive(Clone, Debug)]
pub struct Problem {
    /// 1 to minimise, -1 to maximise: the objective times this is minimised.
    pub(crate) sense: f64,
    pub(crate) objective: Vec<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    pub(crate) variable_names: Vec<Name>,
    pub(crate) relations: Vec<Relation>,
    pub(crate) right: Vec<f64>,
    pub(crate) row_names: Vec<Name>,
    /// Where each row ends among the terms.
    ends: Vec<usize>,
    terms: Vec<(usize, f64)>,
}

impl Problem {
    /// A program to be maximised.
    pub fn maximise() -> Self {
        Self::of(-1.0)
    }

    /// A program to be minimised.
    pub fn minimise() -> Self {
        Self::of(1.0)
    }

    fn of(sense: f64) -> Self {
        Self {
            sense,
            objective: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            variable_names: Vec::new(),
            relations: Vec::new(),
            right: Vec::new(),
            row_names: Vec::new(),
            ends: Vec::new(),
            terms: Vec::new(),
        }
    }

    /// A variable with its coefficient in the objective and its range, such as `0.0..` or `0.0..=1.0`.
    pub fn variable(
        &mut self,
        name: impl Into<Name>,
        objective: f64,
        range: impl RangeBounds<f64>,
    ) -> Variable {
        let end = |bound: Bound<&f64>, open: f64| match bound {
            Bound::Included(value) | Bound::Excluded(value) => *value,
            Bound::Unbounded => open,
        };
        self.objective.push(objective);
        self.lower.push(end(range.start_bound(), f64::NEG_INFINITY));
        self.upper.push(end(range.end_bound(), f64::INFINITY));
        self.variable_names.push(name.into());
        Variable(self.objective.len() - 1)
    }

    /// The sum of the terms is `right` or less.
    pub fn at_most<T>(&mut self, name: impl Into<Name>, terms: T, right: f64) -> Constraint
    where
        T: IntoIterator<Item = (Variable, f64)>,
    {
        self.row(name.into(), terms, Relation::AtMost, right)
    }

    /// The sum of the terms is `right` or more.
    pub fn at_least<T>(&mut self, name: impl Into<Name>, terms: T, right: f64) -> Constraint
    where
        T: IntoIterator<Item = (Variable, f64)>,
    {
        self.row(name.into(), terms, Relation::AtLeast, right)
    }

    /// The sum of the terms is `right`.
    pub fn equal<T>(&mut self, name: impl Into<Name>, terms: T, right: f64) -> Constraint
    where
        T: IntoIterator<Item = (Variable, f64)>,
    {
        self.row(name.into(), terms, Relation::Equal, right)
    }

    fn row<T>(&mut self, name: Name, terms: T, relation: Relation, right: f64) -> Constraint
    where
        T: IntoIterator<Item = (Variable, f64)>,
    {
        let start = self.terms.len();
        self.terms.extend(terms.into_iter().map(|(variable, value)| (variable.0, value)));
        self.terms[start..].sort_by_key(|(variable, _)| *variable);
        let mut kept = start;
        for at in start..self.terms.len() {
            let (variable, value) = self.terms[at];
            assert!(variable < self.objective.len(), "a row is made of its problem's own variables");
            if kept > start && self.terms[kept - 1].0 == variable {
                self.terms[kept - 1].1 += value;
            } else {
                self.terms[kept] = (variable, value);
                kept += 1;
            }
        }
        self.terms.truncate(kept);
        self.ends.push(kept);
        self.relations.push(relation);
        self.right.push(right);
        self.row_names.push(name);
        Constraint(self.ends.len() - 1)
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.objective.len()
    }

    /// How many rows there are, ranges of variables not counted.
    pub fn constraints(&self) -> usize {
        self.ends.len()
    }

    /// The terms of a row, by rising variable.
    pub(crate) fn terms(&self, row: usize) -> &[(usize, f64)] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.terms[start..self.ends[row]]
    }

    /// Interior point: precise to about 1e-9, with duals and a bound from them; not at a corner where the best is not unique.
    pub fn solve_interior(&self) -> Result<Solution, SolveError> {
        self.solve_interior_within(1e-10)
    }

    /// Interior point up to a tolerance: the relative gap and violation at which the method may stop.
    pub fn solve_interior_within(&self, tolerance: f64) -> Result<Solution, SolveError> {
        self.check()?;
        crate::clarabel::solve(self, tolerance)
    }

    /// Simplex: a corner of the feasible set, so few variables off their bounds; no duals.
    pub fn solve_vertex(&self) -> Result<Solution, SolveError> {
        self.check()?;
        crate::microlp::solve(self)
    }

    /// Branch and bound over the simplex: the best with these variables whole. For small problems; it may take for ever.
    pub fn solve_whole(&self, whole: &[Variable]) -> Result<Solution, SolveError> {
        self.check()?;
        let whole: Vec<usize> = whole.iter().map(|variable| variable.0).collect();
        crate::microlp::solve_whole(self, &whole)
    }

    /// HiGHS: a corner with duals, to compare with.
    #[cfg(feature = "highs")]
    pub fn solve_highs(&self) -> Result<Solution, SolveError> {
        self.check()?;
        crate::highs::solve(self)
    }
}
