//! What is believed of a job. Beliefs and truths are different objects: this is the former.

use crate::{
    Bytes, Estimate, GpuCount, GpuModel, Locality, ModelIndex, PerModel, Rate, Ratio, Scaling, SharingMode,
    Span, Work,
};
use serde::{Deserialize, Serialize};

/// What a job asks of one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Share of time in which some kernel runs, 0 to 1.
    pub duty: f64,
    /// Share of streaming multiprocessors in use, 0 to 1.
    pub sm: f64,
    /// Share of tensor throughput in use, 0 to 1.
    pub tensor: f64,
    /// Share of memory bandwidth in use, 0 to 1.
    pub bandwidth: f64,
    /// GPU memory; `high` is what admission counts with.
    pub memory: Estimate<Bytes>,
}

/// A regime still to come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegimeForecast {
    /// Its work.
    pub work: Estimate<Work>,
    /// Its speed relative to `Forecast::speed`.
    pub speed: Ratio,
}

/// What the predictor believes of one job, on every GPU model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Speed alone, in one place, on `gpus.min` GPUs; zero = cannot run there.
    pub speed: PerModel<Estimate<Rate>>,
    /// The effect of GPU count and distance.
    pub scaling: Scaling,
    /// All the work from the first step to the last, done or not; `None` if nothing is known.
    pub total: Option<Estimate<Work>>,
    /// Regimes still to come, in order.
    pub regimes: Vec<RegimeForecast>,
    /// What it asks of one GPU of each model.
    pub demand: PerModel<Demand>,
    /// Time lost by stopping and starting again.
    pub restart: Estimate<Span>,
}

impl Forecast {
    /// The expected speed on this many GPUs of a model, spread this far.
    pub fn rate(&self, model: ModelIndex, range: crate::GpuRange, gpus: GpuCount, span: Locality) -> Rate {
        self.speed[model].mean.times(self.scaling.factor(range, gpus, span))
    }
}

/// How much slower a job runs beside others. A pure function, carried by the snapshot.
pub trait Interference: Send + Sync {
    /// The slowdown (at least 1) of a job that asks `own` beside jobs that ask `others`.
    fn slowdown(
        &self,
        own: &Demand,
        others: &[&Demand],
        model: &GpuModel,
        mode: SharingMode,
    ) -> Estimate<Ratio>;
    /// Names the function, so that a capture can say which one was used.
    fn version(&self) -> &str;
}

/// The simplest belief: jobs on one GPU take turns.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSlicing;

impl Interference for TimeSlicing {
    fn slowdown(
        &self,
        _own: &Demand,
        others: &[&Demand],
        _model: &GpuModel,
        _mode: SharingMode,
    ) -> Estimate<Ratio> {
        Estimate::exact(Ratio::new(1.0 + others.len() as f64).unwrap_or_default())
    }
    fn version(&self) -> &'static str {
        "time-slicing-1"
    }
}
