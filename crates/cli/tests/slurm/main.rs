//! The service over a real Slurm: jobs of three tenants, and everything that can fail, in the middle of it.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../../../../tests/slurm/cluster.rs"]
mod cluster;
mod many;
mod same;
#[path = "../../../../tests/engines/same.rs"]
mod scenario;
mod server;
mod shadow;
mod shares;
mod submitters;
mod troubles;
mod verdict;
