//! The best division without envy: rows where they are violated, then a corner.
//!
//! Rounds of the program of all bundles add the worst envy of every taste until there is none. At the optimum many tastes
//! have the same bundle, so that the last point says who shares a dish; the best menu for that choice is then a corner with
//! the same total, and without envy but for rounding.

use super::menu::Menu;
use super::program::{Envy, Program};
use super::rows::Rows;
use super::tastes::Tastes;
use super::{Bundles, certificate};
use crate::SolveError;

const ROUNDS_MAX: usize = 60;
/// New rows of each taste in a round.
const NEW_ROWS: usize = 3;
/// Bundles that are nearer than this in every model are one dish.
const SAME: f64 = 1e-5;
/// More dishes than this are a sign that the best bundles are not the only ones.
const DISHES_MANY: usize = 30;
/// A gap that is rounding.
const NOTHING: f64 = 1e-9;

pub(super) fn divide(tastes: &Tastes) -> Result<Bundles, SolveError> {
    let mut best = Bundles { bound: f64::INFINITY, ..tastes.in_proportion() };
    let mut rows = Rows::nearest(tastes);
    let mut tolerance = 1e-7;
    for _ in 0..ROUNDS_MAX {
        let mut found = relaxed(tastes, &rows, 1e-10)?;
        best.bound = best.bound.min(found.bound);
        best.steps += found.steps;
        if rows.forbid_worst(tastes, &found.shares, NEW_ROWS, tolerance) > 0 {
            continue;
        }
        if Menu::of(&found.shares, SAME).dishes.len() > DISHES_MANY {
            found = near_a_corner(tastes, &mut rows, found);
        }
        for same in [SAME, SAME * 1e-2] {
            if best.gap(tastes) <= NOTHING {
                return Ok(best);
            }
            // A menu that cannot be solved is one suggestion less: what is known stays, and its gap tells.
            if let Ok(menu) = Menu::of(&found.shares, same).best(tastes) {
                best.improve(tastes, &menu);
            }
        }
        if tolerance < 1e-9 {
            break;
        }
        tolerance *= 0.1;
    }
    Ok(best)
}

/// The best bundles under some rows, and so a bound.
pub(super) fn relaxed(tastes: &Tastes, rows: &Rows, tolerance: f64) -> Result<Bundles, SolveError> {
    let own: Vec<usize> = (0..tastes.len()).collect();
    let pairs: Vec<Envy> = rows.pairs().collect();
    let found = Program::new(tastes, &own, own.len()).interior(&pairs, tolerance)?;
    let rows = pairs.iter().zip(&found.multipliers).map(|((taste, other), by)| (*taste, *other, *by));
    Ok(Bundles { bound: certificate::bound(tastes, rows), shares: found.dishes, steps: found.steps })
}

/// Where the best bundles are not the only ones, the interior point method ends in the middle of them and hardly anybody
/// shares a dish. Those that are best for values a little off are near a corner, with few dishes.
fn near_a_corner(tastes: &Tastes, rows: &mut Rows, middle: Bundles) -> Bundles {
    let leaning = tastes.leaning();
    for _ in 0..ROUNDS_MAX {
        let Ok(found) = relaxed(&leaning, rows, 1e-10) else { return middle };
        if rows.forbid_worst(tastes, &found.shares, NEW_ROWS, 1e-7) == 0 {
            return found;
        }
    }
    middle
}
