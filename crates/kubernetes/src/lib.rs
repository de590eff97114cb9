//! Kubernetes as what runs jobs: a scheduler for pods that ask for it by name.
//!
//! Watches tell what is there; gangs of pods that are complete are submitted to the service as jobs; leases are carried out by binding all pods
//! of a gang, and ended by evicting them. [`connect`] begins, [`Connection::runner`] is what the service runs jobs with;
//! news flows once the service has taken up what its ledger says. The cluster is the truth: nothing is kept here.

mod act;
mod books;
mod connect;
mod facts;
mod gang;
mod hub;
mod leader;
mod model;
mod node;
mod owner;
mod pass;
mod pod;
mod rules;
mod runner;
mod say;
mod sight;
mod submission;
mod sums;
mod tracked;
mod watch;
mod why;
mod words;

pub use connect::{Connection, KubernetesConfig, KubernetesError, connect};
pub use leader::{LeaderConfig, LeaderError};
pub use runner::ABILITIES;
pub use sight::KubernetesEyes;
