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
mod mixed;
mod order;
mod packing;
mod program;
mod published;
mod several;
mod swap;
mod tables;

pub use program::{Window, WindowError, WindowItem, WindowPlan};
pub use published::{PublishedJob, published_utility};

use bound::Levels;
use exact::{Exact, Found, Turns};
use packing::Packing;
use tables::{Course, Tables};

/// How many remaining times are packed for, at most: few among many items, since then the first is as good as the bound.
const LEVELS: usize = 8;
const LEVELS_SMALL: usize = 400;
/// Items packed in all, beyond that, in windows of up to so many rounds; the cost of packing grows with the square of longer ones.
const PACKED: usize = 20_000;
const PACKED_ROUNDS: usize = 60;
/// A plan that misses its bound by more than this part is packed for again without prices, by gains alone.
const POOR: f64 = 1e-4;
/// A plan that misses its bound by less than this part of what can be gained is good enough to look no further.
const ENOUGH: f64 = 1e-7;

/// Plans a window. `tie` decides among equals: the same window and the same `tie` have the same plan.
pub fn plan_window(window: &Window, tie: u64) -> Result<WindowPlan, WindowError> {
    window.check()?;
    let tables = Tables::of(window, tie);
    if tables.items() == 0 || tables.rounds == 0 || tables.models() == 0 {
        return Ok(nothing(&tables));
    }
    Ok(if tables.models() == 1 { one_model(&tables) } else { several::models(&tables) })
}

fn one_model(tables: &Tables) -> WindowPlan {
    let course = Course::new(tables, vec![0; tables.items()]);
    let levels = Levels::bounded(&course);
    let bound = levels.bound();
    let mut lefts: Vec<(f64, f64, f64)> =
        levels.all.iter().map(|level| (level.left, level.bound, level.price)).collect();
    lefts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let enough = bound - ENOUGH * (bound - tables.empty());
    let mut best = Packing::new(&course, vec![0; tables.items()]);
    let mut value = tables.empty();
    let longer = tables.rounds.div_ceil(PACKED_ROUNDS);
    let tries = (PACKED / (tables.items() * longer * longer)).clamp(LEVELS, LEVELS_SMALL);
    let poor = bound - POOR * (bound - tables.empty());
    for (left, most, price) in lefts.iter().take(tries) {
        for price in [*price, f64::INFINITY] {
            if *most <= value || value >= if price.is_finite() { enough } else { poor } {
                break;
            }
            let Some(packing) = fill::pack(&course, *left, &[price]) else { break };
            if packing.value() > value {
                value = packing.value();
                best = packing;
            }
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
        match exact.search(&lefts, value) {
            Found::GivenUp => {}
            Found::NothingBetter => bound = value,
            Found::Better(_, turns) => {
                best = packed(&course, &turns);
                value = best.value();
                bound = value;
            }
        }
    }
    finished(&order::ordered(&best), value, bound, prices.to_vec())
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

fn finished(packing: &Packing<'_>, value: f64, bound: f64, prices: Vec<f64>) -> WindowPlan {
    let tables = packing.course.tables;
    let turn = |item: usize, round: usize| packing.is_on(item, round).then(|| packing.course.model[item]);
    WindowPlan { value, bound, prices, ..told(tables, turn) }
}

/// The plan in which an item runs in a round on a model, or does not.
fn told(tables: &Tables, turn: impl Fn(usize, usize) -> Option<usize>) -> WindowPlan {
    let mut plan = nothing(tables);
    for item in 0..tables.items() {
        for round in 0..tables.rounds {
            if let Some(model) = turn(item, round) {
                plan.counts[item] += 1;
                plan.rounds[round].push(item);
                plan.models[round].push(model);
            }
        }
    }
    plan
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
        prices: vec![0.0; tables.models()],
    }
}

#[cfg(test)]
mod tests;
