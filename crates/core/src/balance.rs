//! Owed minus received, carried from round to round.
//!
//! A policy that divides the cluster into fractions says so in [`Plan::shares`](crate::Plan::shares). The engine adds what the
//! fractions amount to over time and takes off what was really leased, so that rounding to whole GPUs, gangs
//! and node losses are made good later and no policy has to keep the books itself.

use crate::{ModelIndex, Party, PerModel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// GPU-milliseconds owed minus received, per party and GPU model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Balances {
    rows: BTreeMap<Party, PerModel<f64>>,
}

impl Balances {
    /// What a party is owed on a GPU model: GPU-milliseconds; negative if it received more than its share.
    pub fn on(&self, party: Party, model: ModelIndex) -> f64 {
        self.rows.get(&party).map_or(0.0, |row| row[model])
    }

    /// What a party is owed on all GPU models together.
    pub fn total(&self, party: Party) -> f64 {
        self.rows.get(&party).map_or(0.0, |row| row.values().sum())
    }

    /// Changes what a party is owed.
    pub fn add(&mut self, party: Party, model: ModelIndex, gpu_ms: f64) {
        self.rows.entry(party).or_default()[model] += gpu_ms;
    }

    /// Forgets parties that are gone: nobody inherits a debt.
    pub fn retain(&mut self, keep: impl Fn(Party) -> bool) {
        self.rows.retain(|party, _| keep(*party));
    }

    /// All rows, in order of party.
    pub fn iter(&self) -> impl Iterator<Item = (Party, &PerModel<f64>)> {
        self.rows.iter().map(|(party, row)| (*party, row))
    }

    /// Whether nothing was ever owed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
