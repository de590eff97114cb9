//! Water filling: max-min fairness of throughput, and after the smallest the second smallest, and so on.
//!
//! ```text
//! repeat    maximise c   subject to base ,  (thr_i / rprop_i - level_i) g_i / pi_i >= c for those who can still rise
//!           and  thr_i / rprop_i >= level_i for those who cannot
//! ```
//!
//! Max-min alone stops where the first can rise no further; here the others go on, so nothing is left that anybody could use.
//! The originals find out who can still rise by an integer program; here it is read off the prices.

use super::{Following, PARAMETERS, Program, Question, relative};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_solve::{Division, Effort, Market, water_filling};

pub(crate) const ENTRY: Entry = Entry {
    name: "water-filling",
    summary: "As max-min-perf, and whoever can rise further does: nothing is left that a job could use.",
    paper: "Gavel, OSDI 2020",
    promises: &[
        Promise::WorkConserving,
        Promise::CarriesBalances,
        Promise::SharingIncentive,
        Promise::ParetoEfficient,
    ],
    parameters: PARAMETERS,
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| Following::of(WaterFilling, parameters),
};

struct WaterFilling;

impl Program for WaterFilling {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        rule(&question.jobs.market, &question.effort)
    }
}

fn rule(market: &Market, effort: &Effort) -> Result<Division, DivideError> {
    Ok(water_filling(&relative(market), effort)?)
}
