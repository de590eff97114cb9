//! How fast, how long, how much memory, how much harm: what is believed of a job before and while it runs.

mod curves;
mod declared;
mod dirichlet;
mod history;
pub mod learned;
mod measured;
mod regimes;
mod sharing;

use evenhand_core::Predictor;
pub use sharing::with_learned;

/// A predictor and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct PredictorEntry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Makes one.
    pub build: fn() -> Box<dyn Predictor>,
}

/// All predictors.
pub const PREDICTORS: &[PredictorEntry] =
    &[declared::ENTRY, measured::ENTRY, curves::ENTRY, dirichlet::ENTRY, regimes::ENTRY, history::ENTRY];

/// The predictor of someone who chose none.
pub const DEFAULT_PREDICTOR: &str = "declared";

/// A job of so many steps on one GPU, just submitted.
#[cfg(test)]
fn job_for_tests(steps: f64) -> evenhand_core::Job {
    use evenhand_core::{
        ClassIndex, GpuTime, Job, JobId, JobSpec, JobState, PerModel, Regime, Span, TenantId, Time, Work,
    };
    Job {
        spec: std::sync::Arc::new(JobSpec::new(JobId(1), TenantId(0), 1, Some(Work::from_steps(steps)))),
        submitted: Time::ZERO,
        state: JobState::Held,
        done: Work::ZERO,
        heard: Time::ZERO,
        saved: Work::ZERO,
        worked: None,
        attained: PerModel::all(GpuTime::ZERO),
        waited: Span::ZERO,
        regime: Regime::default(),
        past: Vec::new(),
        class: ClassIndex(0),
        starts: 0,
        crashes: 0,
        out_of_memory: 0,
    }
}
