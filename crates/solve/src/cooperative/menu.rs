//! A menu: dishes, and who takes which.
//!
//! Whoever picks the dish they like best envies nobody, so a menu is a division without envy, if the dishes suffice. Here
//! the choice is settled and what is in the dishes is not: the best dishes are those of the program in `program`, whose rows
//! are added when a solution breaks them, because few of them bind.

use super::program::{Envy, Program};
use super::rows::alike;
use super::tastes::Tastes;
use crate::{Matrix, SolveError, dot};
use std::collections::BTreeSet;

/// Envy up to this is rounding, in units in which everybody's equal share is worth about 1.
const ENVY: f64 = 1e-10;
/// Rows that are this near to binding are in the first program.
const NEAR: f64 = 1e-4;
const ROUNDS_MAX: usize = 60;

#[derive(Clone)]
pub(super) struct Menu {
    pub dishes: Matrix,
    choice: Vec<usize>,
}

impl Menu {
    /// The different bundles that there are, each taken by those who have it.
    pub fn of(bundles: &Matrix, tolerance: f64) -> Self {
        let mut dishes: Vec<&[f64]> = Vec::new();
        let mut choice = Vec::with_capacity(bundles.len());
        for bundle in bundles.rows() {
            let known = dishes.iter().position(|dish| alike(dish, bundle, tolerance));
            choice.push(known.unwrap_or(dishes.len()));
            if known.is_none() {
                dishes.push(bundle);
            }
        }
        Self { dishes: Matrix::from_rows(&dishes), choice }
    }

    /// Everybody takes what they like best, the first of equals; what nobody takes is off the menu.
    pub fn chosen(dishes: &Matrix, tastes: &Tastes) -> Self {
        let best = |direction: &[f64]| {
            let worth = dishes.rows().map(|dish| dot(direction, dish)).enumerate();
            worth.fold((0, f64::MIN), |best, next| if next.1 > best.1 { next } else { best }).0
        };
        let mut choice: Vec<usize> = tastes.directions.rows().map(best).collect();
        let taken = renumber(&mut choice);
        let rows: Vec<&[f64]> = taken.iter().map(|dish| dishes.row(*dish)).collect();
        Self { dishes: Matrix::from_rows(&rows), choice }
    }

    /// Everybody's bundle, all scaled by the same so that no model is overused: rounding, and no reason for envy.
    pub fn bundles(&self, tastes: &Tastes) -> Matrix {
        let mut used = vec![0.0; self.dishes.columns()];
        for (dish, weight) in self.choice.iter().zip(&tastes.weights) {
            used.iter_mut().zip(self.dishes.row(*dish)).for_each(|(used, part)| *used += weight * part);
        }
        let most = used.into_iter().fold(1.0, f64::max);
        let scaled = |dish: &usize| self.dishes.row(*dish).iter().map(|part| part / most).collect();
        let rows: Vec<Vec<f64>> = self.choice.iter().map(scaled).collect();
        Matrix::from_rows(&rows)
    }

    /// Nearly the best dishes for this choice, from afar: interior point rounds.
    pub fn better(mut self, tastes: &Tastes) -> Result<Self, SolveError> {
        let mut rows = self.envies(tastes, -NEAR);
        for _ in 0..ROUNDS_MAX {
            let listed: Vec<Envy> = rows.iter().copied().collect();
            let program = Program::new(tastes, &self.choice, self.dishes.len());
            self.dishes = program.interior(&listed, 1e-8)?.dishes;
            let before = rows.len();
            rows.extend(self.envies(tastes, 1e-6));
            if rows.len() == before {
                break;
            }
        }
        Ok(self)
    }

    /// The best dishes for this choice, from nearby: a corner, with few models in a dish and envy of no more than rounding.
    pub fn best(mut self, tastes: &Tastes) -> Result<Self, SolveError> {
        let mut rows = self.envies(tastes, -NEAR);
        for _ in 0..ROUNDS_MAX {
            let program = Program::new(tastes, &self.choice, self.dishes.len());
            self.dishes = program.corner(rows.iter().copied())?;
            let before = rows.len();
            rows.extend(self.envies(tastes, ENVY));
            if rows.len() == before {
                return Ok(self);
            }
        }
        let why = "rows without end".to_owned();
        Err(SolveError::Stalled { method: "the search for a menu", steps: ROUNDS_MAX, why, best: None })
    }

    /// For every pair of dishes the taste that would most like to swap, if by more than the tolerance.
    fn envies(&self, tastes: &Tastes, tolerance: f64) -> BTreeSet<Envy> {
        let many = self.dishes.len();
        let mut worst: Vec<Option<(f64, usize)>> = vec![None; many * many];
        for (taste, own) in self.choice.iter().enumerate() {
            let direction = tastes.directions.row(taste);
            let reached = dot(direction, self.dishes.row(*own));
            for (other, dish) in self.dishes.rows().enumerate().filter(|(other, _)| other != own) {
                let envy = dot(direction, dish) - reached;
                let known = &mut worst[own * many + other];
                if envy > tolerance && known.is_none_or(|(most, _)| envy > most) {
                    *known = Some((envy, taste));
                }
            }
        }
        let found = worst.iter().enumerate().filter_map(|(at, worst)| Some((worst.as_ref()?.1, at % many)));
        found.collect()
    }
}

/// Numbers from 0 without gaps in place of others, in the same order; says which others there were.
pub(super) fn renumber(numbers: &mut [usize]) -> Vec<usize> {
    let mut used = numbers.to_vec();
    used.sort_unstable();
    used.dedup();
    for number in numbers {
        *number = used.partition_point(|used| used < number);
    }
    used
}
