//! The door of the service from outside: every role at every route, tenants among each other, and people who mean harm.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "../service/eventually.rs"]
mod eventually;
mod fuzz;
mod hostile;
mod roles;
mod server;
#[path = "../service/skipped.rs"]
mod skipped;
mod tenants;
mod tls;
mod tokens;
mod users;
