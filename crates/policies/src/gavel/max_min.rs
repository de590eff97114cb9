//! Max-min fairness of GPU time, job by job, whatever the GPU models are.
//!
//! ```text
//! maximise min_i (1/pi_i) g_i sum_j y_ij      subject to base
//! ```
//!
//! In the limit what least attained service does: everybody has the same GPU time for its weight, the weight of its tenant. A
//! GPU is a GPU here, so in a mixed cluster somebody may be given all of its time on the slow ones.

use super::{Following, PARAMETERS, Program, Question};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_solve::{Division, Effort, Market, max_min};

pub(crate) const ENTRY: Entry = Entry {
    name: "max-min",
    summary: "The same GPU time for every job, by weight; blind to GPU models.",
    paper: "Gavel, OSDI 2020 (LAS)",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances],
    parameters: PARAMETERS,
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| Following::of(Blind, parameters),
};

struct Blind;

impl Program for Blind {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        rule(&question.jobs.market, &question.effort)
    }
}

fn rule(market: &Market, effort: &Effort) -> Result<Division, DivideError> {
    Ok(max_min(&blind(market), effort)?)
}

/// The same market, every model that will do as good as every other.
pub(super) fn blind(market: &Market) -> Market {
    let mut blind = market.clone();
    for party in 0..market.parties() {
        for value in blind.speedups.row_mut(party) {
            *value = f64::from(u8::from(*value > 0.0));
        }
    }
    blind
}
