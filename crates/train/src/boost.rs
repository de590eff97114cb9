//! Gradient-boosted trees (Friedman 2001) with monotone constraints, and random forests (Breiman 2001), for hundreds of rows.
//!
//! ```text
//! F_0 = mean y ;   F_m = F_{m-1} + nu T_m ,  T_m the tree that fits  y - F_{m-1}  best
//! gain of a split  G_L^2 / (n_L + lambda) + G_R^2 / (n_R + lambda) - G^2 / (n + lambda)      G sums of what is left, n rows
//! leaf             G / (n + lambda), held between the means of its ancestors' children where a feature is monotone
//! ```
//!
//! Every split is tried: at this size there is no need for histograms. The same rows and options give the same trees.

use evenhand_core::Random;
use evenhand_predict::learned::{Node, Tree, Trees};

/// How trees are grown.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many.
    pub trees: usize,
    /// Splits from the root to a leaf, at most.
    pub depth: usize,
    /// nu: how much of each is believed.
    pub rate: f64,
    /// Rows in a leaf, at least.
    pub leaf_min: usize,
    /// lambda: how much a leaf is drawn to 0.
    pub shrink: f64,
    /// The part of the rows that each tree sees.
    pub rows: f64,
    /// The part of the features that each split may use.
    pub features: f64,
    /// Features that may only raise the value (1) or only lower it (-1); 0 or missing: either.
    pub monotone: Vec<i8>,
    /// Where chance comes from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trees: 200,
            depth: 3,
            rate: 0.05,
            leaf_min: 3,
            shrink: 1.0,
            rows: 0.8,
            features: 0.5,
            monotone: Vec::new(),
            seed: 1,
        }
    }
}

/// Rows and what they should give.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// As many numbers in each.
    pub rows: &'a [Vec<f64>],
    /// One for each row.
    pub targets: &'a [f64],
}

/// Boosted trees.
pub fn boosted(table: Table<'_>, options: &Options) -> Trees {
    let base = mean(table.targets);
    let mut left: Vec<f64> = table.targets.iter().map(|target| target - base).collect();
    let mut random = Random::stream(options.seed, "boost");
    let mut trees = Vec::with_capacity(options.trees);
    for _ in 0..options.trees {
        let drawn: Vec<usize> = (0..table.rows.len()).filter(|_| random.unit() < options.rows).collect();
        if drawn.is_empty() {
            continue;
        }
        let tree = grown(table.rows, &left, drawn, options, options.rate, &mut random);
        for (left, row) in left.iter_mut().zip(table.rows) {
            *left -= tree.value(row);
        }
        trees.push(tree);
    }
    Trees { base, trees }
}

/// A random forest: deep trees on rows drawn with return, averaged.
pub fn forest(table: Table<'_>, options: &Options) -> Trees {
    let mut random = Random::stream(options.seed, "forest");
    let count = table.rows.len();
    let part = 1.0 / options.trees.max(1) as f64;
    let trees = (0..options.trees).map(|_| {
        let drawn = (0..count).map(|_| random.below(count as u64) as usize).collect();
        grown(table.rows, table.targets, drawn, options, part, &mut random)
    });
    Trees { base: 0.0, trees: trees.collect() }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// One tree, its leaves times `rate`.
fn grown(
    rows: &[Vec<f64>],
    left: &[f64],
    drawn: Vec<usize>,
    options: &Options,
    rate: f64,
    random: &mut Random,
) -> Tree {
    let mut grower = Grower { rows, left, options, rate, random, nodes: Vec::new() };
    grower.grow(drawn, 0, (f64::NEG_INFINITY, f64::INFINITY));
    Tree(grower.nodes)
}

struct Grower<'a> {
    rows: &'a [Vec<f64>],
    left: &'a [f64],
    options: &'a Options,
    rate: f64,
    random: &'a mut Random,
    nodes: Vec<Node>,
}

/// A way to divide rows in two.
#[derive(Clone, Copy)]
struct Split {
    gain: f64,
    feature: usize,
    threshold: f64,
    /// The values of both sides.
    values: [f64; 2],
}

impl Grower<'_> {
    /// Grows a node over these rows, whose value must lie between the bounds; its place.
    fn grow(&mut self, drawn: Vec<usize>, depth: usize, bounds: (f64, f64)) -> u16 {
        let place = self.nodes.len();
        let value = self.value(drawn.iter().map(|at| self.left[*at]).sum(), drawn.len(), bounds);
        self.nodes.push(Node::Leaf(value * self.rate));
        if depth < self.options.depth
            && let Some(split) = self.best(&drawn, bounds)
        {
            let is_left = |at: &usize| self.rows[*at][split.feature] < split.threshold;
            let (left, right): (Vec<usize>, Vec<usize>) = drawn.into_iter().partition(is_left);
            let (below, above) = self.narrowed(&split, bounds);
            let left = self.grow(left, depth + 1, below);
            let right = self.grow(right, depth + 1, above);
            self.nodes[place] = Node::Split(split.feature as u16, split.threshold, left, right);
        }
        place as u16
    }

    fn value(&self, sum: f64, count: usize, (low, high): (f64, f64)) -> f64 {
        (sum / (count as f64 + self.options.shrink)).clamp(low, high)
    }

    fn monotone(&self, feature: usize) -> i8 {
        self.options.monotone.get(feature).copied().unwrap_or(0)
    }

    /// The bounds of both children: below a monotone split neither may pass the middle.
    fn narrowed(&self, split: &Split, (low, high): (f64, f64)) -> ((f64, f64), (f64, f64)) {
        let middle = f64::midpoint(split.values[0], split.values[1]);
        match self.monotone(split.feature) {
            1 => ((low, middle), (middle, high)),
            -1 => ((middle, high), (low, middle)),
            _ => ((low, high), (low, high)),
        }
    }

    fn best(&mut self, drawn: &[usize], bounds: (f64, f64)) -> Option<Split> {
        let features = self.rows.first()?.len();
        let mut best: Option<Split> = None;
        for feature in 0..features {
            if self.random.unit() >= self.options.features {
                continue;
            }
            if let Some(split) = self.best_of(feature, drawn, bounds)
                && best.is_none_or(|best| split.gain > best.gain)
            {
                best = Some(split);
            }
        }
        best
    }

    fn best_of(&self, feature: usize, drawn: &[usize], bounds: (f64, f64)) -> Option<Split> {
        let mut sorted: Vec<(f64, f64)> =
            drawn.iter().map(|at| (self.rows[*at][feature], self.left[*at])).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (count, sum) = (sorted.len(), sorted.iter().map(|pair| pair.1).sum::<f64>());
        // How well a side is told by its value.
        let told = |value: f64, sum: f64, count: usize| {
            2.0 * value * sum - value * value * (count as f64 + self.options.shrink)
        };
        let before = told(self.value(sum, count, bounds), sum, count);
        let mut best: Option<Split> = None;
        let mut below = 0.0;
        for at in 1..count {
            below += sorted[at - 1].1;
            let room = at >= self.options.leaf_min && count - at >= self.options.leaf_min;
            if !room || sorted[at].0 <= sorted[at - 1].0 {
                continue;
            }
            let values = [self.value(below, at, bounds), self.value(sum - below, count - at, bounds)];
            if f64::from(self.monotone(feature)) * (values[1] - values[0]) < 0.0 {
                continue;
            }
            let gain = told(values[0], below, at) + told(values[1], sum - below, count - at) - before;
            if gain > 1e-12 && best.is_none_or(|best| gain > best.gain) {
                let threshold = f64::midpoint(sorted[at - 1].0, sorted[at].0);
                best = Some(Split { gain, feature, threshold, values });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y = x0^2 + noise, x1 nothing.
    fn parabola(count: usize, seed: u64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let mut random = Random::new(seed);
        let rows: Vec<Vec<f64>> = (0..count).map(|_| vec![random.between(0.0, 3.0), random.unit()]).collect();
        let targets = rows.iter().map(|row| row[0] * row[0] + random.between(-0.1, 0.1)).collect();
        (rows, targets)
    }

    fn error(trees: &Trees, rows: &[Vec<f64>]) -> f64 {
        let squares = rows.iter().map(|row| (trees.value(row) - row[0] * row[0]).powi(2));
        (squares.sum::<f64>() / rows.len() as f64).sqrt()
    }

    #[test]
    fn a_parabola_is_learned_from_three_hundred_points() {
        let (rows, targets) = parabola(300, 1);
        let table = Table { rows: &rows, targets: &targets };
        let (fresh, _) = parabola(200, 2);
        let trees = boosted(table, &Options { features: 1.0, ..Options::default() });
        assert!(error(&trees, &fresh) < 0.2, "{}", error(&trees, &fresh));
        let options = Options { depth: 8, shrink: 0.0, features: 1.0, ..Options::default() };
        let trees = forest(table, &options);
        assert!(error(&trees, &fresh) < 0.2, "{}", error(&trees, &fresh));
        assert!(trees.is_sound(2));
    }

    #[test]
    fn a_monotone_feature_never_turns_the_value_back() {
        // A target that falls in the middle: what is fitted may not.
        let mut random = Random::new(3);
        let rows: Vec<Vec<f64>> = (0..200).map(|_| vec![random.between(0.0, 3.0), random.unit()]).collect();
        let targets: Vec<f64> = rows.iter().map(|row| (2.5 * row[0]).sin() + row[0] + row[1]).collect();
        for (direction, rises) in [(1, true), (-1, false)] {
            let options = Options { monotone: vec![direction], features: 1.0, ..Options::default() };
            let trees = boosted(Table { rows: &rows, targets: &targets }, &options);
            for row in &rows {
                let mut last = trees.value(&[0.0, row[1]]);
                for step in 1..=60 {
                    let value = trees.value(&[f64::from(step) * 0.05, row[1]]);
                    let fits = if rises { value >= last - 1e-12 } else { value <= last + 1e-12 };
                    assert!(fits, "{direction}: {last} then {value}");
                    last = value;
                }
            }
        }
    }

    #[test]
    fn the_same_seed_grows_the_same_trees() {
        let (rows, targets) = parabola(60, 4);
        let table = Table { rows: &rows, targets: &targets };
        assert_eq!(boosted(table, &Options::default()), boosted(table, &Options::default()));
        let other = Options { seed: 2, ..Options::default() };
        assert_ne!(boosted(table, &Options::default()), boosted(table, &other));
    }
}
