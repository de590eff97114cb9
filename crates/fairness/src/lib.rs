//! Fairness as functions: what a fair division would be, and how far from it an outcome is.
//!
//! Policies, reports and tests use the same code, so they cannot disagree about what fair means. One subject per
//! file, each citing where its definition comes from.

mod app;
pub mod division;
mod finish_time;
mod fluid;
mod jain;
mod lies;
mod packable;
mod strategy_resistance;
mod water_fill;

pub use app::{AppJob, Ideal, app_seconds, ideal_seconds};
pub use finish_time::{UNFAIR_ABOVE, rho_dynamic, rho_static};
pub use fluid::{FluidJob, fluid_finishes};
pub use jain::jain;
pub use lies::LieKind;
pub use packable::packable;
pub use strategy_resistance::{Search, Temptation, strategy_resistance};
pub use water_fill::water_fill;
