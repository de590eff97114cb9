//! How fast, how long, how much memory, how much harm: what is believed of a job before and while it runs.

mod curves;
mod declared;
mod measured;

use evenhand_core::Predictor;

/// A predictor and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct PredictorEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Makes one.
    pub build: fn() -> Box<dyn Predictor>,
}

/// All predictors.
pub const PREDICTORS: &[PredictorEntry] = &[declared::ENTRY, measured::ENTRY, curves::ENTRY];

/// The predictor of someone who chose none.
pub const DEFAULT_PREDICTOR: &str = "declared";
