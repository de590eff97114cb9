//! What fairness cost: the total throughput of a run against what sharing without trading would have given, and against
//! the most that was possible if fairness were no concern.
//!
//! ```text
//! total        = sum_k w_k.x_k over the kinds of jobs of all tenants
//! equal split  = sum_i alone_i: everybody uses its own part of every model and nothing else
//! most         = the largest sum of w_k.z_k that GPUs and demands allow, in every stretch of the run
//! price        = 1 - total / most
//! ```
//!
//! The most cuts GPUs and gangs as it likes, so nothing does better with the same demands at the same times, as long as
//! jobs agree which models are faster. The price is the most that fairness can have cost, together with what whole GPUs cost.

use super::received::Received;
use super::rounded;
use serde::Serialize;

/// Totals in GPUs of the reference model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Total {
    /// What the tenants received.
    #[serde(rename = "total")]
    pub received: f64,
    /// What an equal split of every model would have given.
    #[serde(rename = "total_equal_split")]
    pub equal_split: f64,
    /// The most that was possible; NaN if it was not worked out.
    #[serde(rename = "total_most")]
    pub most: f64,
    /// By how much the total exceeds that of an equal split, as a fraction of the latter.
    pub gain_over_equal_split: f64,
    /// The part of the most that was not reached.
    pub price_of_fairness: f64,
}

impl Total {
    pub(super) fn new(received: &Received) -> Self {
        let total: f64 = received.throughputs.iter().sum();
        let equal_split: f64 = received.alone.iter().sum();
        let most = received.reach.most;
        let gain = if equal_split > 0.0 { total / equal_split - 1.0 } else { f64::NAN };
        let price = if most > 0.0 { (1.0 - total / most).max(0.0) } else { f64::NAN };
        Self {
            received: rounded(total),
            equal_split: rounded(equal_split),
            most: rounded(most),
            gain_over_equal_split: rounded(gain),
            price_of_fairness: rounded(price),
        }
    }
}
