//! The largest sum of throughputs, whoever has it.
//!
//! ```text
//! maximise sum_ij v_ij y_ij      subject to base
//! unit=relative   v_ij = g_i r_ij / rprop_i      work in units of what the job's GPUs do on average
//! unit=steps      v_ij = r_ij in steps/s         as published: favours models with short steps and small gangs
//! ```
//!
//! No weights, no fairness: whoever gains least from a GPU waits until one is left over. An upper bound to measure others by.

use super::{Following, Program, Question, relative};
use crate::fill::PREEMPT_AT_ROUNDS;
use crate::gavel_rounds::{RESET, ROUND, VARIANT};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{Job, ParameterSpec, Work};
use evenhand_solve::{Division, Effort, Market, max_total};

const UNIT: ParameterSpec = ParameterSpec {
    name: "unit",
    default: "relative",
    summary: "what is added up: `relative` throughputs, or `steps` per second as published (implied by variant=fork)",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "max-sum-throughput",
    summary: "The largest total throughput; whoever gains least from a GPU waits.",
    paper: "Gavel, OSDI 2020 (MST in Shockwave)",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances, Promise::ParetoEfficient],
    parameters: &[UNIT, PREEMPT_AT_ROUNDS, VARIANT, RESET, ROUND],
    divide: Some(|market, _| Ok(max_total(market, &Effort::default())?)),
    build: |parameters| {
        let steps = parameters.word(&UNIT, &[("relative", false), ("steps", true)])?;
        Following::of(MaxSum { steps }, parameters)
    },
};

struct MaxSum {
    steps: bool,
}

impl Program for MaxSum {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        let market = &question.jobs.market;
        let market = if self.steps || question.published { in_steps(question) } else { relative(market) };
        Ok(max_total(&market, &question.effort)?)
    }
}

/// Rows in steps a second, per GPU.
fn in_steps(question: &Question<'_>) -> Market {
    let mut market = question.jobs.market.clone();
    for (party, row) in question.jobs.rows.iter().enumerate() {
        let (index, job) = row.jobs[0];
        let speeds = question.snapshot.forecast(index).speed;
        let scale = f64::from(batch(job)) * f64::from(row.gang.0);
        let models = question.snapshot.cluster.model_indices();
        for (value, model) in market.speedups.row_mut(party).iter_mut().zip(models) {
            *value = if *value > 0.0 { speeds[model].mean.get() / scale } else { 0.0 };
        }
    }
    market
}

/// The batch size in force: speeds are in samples where it is known. 1 if it is not.
pub(super) fn batch(job: &Job) -> u32 {
    let announced = job.spec.regimes.first().filter(|first| first.from == Work::ZERO);
    let first = announced.map_or(1, |first| first.batch);
    if job.regime.batch > 0 { job.regime.batch } else { first.max(1) }
}
