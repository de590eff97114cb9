//! Which of the rounds: urgent items first, without changing how many rounds anybody has.
//!
//! ```text
//! minimise sum_i (urgency_i / n_i) sum_t t y_it          whatever is done keeps every round within its GPUs
//! ```
//!
//! First everybody in the order of urgency for its GPUs takes the earliest rounds; if all fit, that is the order. A full window
//! is too tight for that: then rounds are put in order as they are, items move into GPUs that are left earlier, and items of one gang
//! size change places. Of equals, the one that already runs in the neighbouring round stays with it.

use super::packing::Packing;

/// Passes over all pairs of rounds, at most.
const PASSES: usize = 4;

/// The same counts in a better order.
pub(super) fn ordered<'a>(packing: &Packing<'a>) -> Packing<'a> {
    let tables = packing.course.tables;
    // What it costs if one round of an item comes one round later.
    let cost: Vec<f64> =
        (0..tables.items()).map(|item| tables.urgency[item] / packing.counts[item].max(1) as f64).collect();
    let mut best = earliest(packing, &cost).unwrap_or_else(|| sorted(packing, &cost));
    for _ in 0..PASSES {
        let moved = advance(&mut best, &cost);
        let swapped = exchange(&mut best, &cost);
        if !moved && !swapped {
            break;
        }
    }
    best
}

/// Everybody in turn into the earliest rounds that it fits into; `None` if somebody does not.
fn earliest<'a>(packing: &Packing<'a>, cost: &[f64]) -> Option<Packing<'a>> {
    let tables = packing.course.tables;
    let density = |item: usize| cost[item] / f64::from(tables.gangs[item]);
    let mut order: Vec<usize> = (0..tables.items()).filter(|item| packing.counts[*item] > 0).collect();
    order.sort_by(|a, b| density(*b).total_cmp(&density(*a)).then(tables.rank[*a].cmp(&tables.rank[*b])));
    let mut found = Packing::new(packing.course, packing.needed.clone());
    for item in order {
        for round in 0..tables.rounds {
            if found.counts[item] < packing.counts[item] && found.fits(item, round) {
                found.put(item, round);
            }
        }
        if found.counts[item] < packing.counts[item] {
            return None;
        }
    }
    Some(found)
}

/// The same rounds, the one with the most urgency first.
fn sorted<'a>(packing: &Packing<'a>, cost: &[f64]) -> Packing<'a> {
    let tables = packing.course.tables;
    let mut weights = vec![0.0; tables.rounds];
    for (item, cost) in cost.iter().enumerate() {
        for (round, weight) in weights.iter_mut().enumerate() {
            if packing.is_on(item, round) {
                *weight += cost;
            }
        }
    }
    let mut order: Vec<usize> = (0..tables.rounds).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    let mut found = Packing::new(packing.course, packing.needed.clone());
    for item in 0..tables.items() {
        for (to, from) in order.iter().enumerate() {
            if packing.is_on(item, *from) {
                found.put(item, to);
            }
        }
    }
    found
}

/// Moves items from late rounds into GPUs that are left in early ones.
fn advance(packing: &mut Packing<'_>, cost: &[f64]) -> bool {
    let tables = packing.course.tables;
    let mut order: Vec<usize> = (0..tables.items()).filter(|item| packing.counts[*item] > 0).collect();
    order.sort_by(|a, b| cost[*b].total_cmp(&cost[*a]).then(tables.rank[*a].cmp(&tables.rank[*b])));
    let mut moved = false;
    for item in order {
        for to in 0..tables.rounds {
            if cost[item] > 0.0 && packing.fits(item, to) {
                let Some(from) = (to + 1..tables.rounds).rfind(|round| packing.is_on(item, *round)) else {
                    break;
                };
                packing.take(item, from);
                packing.put(item, to);
                moved = true;
            }
        }
    }
    moved
}

/// Lets items of one gang size and model change places where the more urgent comes later.
fn exchange(packing: &mut Packing<'_>, cost: &[f64]) -> bool {
    let tables = packing.course.tables;
    let mut kinds: Vec<(usize, u32)> =
        (0..tables.items()).map(|item| (packing.course.model[item], tables.gangs[item])).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); kinds.len()];
    for item in (0..tables.items()).filter(|item| packing.counts[*item] > 0) {
        let kind = (packing.course.model[item], tables.gangs[item]);
        groups[kinds.partition_point(|other| *other < kind)].push(item);
    }
    let mut swapped = false;
    for group in &mut groups {
        // The least urgent first: they are the ones to step back.
        group.sort_by(|a, b| cost[*a].total_cmp(&cost[*b]).then(tables.rank[*b].cmp(&tables.rank[*a])));
        for early in 0..tables.rounds {
            for late in early + 1..tables.rounds {
                swapped |= exchange_between(packing, group, cost, early, late);
            }
        }
    }
    swapped
}

fn exchange_between(
    packing: &mut Packing<'_>,
    group: &[usize],
    cost: &[f64],
    early: usize,
    late: usize,
) -> bool {
    let (mut low, mut high) = (0, group.len());
    let mut swapped = false;
    let only = |packing: &Packing<'_>, item: usize, here: usize, not: usize| {
        packing.is_on(item, here) && !packing.is_on(item, not)
    };
    loop {
        while low < high && !only(packing, group[low], early, late) {
            low += 1;
        }
        while low < high && !only(packing, group[high - 1], late, early) {
            high -= 1;
        }
        if low >= high {
            return swapped;
        }
        let (back, forth) = (group[low], group[high - 1]);
        let better = cost[forth] > cost[back];
        let equal = cost[forth] >= cost[back];
        let joined = equal && joins(packing, back, forth, early, late);
        if !better && !joined {
            return swapped;
        }
        packing.take(back, early);
        packing.take(forth, late);
        packing.put(back, late);
        packing.put(forth, early);
        // A change among equals is no progress, else passes would go on for nothing.
        swapped |= better;
        low += 1;
        high -= 1;
    }
}

/// Whether a change of places leaves fewer starts.
fn joins(packing: &Packing<'_>, back: usize, forth: usize, early: usize, late: usize) -> bool {
    let beside = |item: usize, round: usize, not: usize| {
        let runs = |other: usize| other != not && packing.is_on(item, other);
        usize::from(round > 0 && runs(round - 1))
            + usize::from(round + 1 < packing.course.tables.rounds && runs(round + 1))
    };
    beside(back, late, early) + beside(forth, early, late)
        > beside(back, early, late) + beside(forth, late, early)
}
