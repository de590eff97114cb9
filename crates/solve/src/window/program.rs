//! What is to be planned, what makes it nonsense, and the plan.

use thiserror::Error;

/// Marginal gains may rise by this much of the first before they count as not concave: the rounding of whoever made them.
const ROUNDING: f64 = 1e-9;

/// Rounds to be given to items that each need a gang of GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// H: rounds in the window.
    pub rounds: usize,
    /// M: GPUs of each model, in every round.
    pub capacity: Vec<u32>,
    /// Who wants rounds.
    pub items: Vec<WindowItem>,
    /// mu: what a round of the longest remaining time costs; 0 or more.
    pub remaining_cost: f64,
}

/// Somebody who wants rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowItem {
    /// g: GPUs that it takes in every round in which it runs, 1 or more.
    pub gang: u32,
    /// What the first, the second, ... round adds: not rising, not negative; rounds beyond the list add nothing.
    pub gains: Vec<f64>,
    /// Rounds of its remaining time that the first, the second, ... round does; rounds beyond the list do none.
    pub progress: Vec<f64>,
    /// R: rounds that it needs in all from here.
    pub remaining: f64,
    /// How much it matters that its rounds come early.
    pub urgency: f64,
    /// Which part of a round's work it does on GPUs of each model: 1 on the fastest, 0 where it cannot run.
    pub rates: Vec<f64>,
}

/// What makes a window nonsense.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum WindowError {
    /// A number that will not do.
    #[error("{what} of item {} is {value}, but {allowed}", item + 1)]
    Number {
        /// Which number.
        what: &'static str,
        /// Its place.
        item: usize,
        /// As given.
        value: f64,
        /// What would be right.
        allowed: &'static str,
    },
    /// Not a rate for every GPU model.
    #[error("item {} has {found} rates where {expected} are needed", item + 1)]
    Rates {
        /// Its place.
        item: usize,
        /// As given.
        found: usize,
        /// What would be right.
        expected: usize,
    },
    /// A cost of remaining time that will not do.
    #[error("the cost of remaining time is {value}, but it is 0 or more")]
    Cost {
        /// As given.
        value: f64,
    },
}

impl Window {
    /// Whether every number makes sense.
    pub fn check(&self) -> Result<(), WindowError> {
        let fits = |value: f64| value.is_finite() && value >= 0.0;
        if !fits(self.remaining_cost) {
            return Err(WindowError::Cost { value: self.remaining_cost });
        }
        for (item, wants) in self.items.iter().enumerate() {
            let (found, expected) = (wants.rates.len(), self.capacity.len());
            if found != expected {
                return Err(WindowError::Rates { item, found, expected });
            }
            wants.check().map_err(|(what, value, allowed)| WindowError::Number {
                what,
                item,
                value,
                allowed,
            })?;
        }
        Ok(())
    }
}

impl WindowItem {
    fn check(&self) -> Result<(), (&'static str, f64, &'static str)> {
        let fits = |value: f64| value.is_finite() && value >= 0.0;
        let lists = [
            ("a gain", &self.gains[..], "it is 0 or more"),
            ("the progress of a round", &self.progress, "it is 0 or more"),
            ("the remaining time", &[self.remaining], "it is 0 or more"),
            ("the urgency", &[self.urgency], "it is 0 or more"),
        ];
        for (what, values, allowed) in lists {
            if let Some(value) = values.iter().find(|value| !fits(**value)) {
                return Err((what, *value, allowed));
            }
        }
        if let Some(rate) = self.rates.iter().find(|rate| !(0.0..=1.0).contains(*rate)) {
            return Err(("a rate", *rate, "it is a part of a round, from 0 to 1"));
        }
        let slack = ROUNDING * self.gains.first().copied().unwrap_or(0.0);
        match self.gains.windows(2).find(|pair| pair[1] > pair[0] + slack) {
            Some(pair) => Err(("a gain", pair[1], "it is no more than that of the round before")),
            None if self.gang == 0 => Err(("the gang", 0.0, "it is 1 or more")),
            None => Ok(()),
        }
    }
}

/// Who runs when.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowPlan {
    /// n: rounds for each item.
    pub counts: Vec<usize>,
    /// The items that run in each round, by rising number.
    pub rounds: Vec<Vec<usize>>,
    /// The GPU model of each of them, in the same shape.
    pub models: Vec<Vec<usize>>,
    /// What the plan is worth.
    pub value: f64,
    /// No plan is worth more than this.
    pub bound: f64,
    /// What doing nothing is worth.
    pub empty: f64,
    /// To look at: what one more GPU of each model in one round would add at the bound, packing aside; 0 where no more are wanted than
    /// there are.
    pub prices: Vec<f64>,
}

impl WindowPlan {
    /// The part of what could be gained over doing nothing that the plan may miss: 0 = no plan is better.
    pub fn gap(&self) -> f64 {
        let most = self.bound - self.empty;
        if most > 0.0 { ((self.bound - self.value) / most).max(0.0) } else { 0.0 }
    }

    /// The rounds in which an item runs.
    pub fn rounds_of(&self, item: usize) -> impl Iterator<Item = usize> {
        let runs = move |(round, items): (usize, &Vec<usize>)| items.binary_search(&item).ok().map(|_| round);
        self.rounds.iter().enumerate().filter_map(runs)
    }
}
