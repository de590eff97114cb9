//! The service from outside: every role at every route, tenants among each other, people who mean harm, jobs that hide, disks
//! that fail.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod cgroups;
mod disk;
#[path = "../service/eventually.rs"]
mod eventually;
mod fuzz;
mod groups;
mod hostile;
mod roles;
mod server;
#[path = "../service/skipped.rs"]
mod skipped;
mod tenants;
mod tls;
mod tokens;
mod users;
