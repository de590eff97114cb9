//! The real world: backends that run jobs for real, against the wall clock.
//!
//! So far there is one, [`LocalWorld`], which runs jobs as child processes of this machine.

mod clock;
mod local;
pub mod store;

pub use local::{EXPIRY_GRACE, LocalJob, LocalScript, LocalWorld, Outage, Program};
