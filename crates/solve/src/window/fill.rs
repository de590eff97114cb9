//! A schedule that leaves no more than a given remaining time: what is needed and what is worth its price, then the best of the rest.

use super::packing::Packing;
use super::swap;
use super::tables::Course;
use std::collections::BinaryHeap;

/// Packs for a largest remaining time, given the prices of each model at which GPUs are about to run out; `None` if what is needed does not fit.
pub(super) fn pack<'a>(course: &'a Course<'a>, left_max: f64, prices: &[f64]) -> Option<Packing<'a>> {
    let items = course.tables.items();
    let needed: Vec<usize> = (0..items).map(|item| course.needed(item, left_max)).collect();
    let wanted: Vec<usize> =
        (0..items).map(|item| course.wanted(item, prices[course.model[item]]).max(needed[item])).collect();
    let mut packing = Packing::new(course, needed.clone());
    put(&mut packing, &wanted);
    if !packing.is_enough() {
        // Large gangs that are merely worth it were in the way of small ones that have to run.
        packing = Packing::new(course, needed.clone());
        put(&mut packing, &needed);
        if !packing.is_enough() {
            return None;
        }
        put(&mut packing, &wanted);
    }
    fill(&mut packing);
    swap::improve(&mut packing);
    Some(packing)
}

/// Large gangs first, and of those the ones with most rounds, each into the emptiest rounds.
fn put(packing: &mut Packing<'_>, counts: &[usize]) {
    let tables = packing.course.tables;
    let mut order: Vec<usize> = (0..tables.items()).filter(|item| packing.course.runs(*item)).collect();
    order.sort_by_key(|item| {
        let all = counts[*item] == tables.rounds;
        (!all, std::cmp::Reverse((tables.gangs[*item], counts[*item])), tables.rank[*item])
    });
    let mut rounds = Vec::with_capacity(tables.rounds);
    for item in order {
        if counts[item] > packing.counts[item] {
            packing.spread(item, counts[item] - packing.counts[item], &mut rounds);
        }
    }
}

/// Round by round to whoever gains most for its GPUs, where it fits most tightly.
pub(super) fn fill(packing: &mut Packing<'_>) {
    let tables = packing.course.tables;
    // Gains are not negative, so their bits are in their order.
    let key = |packing: &Packing<'_>, item: usize| {
        let gain = packing.next_gain(item);
        let density = (gain / f64::from(tables.gangs[item])).to_bits();
        (gain > 0.0).then_some((density, std::cmp::Reverse(tables.rank[item]), item))
    };
    let mut heap: BinaryHeap<_> = (0..tables.items()).filter_map(|item| key(packing, item)).collect();
    while let Some((_, _, item)) = heap.pop() {
        let Some(round) = packing.tightest(item) else { continue };
        packing.put(item, round);
        heap.extend(key(packing, item));
    }
}
