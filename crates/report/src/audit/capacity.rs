//! How much of each GPU model somebody could have used at an instant: two answers to two questions.
//!
//! ```text
//! wanted_j   = GPUs held + those idle, up to what tenants that run there ask for and do not hold
//! within_j   = the larger of GPUs held, and what is left for j of the GPUs that all jobs together can use,
//!              if these are put on the fastest models first
//! ```
//!
//! *Wanted* is what should not be idle. *Within reach* is what a better division could have used: jobs may be better off on
//! GPUs that nobody waits for. Which models are faster is what jobs say on average.

use crate::book::Book;
use evenhand_core::{ModelIndex, PerModel};

/// GPUs of each model, or their time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// Held, or idle while somebody waits.
    pub wanted: PerModel<f64>,
    /// Held, or reached by jobs that go where they are fastest.
    pub within: PerModel<f64>,
}

impl Capacity {
    /// What there is now, for those who ask for so many GPUs and lack so many on each model.
    pub fn now(book: &Book, asked: f64, unmet: &PerModel<f64>, fastest_first: &[ModelIndex]) -> Self {
        let mut now = Self::default();
        for (model, up) in book.machines.models_up() {
            let (held, up) = (book.leased_on[model] as f64, f64::from(up.0));
            now.wanted[model] = held + (up - held).max(0.0).min(unmet[model]);
            now.within[model] = held;
        }
        let mut left = asked;
        for model in fastest_first {
            let gpus = left.min(f64::from(book.machines.up(*model).0));
            now.within[*model] = now.within[*model].max(gpus);
            left -= gpus;
        }
        now
    }

    /// Adds what holds for so many milliseconds.
    pub fn add(&mut self, now: &Self, span: f64) {
        add(&mut self.wanted, &now.wanted, span);
        add(&mut self.within, &now.within, span);
    }
}

/// Adds a row, times something.
pub fn add(sum: &mut PerModel<f64>, row: &PerModel<f64>, times: f64) {
    sum.0.iter_mut().zip(row.values()).for_each(|(sum, value)| *sum += value * times);
}
