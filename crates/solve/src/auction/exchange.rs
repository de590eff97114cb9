//! Changes of a few rows at once that make a choice better.
//!
//! Changes are tried by falling priced gain. Whatever they free or use, together they gain at most their priced gains plus
//! the price of the capacity that is left, so most sets are given up before they are looked at.

use super::choice::{Choice, NO_GAIN, Priced};

/// How many rows are changed at once at most.
const TOGETHER_MAX: usize = 4;

/// A row that a bidder could have instead of its own.
struct Change {
    bidder: usize,
    row: usize,
    /// What it gains, and what it gains once the units that it uses more are paid for.
    gain: f64,
    priced: f64,
    /// The units of each capacity that it uses more.
    more: Vec<i64>,
}

struct Search {
    /// By falling priced gain.
    changes: Vec<Change>,
    /// The price of what is left.
    left_price: f64,
    /// How many rows are changed at once.
    together: usize,
    steps: usize,
    tried: Vec<usize>,
    best: (f64, Vec<usize>),
}

/// Makes a choice better until no exchange helps, or so many sets of changes were tried.
pub(super) fn improve(priced: &Priced<'_>, choice: &mut Choice, steps: usize) {
    let mut steps = steps;
    loop {
        priced.fill(choice);
        choice.settle(priced.tables);
        let mut search = Search::new(priced, choice, steps);
        let found = search.run(&choice.left);
        steps = search.steps;
        if found.is_empty() {
            return;
        }
        for (bidder, row) in found {
            choice.take(priced.tables, bidder, row);
        }
    }
}

impl Search {
    fn new(priced: &Priced<'_>, choice: &Choice, steps: usize) -> Self {
        let left_price =
            choice.left.iter().zip(priced.prices).map(|(left, price)| *left as f64 * price).sum();
        let best = (NO_GAIN, Vec::new());
        Self { changes: changes(priced, choice), left_price, together: 0, steps, tried: Vec::new(), best }
    }

    /// The best exchange, of as few rows as will do.
    fn run(&mut self, left: &[i64]) -> Vec<(usize, usize)> {
        let mut left = left.to_vec();
        for together in 2..=TOGETHER_MAX {
            self.together = together;
            self.deepen(0, 0.0, 0.0, &mut left);
            if !self.best.1.is_empty() {
                break;
            }
        }
        self.best.1.iter().map(|at| (self.changes[*at].bidder, self.changes[*at].row)).collect()
    }

    /// Tries all sets that hold the changes tried so far and some of those from `from` on.
    fn deepen(&mut self, from: usize, gain: f64, priced: f64, left: &mut [i64]) {
        let further = (self.together - self.tried.len()) as f64;
        for at in from..self.changes.len() {
            let change = &self.changes[at];
            // Whatever comes later gains no more.
            let most = priced + (change.priced * further).max(change.priced) + self.left_price;
            if most <= self.best.0 || self.steps == 0 {
                return;
            }
            if self.tried.iter().any(|tried| self.changes[*tried].bidder == change.bidder) {
                continue;
            }
            self.steps -= 1;
            let (gain, priced) = (gain + change.gain, priced + change.priced);
            left.iter_mut().zip(&change.more).for_each(|(left, more)| *left -= more);
            self.tried.push(at);
            if gain > self.best.0 && left.iter().all(|left| *left >= 0) {
                self.best = (gain, self.tried.clone());
            }
            if self.tried.len() < self.together {
                self.deepen(at + 1, gain, priced, left);
            }
            self.tried.pop();
            left.iter_mut().zip(&self.changes[at].more).for_each(|(left, more)| *left += more);
        }
    }
}

/// The changes that an improvement can be made of, by falling priced gain.
fn changes(priced: &Priced<'_>, choice: &Choice) -> Vec<Change> {
    let (tables, regrets) = (priced.tables, &priced.regrets);
    let loss = choice.bound - choice.value;
    let possible = priced.by_regret.iter().take_while(|(row, _)| regrets[*row] < loss);
    let change = |(row, bidder): &(usize, usize)| {
        let old = choice.rows[*bidder];
        let uses = tables.uses(*row).iter().zip(tables.uses(old));
        Change {
            bidder: *bidder,
            row: *row,
            gain: tables.gains[*row] - tables.gains[old],
            priced: regrets[old] - regrets[*row],
            more: uses.map(|(new, old)| i64::from(*new) - i64::from(*old)).collect(),
        }
    };
    let own = |(row, bidder): &&(usize, usize)| choice.rows[*bidder] != *row && choice.gone != Some(*bidder);
    let mut changes: Vec<Change> = possible.filter(own).map(change).collect();
    // Of changes that use the same, no set needs another than the best few: it holds no more than that.
    changes.sort_by(|a, b| a.more.cmp(&b.more).then(b.priced.total_cmp(&a.priced)));
    let mut alike = 0;
    let mut last: Vec<i64> = Vec::new();
    changes.retain(|change| {
        alike = if change.more == last { alike + 1 } else { 1 };
        last.clone_from(&change.more);
        alike <= TOGETHER_MAX
    });
    changes.sort_by(|a, b| b.priced.total_cmp(&a.priced));
    changes
}
