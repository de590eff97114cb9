//! Choices that fit and bounds on all others, where the best cannot be waited for.
//!
//! The problem without a bidder begins with what the others have in the choice with everybody, so nobody is paid to bid, and is
//! bounded by the same prices. Should its choice be better than the one with everybody, that one was not the best: it is
//! replaced, and the payments are found again.

use super::choice::{Choice, Priced};
use super::exchange;
use super::prices::Prices;
use super::tables::Tables;
use std::collections::BTreeMap;

/// Sets of changes tried for the choice with everybody, and for each one without a bidder.
const STEPS: usize = 2_000_000;
const STEPS_WITHOUT: usize = 100_000;

/// How often a better choice is taken over from a problem without a bidder.
const REPLACED_MAX: usize = 8;

/// A choice, its bound, and for each bidder what the others could gain without it: found, and at most.
pub(super) struct Bounded {
    pub chosen: Vec<usize>,
    pub value: f64,
    pub bound: f64,
    pub without: Vec<(f64, f64)>,
}

/// The choice with everybody.
pub(super) fn choose(tables: &Tables) -> Bounded {
    let prices = Prices::of(tables);
    let choice = best(&Priced::of(tables, &prices), &prices);
    finish(choice, Vec::new())
}

/// The choice with everybody and those without each winner.
pub(super) fn solve(tables: &Tables) -> Bounded {
    let prices = Prices::of(tables);
    let priced = Priced::of(tables, &prices);
    let mut choice = best(&priced, &prices);
    for _ in 0..REPLACED_MAX {
        match without(&priced, &choice) {
            Ok(without) => return finish(choice, without),
            Err(better) => choice = Choice { bound: choice.bound, gone: None, ..better },
        }
        exchange::improve(&priced, &mut choice, STEPS);
    }
    // Nobody may lose more than what it won was worth to it, so what is better still is not counted.
    let found = (0..tables.bidders()).map(|bidder| {
        let alone = alone(&priced, &choice, bidder);
        (alone.value.min(choice.value), alone.bound)
    });
    let without = found.collect();
    finish(choice, without)
}

fn best(priced: &Priced<'_>, prices: &Prices) -> Choice {
    let mut choice = priced.first(prices.bound);
    exchange::improve(priced, &mut choice, STEPS);
    choice
}

fn finish(choice: Choice, without: Vec<(f64, f64)>) -> Bounded {
    Bounded { bound: choice.bound.max(choice.value), value: choice.value, chosen: choice.rows, without }
}

/// What the others gain without each bidder, or a choice that is better for everybody together.
///
/// Bidders with the same table that win the same row leave the same problem behind, and keep the same.
fn without(priced: &Priced<'_>, choice: &Choice) -> Result<Vec<(f64, f64)>, Choice> {
    let tables = priced.tables;
    let mut known: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
    let mut found = Vec::with_capacity(tables.bidders());
    for (bidder, class) in tables.classes().into_iter().enumerate() {
        let won = choice.rows[bidder] - tables.nothing(bidder);
        if won == 0 {
            found.push((choice.value, choice.value));
            continue;
        }
        if let Some(same) = known.get(&(class, won)) {
            found.push(*same);
            continue;
        }
        let alone = alone(priced, choice, bidder);
        if alone.value > choice.value + super::EXACT {
            return Err(alone);
        }
        known.insert((class, won), (alone.value, alone.bound));
        found.push((alone.value, alone.bound));
    }
    Ok(found)
}

/// The others' choice without a bidder.
fn alone(priced: &Priced<'_>, choice: &Choice, bidder: usize) -> Choice {
    let bound = choice.bound - priced.best[bidder];
    let mut others = Choice { bound, gone: Some(bidder), ..choice.clone() };
    others.take(priced.tables, bidder, priced.tables.nothing(bidder));
    exchange::improve(priced, &mut others, STEPS_WITHOUT);
    others
}
