//! Fairness as functions: what a fair division would be, and how far from it an outcome is.
//!
//! Policies, reports and tests use the same code, so they cannot disagree about what fair means. One subject per
//! file, each citing where its definition comes from.

mod water_fill;

pub use water_fill::water_fill;
