//! The shortest time until everything is done.
//!
//! ```text
//! minimise T      subject to base ,  thr_i(y) >= left_i / T
//! ```
//!
//! With t = 1/T the program is linear: everybody rises in proportion to g_i left_i, so there is nothing to bisect. Called OSSP
//! in Shockwave. The makespan is excellent; short jobs wait for long ones, so nearly everything else is bad.
//!
//! The published simulators halve an interval of T until its ends are within 5 %, and take whatever point an interior-point
//! solver finds for the upper end.

use super::centre::{LINEAR, centre, division_of};
use super::{Following, PARAMETERS, Program, Question};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::Span;
use evenhand_solve::{Division, Ladder, raise};

/// Time that a job of which nothing is known, or that has outrun what is known, is taken to need at least.
pub(super) const LEFT_LEAST: Span = Span::from_minutes(1);

pub(crate) const ENTRY: Entry = Entry {
    name: "min-total-duration",
    summary: "Everything done as soon as can be: GPU time in proportion to the work that is left.",
    paper: "Gavel, OSDI 2020 (OSSP in Shockwave)",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances],
    parameters: PARAMETERS,
    divide: None,
    build: |parameters| Following::of(Shortest, parameters),
};

struct Shortest;

impl Program for Shortest {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        let market = &question.jobs.market;
        market.check()?;
        let left = seconds_left(question);
        let slope = left.iter().zip(&market.demands).map(|(left, gang)| left * gang).collect();
        let ladder = Ladder { base: vec![0.0; market.parties()], slope };
        let division = raise(market, &ladder, &question.effort).division;
        if question.published && market.models() == 1 {
            let upper = halved(1.0 / division.value);
            let least: Vec<f64> = left.iter().map(|left| left / upper).collect();
            let fractions = centre(LINEAR, &least, &market.demands, market.capacity[0]);
            return Ok(division_of(&fractions, market, 1.0 / upper));
        }
        Ok(division)
    }
}

/// The T at which the published simulators stop, given the shortest.
fn halved(shortest: f64) -> f64 {
    let (mut low, mut high) = (100.0, 1e6);
    while shortest > high {
        (low, high) = (high, high * 10.0);
    }
    while high > 1.05 * low {
        let middle = f64::midpoint(low, high);
        if middle >= shortest { high = middle } else { low = middle }
    }
    high
}

/// Seconds that each job needs alone on its fastest model. One of which nothing is known counts as long as the longest known.
fn seconds_left(question: &Question<'_>) -> Vec<f64> {
    let jobs = question.jobs.rows.iter().map(|row| row.jobs[0]);
    let known: Vec<Option<Span>> =
        jobs.map(|(index, job)| question.snapshot.remaining_time(index, job)).collect();
    let longest = known.iter().flatten().max().copied().unwrap_or(Span::from_minutes(60));
    known.into_iter().map(|left| left.unwrap_or(longest).max(LEFT_LEAST).seconds()).collect()
}
