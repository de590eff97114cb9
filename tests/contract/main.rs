//! The contract of every world: one suite of checks, run on each `Backend`.
//!
//! To try another world: write its [`suite::Stage`] in a file beside `local.rs`, and call `contract!` there.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test may stop at the first surprise"))]

#[path = "../slurm/cluster.rs"]
mod cluster;
mod kubernetes;
mod local;
mod retries;
mod simulated;
mod slurm;
mod suite;
mod supervised;
mod twenty;
