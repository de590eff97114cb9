//! The cluster over time: GPUs up, GPUs leased, jobs waiting.

use crate::book::Book;
use crate::fact::Fact;
use crate::series::{Series, Step};

const CAPACITY: usize = 0;
const LEASED: usize = 1;
const WAITING: usize = 2;

/// Curves from the first submission to the last record.
#[derive(Debug, Default)]
pub struct Timeline {
    curves: Series,
}

impl Timeline {
    /// Takes a fact in.
    pub fn take(&mut self, book: &Book, fact: &Fact<'_>) {
        if let Fact::Elapsed { from, to } = fact {
            let capacity = f64::from(book.machines.capacity().0);
            let values =
                [(CAPACITY, capacity), (LEASED, book.leased as f64), (WAITING, book.waiting() as f64)];
            self.curves.add(*from, *to, &values.into_iter());
        }
    }

    /// GPUs of nodes that are up.
    pub fn capacity(&self) -> Vec<Step> {
        self.curves.steps(CAPACITY)
    }

    /// GPUs held by leases.
    pub fn leased(&self) -> Vec<Step> {
        self.curves.steps(LEASED)
    }

    /// Active jobs without GPUs.
    pub fn waiting(&self) -> Vec<Step> {
        self.curves.steps(WAITING)
    }
}
