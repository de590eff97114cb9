//! A window of rounds: how many of them everybody runs, and which.
//!
//! ```text
//! maximise   sum_i G_i(n_i) - mu max_i max(0, R_i - P_i(n_i))          G_i concave, P_i the work of n_i rounds
//! subject to n_i = sum_t y_it ,  sum_i g_i y_it <= M in every round t ,  y in {0, 1}
//! ```
//!
//! This is the planner of Shockwave (NSDI 2023) without its mixed-integer program. Rounds are alike, so only counts matter to the objective; but
//! GPU-rounds that add up need not fit (on 4 GPUs and 2 rounds, once 4 GPUs and twice 2 do not), so whoever counts must pack.
//!
//! Given z, the largest remaining time that is left, everybody has a least count, and the rest is a knapsack with concave gains. Prices
//! bound every z at once (`bound.rs`); from the most promising z on, what is worth its price is packed, large gangs first, and
//! the rest filled and repaired (`fill.rs`, `swap.rs`) until no other z can be better by much. Small windows are searched exactly
//! (`exact.rs`). Why not an integer program: it takes seconds where this takes milliseconds, and its gap is no smaller.

mod bound;
mod exact;
mod fill;
mod order;
mod packing;
mod program;
mod swap;
mod tables;

pub use program::{Window, WindowError, WindowItem, WindowPlan};

use bound::Levels;
use exact::{Exact, Turns};
use packing::Packing;
use tables::{Course, Tables};

/// How many remaining times are packed for, at most.
const LEVELS: usize = 8;
/// A plan that misses its bound by less than this part of what can be gained is good enough to look no further.
const ENOUGH: f64 = 1e-7;

/// Plans a window. `tie` decides among equals: the same window and the same `tie` have the same plan.
pub fn plan_window(window: &Window, tie: u64) -> Result<WindowPlan, WindowError> {
    window.check()?;
    let tables = Tables::of(window, tie);
    if tables.items() == 0 || tables.rounds == 0 || tables.models() == 0 {
        return Ok(nothing(&tables));
    }
    Ok(one_model(&tables))
}

fn one_model(tables: &Tables) -> WindowPlan {
    let course = Course::new(tables, vec![0; tables.items()]);
    let levels = Levels::bounded(&course);
    let bound = levels.bound();
    let mut lefts: Vec<(f64, f64, f64)> =
        levels.levels.iter().map(|level| (level.left, level.bound, level.price)).collect();
    lefts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let enough = bound - ENOUGH * (bound - tables.empty());
    let mut best = Packing::new(&course, vec![0; tables.items()]);
    let mut value = tables.empty();
    for (left, most, price) in lefts.iter().take(LEVELS) {
        if *most <= value || value >= enough {
            break;
        }
        let Some(packing) = fill::pack(&course, *left, &[*price]) else { continue };
        if packing.value() > value {
            value = packing.value();
            best = packing;
        }
    }
    let prices = [lefts.first().map_or(0.0, |(_, _, price)| *price)];
    let surplus: Vec<f64> = (0..tables.items())
        .map(|item| {
            let rounds = course.wanted(item, prices[0]);
            let cost = prices[0] * f64::from(tables.gangs[item]);
            course.steps(item)[..rounds].iter().map(|gain| gain - cost).sum()
        })
        .collect();
    let mut bound = bound.max(value);
    if value < bound
        && let Some(mut exact) = Exact::new(tables, &prices, &surplus)
    {
        let lefts: Vec<(f64, f64)> = lefts.iter().map(|(left, most, _)| (*left, *most)).collect();
        if let Ok(found) = exact.search(&lefts, value) {
            if let Some((_, turns)) = found {
                best = packed(&course, &turns);
                value = best.value();
            }
            bound = value;
        }
    }
    finished(&order::ordered(&best), value, bound)
}

/// A schedule as packing.
fn packed<'a>(course: &'a Course<'a>, turns: &Turns) -> Packing<'a> {
    let mut packing = Packing::new(course, vec![0; turns.len()]);
    for (item, turns) in turns.iter().enumerate() {
        for (round, _) in turns.iter().enumerate().filter(|(_, turn)| turn.is_some()) {
            packing.put(item, round);
        }
    }
    packing
}

fn finished(packing: &Packing<'_>, value: f64, bound: f64) -> WindowPlan {
    let tables = packing.course.tables;
    let on = |round: usize| (0..tables.items()).filter(|item| packing.is_on(*item, round)).collect();
    let rounds: Vec<Vec<usize>> = (0..tables.rounds).map(on).collect();
    let model = |items: &Vec<usize>| items.iter().map(|item| packing.course.model[*item]).collect();
    WindowPlan {
        counts: packing.counts.clone(),
        models: rounds.iter().map(model).collect(),
        rounds,
        value,
        bound,
        empty: tables.empty(),
    }
}

fn nothing(tables: &Tables) -> WindowPlan {
    let value = tables.empty();
    WindowPlan {
        counts: vec![0; tables.items()],
        rounds: vec![Vec::new(); tables.rounds],
        models: vec![Vec::new(); tables.rounds],
        value,
        bound: value,
        empty: value,
    }
}

#[cfg(test)]
mod tests;
