//! Believes what the submitter said, for better or worse, and the speed that was measured since the batch size changed.
//!
//! In a trace that knows its durations this is exact unless faults make submitters lie; a report says which
//! predictor was used, so that nobody mistakes known sizes for a forecast.

use crate::PredictorEntry;
use evenhand_core::{
    Cluster, Demand, Estimate, Event, Forecast, Interference, Job, Moved, PerModel, Predictor, Rate,
    RegimeForecast, Sample, TimeSlicing, Work,
};
use std::sync::Arc;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "declared",
    summary: "Believes the work and the speeds that the submitter declared.",
    build: || Box::new(Declared),
};

struct Declared;

impl Predictor for Declared {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        if changes_regime(sample.event) { Moved::Job } else { Moved::Nothing }
    }

    fn forecast(&self, job: &Job, _cluster: &Cluster) -> Arc<Forecast> {
        Arc::new(as_declared(job, &speeds(job)))
    }

    fn interference(&self) -> Arc<dyn Interference> {
        Arc::new(TimeSlicing)
    }
}

/// Whether a job says that its batch size is another now.
pub(crate) fn changes_regime(event: &Event) -> bool {
    matches!(event, Event::Progress { regime: Some(_), .. })
}

/// The declared speeds in the batch size in force.
pub(crate) fn speeds(job: &Job) -> PerModel<Estimate<Rate>> {
    let mut speed = PerModel::default();
    for (estimate, rate) in speed.0.iter_mut().zip(job.spec.speed_row().0) {
        *estimate = Estimate::exact(rate.times(job.regime.speed.get()));
    }
    speed
}

/// What the submitter said, with these speeds.
pub(crate) fn as_declared(job: &Job, speed: &PerModel<Estimate<Rate>>) -> Forecast {
    let spec = &job.spec;
    let mut demand = Demand { duty: 1.0, ..Demand::default() };
    if let Some(memory) = spec.memory {
        demand.memory = Estimate::exact(memory);
    }
    Forecast {
        speed: *speed,
        scaling: spec.scaling.clone(),
        total: spec.work.map(Estimate::exact),
        regimes: regimes(job),
        demand: PerModel::all(demand),
        restart: Estimate::exact(spec.restart.save + spec.restart.restore),
    }
}

/// The announced regimes that have not ended, each with its work.
fn regimes(job: &Job) -> Vec<RegimeForecast> {
    let spec = &job.spec;
    let ends = spec.regimes.iter().skip(1).map(|next| next.from).chain(spec.work);
    let announced = spec.regimes.iter().zip(ends);
    let left = announced.filter(|(_, end)| *end > job.done);
    let forecast = left.map(|(regime, end)| {
        let work: Work = end.less(regime.from.max(job.done));
        RegimeForecast { work: Estimate::exact(work), speed: regime.speed }
    });
    forecast.collect()
}
