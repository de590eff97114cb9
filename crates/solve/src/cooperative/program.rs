//! The program of a menu with some of its envy rows.
//!
//! ```text
//! dishes z_g , each taken by the tastes i with g(i) = g :
//!
//! maximise    sum_i v_i.z_g(i)
//! subject to  d_i.z_g(i) >= d_i.z_h     for some tastes i and dishes h ;       sum_i rho_i z_g(i)j <= 1 ,   z >= 0
//! ```
//!
//! If every taste has a dish of its own this is the program of all bundles. With some rows only, its best is a bound.
//!
//! For the interior point method own throughput is a variable of its own: `u_i = d_i.z_g(i)` and rows `u_i >= d_i.z_h`. The
//! program is the same, and much faster: dishes then meet each other through single numbers u and not through all their k
//! models, so that the solver's factorisation costs about n^3 instead of (n k)^3. For 100 tastes and 10 models that is 25 times
//! less. The simplex method only suffers from more variables.

use super::tastes::Tastes;
use crate::problem::Variable;
use crate::{Matrix, Problem, Solution, SolveError};

/// A taste and a dish that it must not like better than its own.
pub(super) type Envy = (usize, usize);

pub(super) struct Program<'a> {
    tastes: &'a Tastes,
    choice: &'a [usize],
    dishes: usize,
    problem: Problem,
    /// z, dish by dish.
    parts: Vec<Variable>,
}

/// What the interior point method found.
pub(super) struct Interior {
    pub dishes: Matrix,
    /// One per envy row, at least 0 but for rounding.
    pub multipliers: Vec<f64>,
    pub steps: usize,
}

impl<'a> Program<'a> {
    pub fn new(tastes: &'a Tastes, choice: &'a [usize], dishes: usize) -> Self {
        let models = tastes.directions.columns();
        let mut weights = vec![0.0; dishes];
        let mut values = Matrix::zeros(dishes, models);
        for (taste, dish) in choice.iter().enumerate() {
            weights[*dish] += tastes.weights[taste];
            let own = tastes.values.row(taste);
            values.row_mut(*dish).iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
        let mut problem = Problem::maximise();
        let mut parts = Vec::with_capacity(dishes * models);
        for (dish, row) in values.rows().enumerate() {
            for (model, value) in row.iter().enumerate() {
                parts.push(problem.variable(("z", dish, model), *value, 0.0..));
            }
        }
        for model in 0..models {
            let all = weights.iter().enumerate();
            let terms = all.map(|(dish, weight)| (parts[dish * models + model], *weight));
            problem.at_most(("capacity", model), terms, 1.0);
        }
        Self { tastes, choice, dishes, problem, parts }
    }

    /// What a taste makes of a dish, times a sign.
    fn worth(&self, taste: usize, dish: usize, sign: f64) -> Vec<(Variable, f64)> {
        let direction = self.tastes.directions.row(taste);
        let parts = &self.parts[dish * direction.len()..(dish + 1) * direction.len()];
        parts.iter().zip(direction).map(|(part, like)| (*part, sign * like)).collect()
    }

    /// By interior point, up to a tolerance.
    pub fn interior(mut self, rows: &[Envy], tolerance: f64) -> Result<Interior, SolveError> {
        let mut reached: Vec<Option<Variable>> = vec![None; self.tastes.len()];
        let mut envies = Vec::with_capacity(rows.len());
        for (taste, other) in rows {
            let own = if let Some(own) = reached[*taste] {
                own
            } else {
                let own = self.problem.variable(("u", *taste), 0.0, ..);
                let mut terms = self.worth(*taste, self.choice[*taste], 1.0);
                terms.push((own, -1.0));
                self.problem.equal(("u", *taste), terms, 0.0);
                reached[*taste] = Some(own);
                own
            };
            let mut terms = self.worth(*taste, *other, -1.0);
            terms.push((own, 1.0));
            envies.push(self.problem.at_least(("envy", *taste, *other), terms, 0.0));
        }
        let found = match self.problem.solve_interior_within(tolerance) {
            // The point only guides, and the bound holds for any multipliers: what a stalled solver knew is good enough.
            Err(SolveError::Stalled { best: Some(best), .. }) => *best,
            other => other?,
        };
        let multipliers = envies.iter().map(|row| -found.dual(*row)).collect();
        Ok(Interior { dishes: self.read(&found), multipliers, steps: found.steps })
    }

    /// By simplex: a corner.
    pub fn corner(mut self, rows: impl Iterator<Item = Envy>) -> Result<Matrix, SolveError> {
        for (taste, other) in rows {
            let mut terms = self.worth(taste, self.choice[taste], 1.0);
            terms.extend(self.worth(taste, other, -1.0));
            self.problem.at_least(("envy", taste, other), terms, 0.0);
        }
        let found = self.problem.solve_vertex()?;
        Ok(self.read(&found))
    }

    fn read(&self, found: &Solution) -> Matrix {
        let mut dishes = Matrix::zeros(self.dishes, self.tastes.directions.columns());
        let mut parts = self.parts.iter();
        for dish in 0..self.dishes {
            dishes
                .row_mut(dish)
                .iter_mut()
                .zip(parts.by_ref())
                .for_each(|(part, at)| *part = found[*at].max(0.0));
        }
        dishes
    }
}
