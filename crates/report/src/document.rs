//! The JSON document of one run: its figures, and its reported speeds against the measured ones.

use crate::{Report, SpeedCheck, Summary};
use serde::Serialize;

/// `simulate --json` and `report --json`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    predictor: &'a str,
    speeds: SpeedCheck,
}

impl<'a> Document<'a> {
    /// The document of a run whose figures these are.
    pub fn new(report: &'a Report, summary: &'a Summary) -> Self {
        Self { summary, predictor: report.predictor(), speeds: report.speeds() }
    }
}
