//! Repair: where a round has GPUs left, somebody steps back for somebody larger, or for two.
//!
//! ```text
//! in round t with f GPUs left:   a out, b (and c) in,   g_b + g_c <= g_a + f ,   gain_b + gain_c > loss_a
//! ```
//!
//! Only the best of each gang size need be looked at, so a round costs its items times the pairs of sizes.

use super::packing::Packing;
use std::collections::{BTreeMap, BTreeSet};

/// Improvements below this part of the best gain are rounding.
const SOME: f64 = 1e-12;
/// Improvements per round, at most, and passes over all rounds.
const TURNS: usize = 100;
const PASSES: usize = 4;

/// Who might run more: per gang size, whoever gains most last.
struct Waiting {
    sizes: BTreeMap<u32, BTreeSet<Key>>,
    model: usize,
}

/// In the order of gains, then of ranks; gains are not negative, so their bits are in their order.
type Key = (u64, std::cmp::Reverse<u32>, usize);

/// Whoever might come in, as one move: the GPUs that it takes, and what is gained.
#[derive(Clone, Copy)]
struct Entry {
    gpus: u32,
    gain: f64,
    items: [Option<usize>; 2],
}

impl Waiting {
    fn new(packing: &Packing<'_>, model: usize) -> Self {
        let mut waiting = Self { sizes: BTreeMap::new(), model };
        for item in 0..packing.counts.len() {
            waiting.insert(packing, item);
        }
        waiting
    }

    fn key(packing: &Packing<'_>, item: usize) -> Key {
        (packing.next_gain(item).to_bits(), std::cmp::Reverse(packing.course.tables.rank[item]), item)
    }

    fn insert(&mut self, packing: &Packing<'_>, item: usize) {
        if packing.course.model[item] == self.model && packing.course.runs(item) {
            let size = self.sizes.entry(packing.course.tables.gangs[item]).or_default();
            size.insert(Self::key(packing, item));
        }
    }

    fn remove(&mut self, packing: &Packing<'_>, item: usize) {
        if let Some(size) = self.sizes.get_mut(&packing.course.tables.gangs[item]) {
            size.remove(&Self::key(packing, item));
        }
    }

    /// The best one or two to come into a round, for every number of GPUs that this takes, by rising number.
    fn entries(&self, packing: &Packing<'_>, round: usize, largest: u32) -> Vec<Entry> {
        let mut singles = Vec::new();
        let mut pairs = Vec::new();
        for (gang, size) in self.sizes.range(..=largest) {
            let absent = size.iter().rev().filter(|key| !packing.is_on(key.2, round));
            let best: Vec<(f64, usize)> = absent
                .take(2)
                .map(|key| (f64::from_bits(key.0), key.2))
                .filter(|(gain, _)| *gain > 0.0)
                .collect();
            if let [(a, first), (b, second)] = best[..] {
                pairs.push(Entry { gpus: 2 * gang, gain: a + b, items: [Some(first), Some(second)] });
            }
            let Some((gain, item)) = best.first() else { continue };
            for other in &singles {
                let Entry { gpus, gain: more, items }: &Entry = other;
                pairs.push(Entry { gpus: gpus + gang, gain: gain + more, items: [Some(*item), items[0]] });
            }
            singles.push(Entry { gpus: *gang, gain: *gain, items: [Some(*item), None] });
        }
        singles.extend(pairs.into_iter().filter(|pair| pair.gpus <= largest));
        singles.sort_by(|a, b| a.gpus.cmp(&b.gpus).then(b.gain.total_cmp(&a.gain)));
        let mut best = f64::NEG_INFINITY;
        singles.retain(|entry| {
            let better = entry.gain > best;
            best = best.max(entry.gain);
            better
        });
        singles
    }
}

/// Improves rounds until none can be, a few times over.
pub(super) fn improve(packing: &mut Packing<'_>) {
    for model in 0..packing.course.tables.models() {
        let mut waiting = Waiting::new(packing, model);
        for _ in 0..PASSES {
            let mut improved = false;
            for round in 0..packing.course.tables.rounds {
                for _ in 0..TURNS {
                    if packing.free_of(model)[round] == 0 || !improve_round(packing, &mut waiting, round) {
                        break;
                    }
                    improved = true;
                }
            }
            if !improved {
                break;
            }
        }
    }
}

/// The best exchange in a round, if there is one.
fn improve_round(packing: &mut Packing<'_>, waiting: &mut Waiting, round: usize) -> bool {
    let free = packing.free_of(waiting.model)[round];
    let gangs = &packing.course.tables.gangs;
    let leaving: Vec<usize> = packing.running(round, waiting.model).collect();
    let largest = leaving.iter().map(|item| gangs[*item]).max().unwrap_or(0);
    let entries = waiting.entries(packing, round, free + largest);
    let best_within = |gpus: u32| {
        let fitting = entries.partition_point(|entry| entry.gpus <= gpus);
        fitting.checked_sub(1).map(|at| entries[at])
    };
    let mut best: Option<(f64, Option<usize>, Entry)> =
        best_within(free).map(|entry| (entry.gain, None, entry));
    for item in leaving {
        let Some(entry) = best_within(free + gangs[item]) else { continue };
        let change = entry.gain - packing.last_gain(item);
        if best.is_none_or(|best| change > best.0) {
            best = Some((change, Some(item), entry));
        }
    }
    let Some((_, out, entry)) = best.filter(|(change, _, entry)| *change > SOME * entry.gain) else {
        return false;
    };
    if let Some(item) = out {
        waiting.remove(packing, item);
        packing.take(item, round);
        waiting.insert(packing, item);
    }
    for item in entry.items.into_iter().flatten() {
        waiting.remove(packing, item);
        packing.put(item, round);
        waiting.insert(packing, item);
    }
    true
}
