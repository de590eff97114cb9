//! Fewer parties with GPUs of several models, at the same throughputs and the same use of every model.
//!
//! A mixture of good divisions spreads some parties over many models. Moving throughput of a party between two of its models
//! changes the use of those models by one vector in k dimensions. More than k such vectors are dependent: some combination of
//! moves leaves every use as it was, and can be followed until somebody has left a model. What remains is a vertex: at most
//! n + k - 1 non-zeros where all GPUs are used.

use crate::{Market, Matrix};

/// Vectors that are shorter than this after elimination count as dependent.
const DEPENDENT: f64 = 1e-9;

/// Parts of a party's throughput below this are rounding errors.
const NOTHING: f64 = 1e-13;

/// One party's part on a model other than its main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Second {
    party: usize,
    main: usize,
    model: usize,
}

/// Moves parties to as few models as the use of every model allows. Parties with a finite demand stay as they are.
pub(crate) fn purify(market: &Market, shares: &mut Matrix) {
    let mut purifier = Purifier { market, shares, kept: Vec::new(), queue: Vec::new() };
    for party in (0..market.parties()).filter(|party| market.demands[*party].is_infinite()) {
        purifier.tidy(party);
        purifier.enqueue(party);
    }
    while let Some(second) = purifier.queue.pop() {
        purifier.take(second);
    }
}

struct Purifier<'a> {
    market: &'a Market,
    shares: &'a mut Matrix,
    /// Parts whose vectors are independent.
    kept: Vec<Second>,
    queue: Vec<Second>,
}

impl Purifier<'_> {
    fn part(&self, party: usize, model: usize) -> f64 {
        self.market.speedups.row(party)[model] * self.shares.row(party)[model]
    }

    /// Gives what is a rounding error to the model where the party is most.
    fn tidy(&mut self, party: usize) {
        let parts: Vec<f64> = (0..self.market.models()).map(|model| self.part(party, model)).collect();
        let total: f64 = parts.iter().sum();
        for (model, part) in parts.iter().enumerate() {
            if *part <= NOTHING * total {
                self.shares.row_mut(party)[model] = 0.0;
            }
        }
    }

    fn enqueue(&mut self, party: usize) {
        let used = |model: &usize| self.shares.row(party)[*model] > 0.0;
        let models: Vec<usize> = (0..self.market.models()).filter(used).collect();
        let most =
            |a: &usize, b: &usize| self.part(party, *a).total_cmp(&self.part(party, *b)).then(b.cmp(a));
        let Some(main) = models.iter().copied().max_by(most) else { return };
        let others = models.into_iter().filter(|model| *model != main);
        self.queue.extend(others.map(|model| Second { party, main, model }));
    }

    /// The change in use of every model when a unit of throughput moves from the second model to the main one.
    fn vector(&self, second: Second) -> Vec<f64> {
        let row = self.market.speedups.row(second.party);
        let mut vector = vec![0.0; self.market.models()];
        vector[second.main] = 1.0 / row[second.main];
        vector[second.model] = -1.0 / row[second.model];
        vector
    }

    fn take(&mut self, second: Second) {
        let gone = |model| self.shares.row(second.party)[model] <= 0.0;
        if gone(second.model) || gone(second.main) {
            return;
        }
        let Some(mix) = self.mix(second) else {
            self.kept.push(second);
            return;
        };
        // One unit of the new part moves to its main model, and the kept ones move back as much as makes up for it.
        let mut moves: Vec<(Second, f64)> = vec![(second, 1.0)];
        moves.extend(self.kept.iter().copied().zip(mix.iter().map(|part| -part)));
        self.follow(&moves);
        self.queue.push(second);
        self.requeue_without_main();
    }

    /// How the vector of a part is made of those of the kept ones; `None` if it is not.
    fn mix(&self, second: Second) -> Option<Vec<f64>> {
        let models = self.market.models();
        let mut table: Vec<Vec<f64>> = Vec::with_capacity(models);
        let vectors: Vec<Vec<f64>> = self.kept.iter().map(|kept| self.vector(*kept)).collect();
        let target = self.vector(second);
        let size = target.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for model in 0..models {
            let mut row: Vec<f64> = vectors.iter().map(|vector| vector[model]).collect();
            row.push(target[model]);
            table.push(row);
        }
        let count = vectors.len();
        for at in 0..count {
            let pivot = (at..models).max_by(|a, b| table[*a][at].abs().total_cmp(&table[*b][at].abs()))?;
            table.swap(at, pivot);
            let pivot_row = table[at].clone();
            for (number, row) in table.iter_mut().enumerate() {
                if number != at {
                    let factor = row[at] / pivot_row[at];
                    row.iter_mut().zip(&pivot_row).for_each(|(value, pivot)| *value -= factor * pivot);
                }
            }
        }
        let rest = table[count..].iter().map(|row| row[count].abs()).fold(0.0, f64::max);
        (rest <= DEPENDENT * size).then(|| (0..count).map(|at| table[at][count] / table[at][at]).collect())
    }

    /// Moves along until the first part is used up.
    fn follow(&mut self, moves: &[(Second, f64)]) {
        let mut change = std::collections::BTreeMap::new();
        for (second, unit) in moves {
            *change.entry((second.party, second.model)).or_insert(0.0) -= unit;
            *change.entry((second.party, second.main)).or_insert(0.0) += unit;
        }
        let length = |(place, change): (&(usize, usize), &f64)| {
            (*change < 0.0).then(|| (self.part(place.0, place.1).max(0.0) / -change, *place))
        };
        let least = change.iter().filter_map(length).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((step, first)) = least else { return };
        for ((party, model), change) in change {
            let speedup = self.market.speedups.row(party)[model];
            let share = &mut self.shares.row_mut(party)[model];
            *share = (*share + step * change / speedup).max(0.0);
        }
        self.shares.row_mut(first.0)[first.1] = 0.0;
    }

    /// Forgets parts that are used up; a party that left its main model gets another.
    fn requeue_without_main(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let mut again = Vec::new();
        for second in kept {
            let row = self.shares.row(second.party);
            if row[second.main] <= 0.0 {
                again.push(second.party);
            } else if row[second.model] > 0.0 {
                self.kept.push(second);
            }
        }
        let stranded = self.queue.iter().filter(|second| self.shares.row(second.party)[second.main] <= 0.0);
        again.extend(stranded.map(|second| second.party));
        again.sort_unstable();
        again.dedup();
        self.kept.retain(|second| !again.contains(&second.party));
        self.queue.retain(|second| !again.contains(&second.party));
        for party in again {
            self.enqueue(party);
        }
    }
}
