//! Properties of a division: one per file, each citing its definition, all registered in [`PROPERTIES`].
//!
//! A division is a [`Market`] and who has what of it: a row per party, a column per GPU model. The market has been
//! [checked](Market::check); shares have its shape, are not negative and do not exceed its capacity.
//!
//! A party's throughput is what it can make of its share: with a finite demand it uses that many GPUs, the fastest first.
//! Everything is compared in such throughputs, so a party that cannot use more is not pitied for having less.

mod all_used;
mod envy_free;
mod equal_throughput;
mod finding;
mod over_time;
mod pareto;
mod sharing_incentive;
mod usable;

pub use all_used::all_used;
pub use envy_free::{envy, envy_free, envy_in_words, envy_matrix};
pub use equal_throughput::equal_throughput;
pub use finding::{Finding, Names, Property, TOLERANCE};
pub use over_time::{pareto_over_time, sharing_incentive_over_time};
pub use pareto::pareto;
pub use sharing_incentive::sharing_incentive;
pub use usable::{in_use, throughput, throughputs};

use evenhand_solve::{Market, Matrix};

/// Every property that a division can be checked for.
pub const PROPERTIES: &[Property] =
    &[envy_free::ENTRY, sharing_incentive::ENTRY, pareto::ENTRY, equal_throughput::ENTRY, all_used::ENTRY];

/// Holds callers to shares of the market's shape.
fn assert_shape(market: &Market, shares: &Matrix) {
    assert_eq!(shares.len(), market.parties(), "a row of shares for every party");
    assert!(shares.is_empty() || shares.columns() == market.models(), "a column of shares for every model");
}

#[cfg(test)]
mod golden;
