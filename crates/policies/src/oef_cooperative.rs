//! OEF, cooperative: as much total throughput as can be had without anybody envying anybody. For tenants who are honest.
//!
//! ```text
//! maximise   sum_i w_i.x_i
//! subject to w_i.x_i / pi_i >= w_i.x_l / pi_l for all i != l ,  sum_i x_ij <= m_j ,  x >= 0
//! ```
//!
//! Whoever envies nobody is no worse off than with its part of every model: adding up the rows of i gives the sharing incentive,
//! because an optimum leaves no GPU idle. Not always Pareto-efficient, as has been claimed: what everybody would prefer may
//! break envy-freeness (w = (1,6,8), (1,1,5), (1,8,9) and 1, 2, 2 GPUs: 3.7% more in total is possible). Lies pay in both directions.

use crate::division::{Dividing, PARAMETERS};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_solve::{CooperativeOptions, Division, Effort, Market, cooperative};

pub(crate) const ENTRY: Entry = Entry {
    name: "oef-cooperative",
    summary: "The most normalised throughput in total that leaves no tenant envious.",
    paper: "OEF",
    promises: &[
        Promise::WorkConserving,
        Promise::CarriesBalances,
        Promise::EnvyFree,
        Promise::SharingIncentive,
    ],
    parameters: PARAMETERS,
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| Ok(Box::new(Dividing::by(rule, parameters)?)),
};

fn rule(market: &Market, _effort: &Effort) -> Result<Division, DivideError> {
    Ok(cooperative(market, &CooperativeOptions::default())?)
}
