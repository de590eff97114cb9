//! The window as flat tables: what any amount of work gains and leaves, and the same round by round on a model.

use super::Window;
use evenhand_core::Random;

/// The whole window.
pub(super) struct Tables {
    pub rounds: usize,
    pub capacity: Vec<u32>,
    pub gangs: Vec<u32>,
    pub urgency: Vec<f64>,
    pub cost: f64,
    /// Who comes first among equals.
    pub rank: Vec<u32>,
    /// 0 where the item cannot run: a rate of 0, or more GPUs in its gang than there are.
    rates: Vec<f64>,
    /// After 0, 1, ... H rounds of work.
    gain: Vec<f64>,
    left: Vec<f64>,
}

impl Tables {
    pub fn of(window: &Window, tie: u64) -> Self {
        let (items, rounds) = (window.items.len(), window.rounds);
        let mut order: Vec<u32> = (0..items as u32).collect();
        Random::new(tie).shuffle(&mut order);
        let mut tables = Self {
            rounds,
            capacity: window.capacity.clone(),
            gangs: window.items.iter().map(|item| item.gang).collect(),
            urgency: window.items.iter().map(|item| item.urgency).collect(),
            cost: window.remaining_cost,
            rank: order,
            rates: Vec::with_capacity(items * window.capacity.len()),
            gain: Vec::with_capacity(items * (rounds + 1)),
            left: Vec::with_capacity(items * (rounds + 1)),
        };
        for item in &window.items {
            let fits = |(rate, gpus): (&f64, &u32)| if item.gang <= *gpus { *rate } else { 0.0 };
            tables.rates.extend(item.rates.iter().zip(&window.capacity).map(fits));
            let (mut gain, mut done, mut last) = (0.0, 0.0, f64::INFINITY);
            for round in 0..=rounds {
                tables.gain.push(gain);
                tables.left.push(f64::max(item.remaining - done, 0.0));
                // Rounding may make a gain a hair larger than the one before.
                last = item.gains.get(round).copied().unwrap_or(0.0).min(last);
                gain += last;
                done += item.progress.get(round).copied().unwrap_or(0.0);
            }
        }
        tables
    }

    pub fn items(&self) -> usize {
        self.gangs.len()
    }

    pub fn models(&self) -> usize {
        self.capacity.len()
    }

    pub fn rate(&self, item: usize, model: usize) -> f64 {
        self.rates[item * self.models() + model]
    }

    /// The gain after so many rounds of work, not necessarily whole ones.
    pub fn gain(&self, item: usize, work: f64) -> f64 {
        self.between(&self.gain, item, work)
    }

    /// The remaining time after so many rounds of work.
    pub fn left(&self, item: usize, work: f64) -> f64 {
        self.between(&self.left, item, work)
    }

    fn between(&self, values: &[f64], item: usize, work: f64) -> f64 {
        let at = (work as usize).min(self.rounds);
        let row = &values[item * (self.rounds + 1)..][..=self.rounds];
        if at == self.rounds { row[at] } else { row[at] + (work - at as f64) * (row[at + 1] - row[at]) }
    }

    /// What doing nothing is worth.
    pub fn empty(&self) -> f64 {
        -self.cost * (0..self.items()).map(|item| self.left(item, 0.0)).fold(0.0, f64::max)
    }
}

/// Every item on one model of GPU.
pub(super) struct Course<'a> {
    pub tables: &'a Tables,
    pub model: Vec<usize>,
    steps: Vec<f64>,
    left: Vec<f64>,
}

impl<'a> Course<'a> {
    pub fn new(tables: &'a Tables, model: Vec<usize>) -> Self {
        let mut steps = Vec::with_capacity(tables.items() * tables.rounds);
        let mut left = Vec::with_capacity(tables.items() * (tables.rounds + 1));
        for (item, model) in model.iter().enumerate() {
            let rate = tables.rate(item, *model);
            let mut before = 0.0;
            left.push(tables.left(item, 0.0));
            for round in 1..=tables.rounds {
                let work = round as f64 * rate;
                let gain = tables.gain(item, work);
                steps.push(f64::max(gain - before, 0.0));
                left.push(tables.left(item, work));
                before = gain;
            }
        }
        Self { tables, model, steps, left }
    }

    /// What each round adds.
    pub fn steps(&self, item: usize) -> &[f64] {
        &self.steps[item * self.tables.rounds..][..self.tables.rounds]
    }

    /// The remaining time after 0, 1, ... H rounds.
    pub fn left(&self, item: usize) -> &[f64] {
        &self.left[item * (self.tables.rounds + 1)..][..=self.tables.rounds]
    }

    /// Whether the item can run at all.
    pub fn runs(&self, item: usize) -> bool {
        self.tables.rate(item, self.model[item]) > 0.0
    }

    /// The fewest rounds that leave no more than this; all of them if none do.
    pub fn needed(&self, item: usize, left_max: f64) -> usize {
        self.left(item)[..self.tables.rounds].partition_point(|left| *left > left_max)
    }

    /// How many rounds are worth more than this price for a GPU and a round.
    pub fn wanted(&self, item: usize, price: f64) -> usize {
        if !self.runs(item) {
            return 0;
        }
        let cost = price * f64::from(self.tables.gangs[item]);
        self.steps(item).partition_point(|gain| *gain > cost)
    }
}
