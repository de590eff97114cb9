//! Many tastes: a menu from which everybody picks. Free of envy because everybody picked; not quite the best.
//!
//! 1. Two menus are suggested. One is the best for kinds of taste, gathered by k-means in log-taste. The other has the bundles
//!    of the program of all tastes with envy rows between the nearest only, which also gives the bound. Where that is too
//!    large there is the first alone, and the bound is that of no envy rows at all: it holds, and says little.
//! 2. Everybody takes the dish they like best, and the dishes are made the best for that choice. Again, a few times.

use super::menu::{Menu, renumber};
use super::rows::{Rows, distance, places};
use super::tastes::Tastes;
use super::{Bundles, certificate, exact};
use crate::{Matrix, SolveError};

/// How often everybody picks again.
const PICKS: usize = 4;
/// Shares up to which all bundles together are one program: a few seconds.
const TOGETHER_MAX: usize = 30_000;
const MEANS_ROUNDS: usize = 12;

pub(super) fn divide(tastes: &Tastes, dishes_max: usize) -> Result<Bundles, SolveError> {
    let dishes_max = dishes_max.clamp(1, tastes.len());
    let bound = certificate::bound(tastes, std::iter::empty());
    let (directions, kind_of) = gather(tastes, dishes_max);
    let kinds = exact::divide(&tastes.merged(directions, &kind_of))?;
    let mut best = Bundles { bound, steps: kinds.steps, ..tastes.in_proportion() };
    let mut suggestions = vec![kinds.shares];
    if tastes.len() * tastes.directions.columns() <= TOGETHER_MAX {
        let found = exact::relaxed(tastes, &Rows::nearest(tastes), 1e-7)?;
        best.bound = best.bound.min(found.bound);
        best.steps += found.steps;
        suggestions.push(gathered(&found.shares, dishes_max));
    }
    for mut dishes in suggestions {
        for _ in 0..PICKS {
            let picked = Menu::chosen(&dishes, tastes).better(tastes).and_then(|menu| menu.best(tastes));
            // A menu that cannot be solved is one suggestion less: what is known stays, and its gap tells.
            let Ok(menu) = picked else { break };
            best.improve(tastes, &menu);
            dishes = menu.dishes;
        }
    }
    Ok(best)
}

/// At most so many of the bundles, the nearest taken for the same.
fn gathered(bundles: &Matrix, many: usize) -> Matrix {
    let mut tolerance = 1e-5;
    loop {
        let menu = Menu::of(bundles, tolerance);
        if menu.dishes.len() <= many {
            return menu.dishes;
        }
        tolerance *= 1.5;
    }
}

/// Kinds of taste: the direction of each, and the kind of every taste.
fn gather(tastes: &Tastes, kinds: usize) -> (Matrix, Vec<usize>) {
    let places = places(&tastes.directions);
    let mut order: Vec<usize> = (0..tastes.len()).collect();
    let compare = |a: &usize, b: &usize| {
        let cells = places.row(*a).iter().zip(places.row(*b));
        cells.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(a.cmp(b))
    };
    order.sort_by(compare);
    // Evenly along the sorted tastes: a start that depends on nothing but the tastes.
    let first = (0..kinds).map(|kind| places.row(order[kind * order.len() / kinds]).to_vec());
    let mut centres: Vec<Vec<f64>> = first.collect();
    let mut kind_of = vec![0; tastes.len()];
    for _ in 0..MEANS_ROUNDS {
        for (own, place) in kind_of.iter_mut().zip(places.rows()) {
            let away = centres.iter().map(|centre| distance(centre, place)).enumerate();
            *own = away.fold((0, f64::MAX), |best, next| if next.1 < best.1 { next } else { best }).0;
        }
        let mut sums = vec![(0.0, vec![0.0; places.columns()]); centres.len()];
        for (taste, kind) in kind_of.iter().enumerate() {
            let (weight, sum) = &mut sums[*kind];
            *weight += tastes.weights[taste];
            let place = places.row(taste).iter();
            sum.iter_mut().zip(place).for_each(|(sum, part)| *sum += part * tastes.weights[taste]);
        }
        for (centre, (weight, sum)) in centres.iter_mut().zip(&sums).filter(|(_, (weight, _))| *weight > 0.0)
        {
            centre.iter_mut().zip(sum).for_each(|(part, sum)| *part = sum / weight);
        }
    }
    let used = renumber(&mut kind_of);
    let direction = |kind: &usize| centres[*kind].iter().map(|part| part.exp()).collect();
    let rows: Vec<Vec<f64>> = used.iter().map(direction).collect();
    (Matrix::from_rows(&rows), kind_of)
}
