//! The contract of every world: one suite of checks, run on each `Backend`.
//!
//! To try another world: write its [`suite::Stage`] in a file beside `local.rs`, and call `contract!` there.

mod local;
mod retries;
mod simulated;
mod suite;
mod twenty;
