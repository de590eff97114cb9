//! Rows of the two tables, and what is wrong with them.

use crate::InputError;
use evenhand_core::{Bytes, Demand, Estimate, SharingMode};
use serde::Deserialize;
use std::path::Path;

/// One row of a table of profiles.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ProfileRow {
    pub(super) name: String,
    pub(super) gpu: String,
    duty: f64,
    sm: f64,
    tensor: f64,
    bandwidth: f64,
    memory_mb: f64,
    /// What of memory is counted with, where it is foretold and not known.
    #[serde(default)]
    memory_high_mb: Option<f64>,
    /// Steps per second alone; of use where a kind has rows on several GPU models.
    #[serde(default)]
    pub(super) speed: Option<f64>,
}

/// One row of a table of pairs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PairRow {
    pub(super) gpu: String,
    pub(super) mode: SharingMode,
    pub(super) one: String,
    pub(super) other: String,
    pub(super) slowdown_one: f64,
    pub(super) slowdown_other: f64,
}

impl ProfileRow {
    pub(super) fn demand(&self) -> Demand {
        let bytes = |mb: f64| Bytes((mb * 1e6) as u64);
        let mean = bytes(self.memory_mb);
        let high = self.memory_high_mb.map_or(mean, bytes).max(mean);
        let memory = Estimate { mean, low: mean, high };
        let &Self { duty, sm, tensor, bandwidth, .. } = self;
        Demand { duty, sm, tensor, bandwidth, memory, ..Demand::default() }
    }
}

/// A row that can be out of range: the field, its value, and what is allowed.
pub(super) trait Ranged {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)>;
}

impl Ranged for ProfileRow {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)> {
        let share = "it is a share from 0 to 1";
        let fields = [
            ("duty", self.duty, 0.0..=1.0, share),
            ("sm", self.sm, 0.0..=1.0, share),
            ("tensor", self.tensor, 0.0..=1.0, share),
            ("bandwidth", self.bandwidth, 0.0..=1.0, share),
            ("memory_mb", self.memory_mb, 0.0..=1e9, "it is a number of megabytes"),
            ("memory_high_mb", self.memory_high_mb.unwrap_or(0.0), 0.0..=1e9, "it is a number of megabytes"),
            (
                "speed",
                self.speed.unwrap_or(1.0),
                f64::MIN_POSITIVE..=1e12,
                "it is a number of steps a second above 0",
            ),
        ];
        let out = fields.into_iter().find(|(_, value, range, _)| !range.contains(value));
        out.map(|(field, value, _, allowed)| (field, value, allowed))
    }
}

impl Ranged for PairRow {
    fn out_of_range(&self) -> Option<(&'static str, f64, &'static str)> {
        let fields = [("slowdown_one", self.slowdown_one), ("slowdown_other", self.slowdown_other)];
        let out = fields.into_iter().find(|(_, value)| !(0.0..=1e6).contains(value));
        out.map(|(field, value)| (field, value, "it is a number from 0 to 1000000"))
    }
}

pub(super) fn rows<T: for<'a> Deserialize<'a> + Ranged>(path: &Path) -> Result<Vec<T>, InputError> {
    let place = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|error| InputError::whole(&place, format!("the table cannot be read: {error}")))?;
    let rows = parsed(file).map_err(|error| error.within(&place))?;
    if rows.is_empty() {
        return Err(InputError::whole(&place, "the table has no rows".to_owned()));
    }
    Ok(rows)
}

pub(super) fn parsed<T: for<'a> Deserialize<'a> + Ranged>(
    source: impl std::io::Read,
) -> Result<Vec<T>, InputError> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(source);
    let columns = reader.headers().cloned();
    let mut rows = Vec::new();
    for record in reader.records() {
        let line = |error: &csv::Error| error.position().map_or(0, csv::Position::line);
        let unread = |error: csv::Error| InputError {
            line: line(&error),
            allowed: format!("the row cannot be read: {error}"),
            ..InputError::default()
        };
        let record = record.map_err(unread)?;
        let row: T = record.deserialize(columns.as_ref().ok()).map_err(unread)?;
        if let Some((field, value, allowed)) = row.out_of_range() {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(InputError::field(line, field, value, allowed));
        }
        rows.push(row);
    }
    Ok(rows)
}
