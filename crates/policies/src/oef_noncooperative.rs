//! OEF, non-cooperative: the same throughput for everybody, and as much of it as can be. For tenants who might exaggerate.
//!
//! ```text
//! maximise t   subject to  w_i.x_i = pi_i t for all i ,  sum_i x_ij <= m_j ,  x >= 0
//! ```
//!
//! Whoever reports larger speedups than it has only gets less: inflation-proof. Not strategy-proof, as has been claimed: reporting
//! smaller speedups pays (w = (1,2) and (1,5), a GPU of each: the second gains 17% by reporting 4). Measured speedups close that
//! hole, for whoever slows its job down has to live with the slow rate. Sharing incentive and envy-freeness are not promised,
//! and equal throughput can total less than equal shares.
//!
//! Where somebody has too few jobs for its share, or cannot run on some model, equality would leave GPUs idle that others want;
//! then levels are filled from the lowest up.

use crate::division::{Dividing, PARAMETERS};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_solve::{Division, Effort, Market, equal_throughput};

pub(crate) const ENTRY: Entry = Entry {
    name: "oef-noncooperative",
    summary: "The same normalised throughput for every tenant; exaggerating speedups does not pay.",
    paper: "OEF",
    promises: &[
        Promise::WorkConserving,
        Promise::CarriesBalances,
        Promise::EqualThroughput,
        Promise::ParetoEfficient,
        Promise::InflationProof,
    ],
    parameters: PARAMETERS,
    divide: Some(|market, _| rule(market, &Effort::default())),
    build: |parameters| Ok(Box::new(Dividing::by(rule, parameters)?)),
};

fn rule(market: &Market, effort: &Effort) -> Result<Division, DivideError> {
    Ok(equal_throughput(market, effort)?)
}
