//! Reported against measured: which declared speeds the work itself has refuted.
//!
//! ```text
//! speedup   speed over that on the reference: the cluster's reference model, or the one with the most samples if the kind was
//!           never measured there
//! ratio     reported over measured speedup; of plain speeds while fewer than 30 samples are of the reference
//! flagged   |ln ratio| > ln 1.2, with at least 30 samples
//! ```

use crate::speeds::SpeedBook;
use crate::standings::Standings;
use evenhand_core::ModelIndex;
use evenhand_measure::{Kind, Row, Window};
use serde::Serialize;

/// Samples without which nobody is accused.
const SAMPLES_MIN: u64 = 30;

/// Reports within this factor of the truth are honest enough.
const RATIO_MAX: f64 = 1.2;

/// Rows that are listed; of more, those flagged and those with the most samples.
const ROWS_MAX: usize = 200;

/// All that was reported of speeds, held against what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct SpeedCheck {
    /// Kinds of jobs (those that a tenant declared alike) of which something was measured.
    pub kinds: u64,
    /// Rows that are flagged.
    pub flagged: u64,
    /// A row for each kind and GPU model; 200 at most, flagged ones first.
    pub rows: Vec<SpeedRow>,
}

/// One kind of jobs on one GPU model.
#[derive(Clone, Debug, Serialize)]
pub struct SpeedRow {
    /// Who submitted them.
    pub tenant: String,
    /// The least GPUs that each takes.
    pub gpus: u32,
    /// The GPU model.
    pub model: String,
    /// The GPU model that speedups are relative to.
    pub reference: String,
    /// Reported speed in steps per second.
    pub reported: f64,
    /// Measured speed in steps per second; NaN if there are no samples.
    pub measured: f64,
    /// Reported speedup.
    pub reported_speedup: f64,
    /// Measured speedup; NaN if there are no samples here or of the reference.
    pub measured_speedup: f64,
    /// Reported over measured; NaN if there are no samples.
    pub ratio: f64,
    /// Half the range of four samples in five, over the mean; NaN if there are no samples.
    pub spread: f64,
    /// How often it was measured.
    pub samples: u64,
    /// Whether the report is refuted.
    pub flagged: bool,
}

impl SpeedCheck {
    pub(crate) fn new(book: &SpeedBook, tenants: &Standings) -> Self {
        let measured = || book.measured.iter();
        let mut rows: Vec<SpeedRow> =
            measured().flat_map(|(kind, row)| rows_of(book, tenants, kind, row)).collect();
        let flagged = rows.iter().filter(|row| row.flagged).count() as u64;
        if rows.len() > ROWS_MAX {
            rows.sort_by_key(|row| (!row.flagged, std::cmp::Reverse(row.samples)));
            rows.truncate(ROWS_MAX);
        }
        Self { kinds: measured().count() as u64, flagged, rows }
    }
}

fn rows_of(book: &SpeedBook, tenants: &Standings, kind: &Kind, row: &Row) -> Vec<SpeedRow> {
    let first = ModelIndex(0);
    let busiest = || row.iter().max_by_key(|(model, window)| (window.count(), std::cmp::Reverse(*model)));
    let reference = row.on(first).map(|window| (first, window)).or_else(busiest);
    let Some((reference, base)) = reference else { return Vec::new() };
    let name =
        |model: ModelIndex| book.cluster.models.get(usize::from(model.0)).map(|model| model.name.clone());
    let tenant = tenants.rows().get(kind.tenant.index()).map(|tenant| tenant.name.clone());
    let models = book.cluster.model_indices().filter(|model| kind.declared(*model).get() > 0.0);
    let cell = |model: ModelIndex| {
        let (reported, own) = (kind.declared(model).get(), Cell::of(row.on(model)));
        let reported_speedup = reported / kind.declared(reference).get();
        let measured_speedup = own.speed / base.speed().mean.get();
        // A speedup takes both sides; while there is little of the other, the speed itself must do.
        let by_speedup = model != reference && base.count() >= SAMPLES_MIN;
        let ratio = if by_speedup { reported_speedup / measured_speedup } else { reported / own.speed };
        // Of the reference itself only the scale of the reports can be wrong, and a scale does no harm where others are known.
        let judged = by_speedup || is_alone(row, model);
        SpeedRow {
            tenant: tenant.clone().unwrap_or_default(),
            gpus: kind.gpus.min.0,
            model: name(model).unwrap_or_default(),
            reference: name(reference).unwrap_or_default(),
            reported,
            measured: own.speed,
            reported_speedup,
            measured_speedup,
            ratio,
            spread: own.spread,
            samples: own.samples,
            flagged: judged && own.samples >= SAMPLES_MIN && ratio.ln().abs() > RATIO_MAX.ln(),
        }
    };
    models.map(cell).collect()
}

/// Whether no other GPU model of the kind has enough samples to compare with.
fn is_alone(row: &Row, model: ModelIndex) -> bool {
    row.iter().all(|(other, window)| other == model || window.count() < SAMPLES_MIN)
}

struct Cell {
    speed: f64,
    spread: f64,
    samples: u64,
}

impl Cell {
    fn of(window: Option<&Window>) -> Self {
        let Some(window) = window else { return Self { speed: f64::NAN, spread: f64::NAN, samples: 0 } };
        let speed = window.speed();
        let mean = speed.mean.get();
        let spread = (speed.high.get() - speed.low.get()) / 2.0 / mean;
        Self { speed: mean, spread, samples: window.count() }
    }
}
