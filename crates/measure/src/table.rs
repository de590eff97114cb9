//! What was measured, by kind of job and GPU model.

use crate::{Kind, Pace, Window};
use evenhand_core::{ModelIndex, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kinds that are kept: of more, those heard of longest ago are forgotten.
const KINDS_MAX: usize = 4096;

/// What was measured of all kinds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Speeds {
    rows: BTreeMap<Kind, Row>,
}

/// What was measured of one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    cells: BTreeMap<ModelIndex, Window>,
    heard: Time,
}

impl Row {
    /// What was measured on a GPU model, if anything was.
    pub fn on(&self, model: ModelIndex) -> Option<&Window> {
        self.cells.get(&model)
    }

    /// The GPU models on which something was measured, with it.
    pub fn iter(&self) -> impl Iterator<Item = (ModelIndex, &Window)> {
        self.cells.iter().map(|(model, window)| (*model, window))
    }
}

impl Speeds {
    /// Takes one more pace in. The kind that is forgotten for it, if one is, comes back.
    pub fn take(&mut self, now: Time, kind: &Kind, pace: Pace) -> Option<Kind> {
        let full = self.rows.len() >= KINDS_MAX && !self.rows.contains_key(kind);
        let forgotten = full.then(|| self.forget_oldest()).flatten();
        let row = self.rows.entry(kind.clone()).or_default();
        row.heard = now;
        row.cells.entry(pace.model).or_default().add(pace.speed);
        forgotten
    }

    fn forget_oldest(&mut self) -> Option<Kind> {
        let oldest = self.rows.iter().min_by_key(|(_, row)| row.heard).map(|(kind, _)| kind.clone())?;
        self.rows.remove(&oldest);
        Some(oldest)
    }

    /// What was measured of a kind, if anything was.
    pub fn of(&self, kind: &Kind) -> Option<&Row> {
        self.rows.get(kind)
    }

    /// All kinds of which something was measured.
    pub fn iter(&self) -> impl Iterator<Item = (&Kind, &Row)> {
        self.rows.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, JobSpec, Rate, TenantId};

    #[test]
    fn memory_is_bounded_and_the_oldest_kind_goes_first() {
        let kind = |tenant| Kind::of(&JobSpec::new(JobId(0), TenantId(tenant), 1, None));
        let pace = Pace { model: ModelIndex(0), speed: Rate::ONE };
        let mut speeds = Speeds::default();
        for tenant in 0..KINDS_MAX as u32 {
            assert_eq!(speeds.take(Time(tenant.into()), &kind(tenant), pace), None);
        }
        assert_eq!(speeds.take(Time(5000), &kind(0), pace), None);
        assert_eq!(speeds.take(Time(5001), &kind(9999), pace), Some(kind(1)));
        assert_eq!(speeds.iter().count(), KINDS_MAX);
        assert_eq!(speeds.of(&kind(0)).and_then(|row| row.on(ModelIndex(0))).map(Window::count), Some(2));
    }
}
