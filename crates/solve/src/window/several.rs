//! Plans on several GPU models: everybody on the model that suits it, for the most promising remaining times; small windows exactly.

use super::exact::{Exact, Found, Turns};
use super::packing::Packing;
use super::tables::{Course, Tables};
use super::{LEVELS, WindowPlan, finished, mixed, order, told};

pub(super) fn models(tables: &Tables) -> WindowPlan {
    let priced = mixed::priced(tables);
    let mut lefts = vec![priced.left];
    if tables.cost > 0.0 {
        lefts.extend(nearby(tables, &priced));
    }
    let courses: Vec<(f64, Course<'_>)> = lefts
        .iter()
        .map(|left| (*left, Course::new(tables, mixed::suited(tables, &priced.prices, *left))))
        .collect();
    let mut best: Option<(f64, Packing<'_>)> = None;
    for (left, course) in &courses {
        let Some(packing) = mixed::pack(course, *left, &priced.prices) else { continue };
        let value = packing.value();
        if best.as_ref().is_none_or(|best| value > best.0) {
            best = Some((value, packing));
        }
    }
    let (value, packing) = best.unwrap_or_else(|| {
        let course = &courses[0].1;
        (tables.empty(), Packing::new(course, vec![0; tables.items()]))
    });
    let bound = priced.bound.max(value);
    let scarce = mixed::scarce(tables, &priced);
    match exactly(tables, &priced.prices, value) {
        Found::Better(better, turns) => {
            WindowPlan { value: better, bound: better, prices: scarce, ..by_urgency(tables, &turns) }
        }
        Found::NothingBetter => finished(&order::ordered(&packing), value, value, scarce),
        Found::GivenUp => finished(&order::ordered(&packing), value, bound, scarce),
    }
}

/// Remaining times that somebody would leave on the model that suits it, next to the most promising one.
fn nearby(tables: &Tables, priced: &mixed::Priced) -> Vec<f64> {
    let course = Course::new(tables, mixed::suited(tables, &priced.prices, priced.left));
    let mut lefts: Vec<f64> = (0..tables.items()).flat_map(|item| course.left(item).to_vec()).collect();
    lefts.sort_by(f64::total_cmp);
    lefts.dedup();
    let at = lefts.partition_point(|left| *left < priced.left);
    let last = lefts.last().copied();
    lefts.drain(..at);
    lefts.truncate(LEVELS - 1);
    lefts.extend(last);
    lefts
}

/// The best plan of a small window, if it is better than what is known.
fn exactly(tables: &Tables, prices: &[f64], known: f64) -> Found {
    let mut used = vec![0.0; prices.len()];
    let surplus: Vec<f64> =
        (0..tables.items()).map(|item| mixed::surplus(tables, prices, item, 0.0, &mut used)).collect();
    let Some(mut exact) = Exact::new(tables, prices, &surplus) else { return Found::GivenUp };
    let mut lefts: Vec<(f64, f64)> =
        works(tables).into_iter().map(|left| (left, mixed::dual(tables, prices, left, &mut used))).collect();
    lefts.sort_by(|a, b| b.1.total_cmp(&a.1));
    exact.search(&lefts, known)
}

/// Everything that somebody may leave.
fn works(tables: &Tables) -> Vec<f64> {
    let most = (0..tables.items()).map(|item| tables.left(item, 0.0)).fold(0.0, f64::max);
    let mut lefts = vec![most];
    for item in (0..tables.items()).filter(|_| tables.cost > 0.0) {
        let mut works = vec![0.0];
        for _ in 0..tables.rounds {
            let more = works
                .iter()
                .flat_map(|work| (0..tables.models()).map(move |model| work + tables.rate(item, model)));
            let mut more: Vec<f64> = more.collect();
            works.append(&mut more);
            works.sort_by(f64::total_cmp);
            works.dedup();
        }
        lefts.extend(works.into_iter().map(|work| tables.left(item, work)));
    }
    lefts.sort_by(f64::total_cmp);
    lefts.dedup();
    lefts
}

/// The same rounds, the one with the most urgency first: with models mixed, nothing else is as easily moved.
fn by_urgency(tables: &Tables, turns: &Turns) -> WindowPlan {
    let mut weights = vec![0.0; tables.rounds];
    for (urgency, turns) in tables.urgency.iter().zip(turns) {
        let count = turns.iter().flatten().count().max(1) as f64;
        for (weight, _) in weights.iter_mut().zip(turns).filter(|(_, turn)| turn.is_some()) {
            *weight += urgency / count;
        }
    }
    let mut order: Vec<usize> = (0..tables.rounds).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    told(tables, |item, round| turns[item][order[round]])
}
