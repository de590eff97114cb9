//! A simulated world: the same engine, on work that is described instead of run.
//!
//! Event-driven, with exact finish times: nothing is stamped at the end of a round. The truth about a job (how
//! fast it really runs, when it really crashes) lives here; what the scheduler believes lives elsewhere, and the
//! two share no code path.

mod agenda;
pub mod apps;
mod cluster;
mod colocation;
mod curve;
mod execution;
mod experiment;
mod faults;
mod history;
mod input;
mod original;
pub mod profiles;
mod recipe;
mod reports;
mod scenario;
pub mod traces;
mod truth;
pub mod tuners;
mod workload;
mod world;

pub use cluster::{ClusterSpec, NodeGroup};
pub use colocation::{Colocation, PairTruth};
pub use curve::Curve;
pub use experiment::{
    Finished, Run, RunError, Semantics, Setup, SetupError, Timings, engine_for, in_parallel, simulate,
};
pub use faults::{Faults, Straggling};
pub use history::{Again, History, HistoryError, Lean};
pub use input::InputError;
pub use original::OriginalWorld;
pub use recipe::{Adaptation, Recipe};
pub use reports::{Reports, parse_report};
pub use scenario::{Scenario, WorkloadChoice};
pub use truth::{EqualTurns, Resident, TrueInterference, alone};
pub use workload::{SimApp, SimJob, Workload};
pub use world::World;
