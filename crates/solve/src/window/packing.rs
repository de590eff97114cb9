//! Who runs in which round, and how many GPUs each round has left.

use super::tables::Course;

/// A schedule that can be carried out, at any time.
#[derive(Clone)]
pub(super) struct Packing<'a> {
    pub course: &'a Course<'a>,
    /// Rounds that an item may not fall below.
    pub needed: Vec<usize>,
    pub counts: Vec<usize>,
    /// By model and round.
    free: Vec<u32>,
    /// By item and round.
    on: Vec<bool>,
}

impl<'a> Packing<'a> {
    /// Nobody runs.
    pub fn new(course: &'a Course<'a>, needed: Vec<usize>) -> Self {
        let tables = course.tables;
        let rounds = tables.rounds;
        Self {
            course,
            needed,
            counts: vec![0; tables.items()],
            free: tables.capacity.iter().flat_map(|gpus| std::iter::repeat_n(*gpus, rounds)).collect(),
            on: vec![false; tables.items() * rounds],
        }
    }

    /// GPUs that are left in each round, on the model of an item.
    pub fn free(&self, item: usize) -> &[u32] {
        self.free_of(self.course.model[item])
    }

    /// GPUs that are left in each round.
    pub fn free_of(&self, model: usize) -> &[u32] {
        &self.free[model * self.course.tables.rounds..][..self.course.tables.rounds]
    }

    pub fn is_on(&self, item: usize, round: usize) -> bool {
        self.on[item * self.course.tables.rounds + round]
    }

    /// Whether the item could run in one more round, this one.
    pub fn fits(&self, item: usize, round: usize) -> bool {
        !self.is_on(item, round) && self.free(item)[round] >= self.course.tables.gangs[item]
    }

    /// The round in which the item fits with the fewest GPUs left, the earliest of equals.
    pub fn tightest(&self, item: usize) -> Option<usize> {
        let (gang, rounds) = (self.course.tables.gangs[item], self.course.tables.rounds);
        let on = &self.on[item * rounds..][..rounds];
        // Most windows are filled by this: one pass over two rows, and no further than a perfect fit.
        let (mut best, mut least) = (None, u32::MAX);
        for (round, (free, on)) in self.free(item).iter().zip(on).enumerate() {
            if !on && *free >= gang && *free < least {
                (best, least) = (Some(round), *free);
                if least == gang {
                    break;
                }
            }
        }
        best
    }

    pub fn put(&mut self, item: usize, round: usize) {
        debug_assert!(self.fits(item, round), "item {item} does not fit into round {round}");
        let rounds = self.course.tables.rounds;
        self.free[self.course.model[item] * rounds + round] -= self.course.tables.gangs[item];
        self.on[item * rounds + round] = true;
        self.counts[item] += 1;
    }

    pub fn take(&mut self, item: usize, round: usize) {
        debug_assert!(self.is_on(item, round), "item {item} does not run in round {round}");
        let rounds = self.course.tables.rounds;
        self.free[self.course.model[item] * rounds + round] += self.course.tables.gangs[item];
        self.on[item * rounds + round] = false;
        self.counts[item] -= 1;
    }

    /// Puts an item into up to so many more rounds, those with the most GPUs left.
    pub fn spread(&mut self, item: usize, rounds: usize, order: &mut Vec<usize>) {
        order.clear();
        order.extend((0..self.course.tables.rounds).filter(|round| self.fits(item, *round)));
        let free = self.free(item);
        order.sort_by(|a, b| free[*b].cmp(&free[*a]).then(a.cmp(b)));
        for round in order.iter().take(rounds) {
            self.put(item, *round);
        }
    }

    /// Those who run in a round on a model.
    pub fn running(&self, round: usize, model: usize) -> impl Iterator<Item = usize> {
        let on = move |item: &usize| self.is_on(*item, round) && self.course.model[*item] == model;
        (0..self.counts.len()).filter(on)
    }

    /// What one more round would add; nothing for an item that runs in all of them.
    pub fn next_gain(&self, item: usize) -> f64 {
        self.course.steps(item).get(self.counts[item]).copied().unwrap_or(0.0)
    }

    /// What one round less would lose; without end for an item that needs it.
    pub fn last_gain(&self, item: usize) -> f64 {
        let rounds = self.counts[item];
        if rounds > self.needed[item] { self.course.steps(item)[rounds - 1] } else { f64::INFINITY }
    }

    /// Whether everybody has the rounds it needs.
    pub fn is_enough(&self) -> bool {
        self.counts.iter().zip(&self.needed).all(|(count, needed)| count >= needed)
    }

    /// What was to be maximised.
    pub fn value(&self) -> f64 {
        let (mut gain, mut left) = (0.0, 0.0);
        for (item, count) in self.counts.iter().enumerate() {
            gain += self.course.steps(item)[..*count].iter().sum::<f64>();
            left = f64::max(left, self.course.left(item)[*count]);
        }
        gain - self.course.tables.cost * left
    }
}
