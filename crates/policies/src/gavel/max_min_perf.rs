//! Max-min fairness of throughput, job by job: everybody as many times faster than its proportional share as can be.
//!
//! ```text
//! maximise min_i (1/pi_i) (g_i / rprop_i) thr_i(y)      subject to base ,    rprop_i = sum_j r_ij m_j / M
//! ```

use super::{Following, PARAMETERS, Program, Question, relative};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_solve::{Division, Effort, Market, max_min};

pub(crate) const ENTRY: Entry = Entry {
    name: "max-min-perf",
    summary: "Every job as many times as fast as with its part of every GPU model, by weight.",
    paper: "Gavel, OSDI 2020",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances, Promise::SharingIncentive],
    parameters: PARAMETERS,
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| Following::of(Perf, parameters),
};

pub(super) struct Perf;

impl Program for Perf {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        rule(&question.jobs.market, &question.effort)
    }
}

fn rule(market: &Market, effort: &Effort) -> Result<Division, DivideError> {
    Ok(max_min(&relative(market), effort)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_solve::Matrix;

    #[test]
    fn everybody_gains_as_much_over_its_own_equal_share() {
        // Case B of the OEF paper: 54/49 of a third of each model.
        let rows = [[1.0, 2.0], [1.0, 3.0], [1.0, 4.0]];
        let market = Market::new(Matrix::from_rows(&rows), vec![1.0, 1.0]);
        let division = rule(&market, &Effort::default()).unwrap();
        for (row, found) in rows.iter().zip(division.throughputs(&market)) {
            let expected = 54.0 / 49.0 * (row[0] + row[1]) / 3.0;
            assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
        }
    }
}
