//! Believes what the submitter said, for better or worse, and the speed that was measured since the batch size changed.
//!
//! In a trace that knows its durations this is exact unless faults make submitters lie; a report says which
//! predictor was used, so that nobody mistakes known sizes for a forecast.

use crate::PredictorEntry;
use evenhand_core::{
    Cluster, Demand, DemandSharing, Estimate, Event, Forecast, Interference, Job, Moved, PerModel, Predictor,
    Rate, Ratio, RegimeForecast, Sample, SaveError, Saved, Work,
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
        Arc::new(DemandSharing)
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Ok(Saved::default())
    }

    fn load(&mut self, _saved: &Saved) -> Result<(), SaveError> {
        Ok(())
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
        ends: None,
        regimes: regimes(job),
        from: job.done,
        stretch: Estimate::default(),
        demand: spec.demand.as_deref().copied().unwrap_or(PerModel::all(demand)),
        restart: Estimate::exact(spec.restart.save + spec.restart.restore),
    }
}

/// The regime in force and the announced ones that come after it, each with its work; empty if none comes.
fn regimes(job: &Job) -> Vec<RegimeForecast> {
    let spec = &job.spec;
    let announced = spec.regimes.iter().filter(|regime| regime.from > job.done);
    let starts = announced.clone().map(|regime| regime.from);
    let Some(end) = spec.work.filter(|_| starts.clone().next().is_some()) else { return Vec::new() };
    let speeds = announced.map(|regime| relative(regime.speed, job));
    let froms = std::iter::once(job.done).chain(starts.clone());
    let edges = froms.zip(starts.chain([end]));
    let forecast = std::iter::once(Ratio::ONE).chain(speeds).zip(edges).map(|(speed, (from, until))| {
        let work: Work = until.min(end).less(from);
        RegimeForecast { work: Estimate::exact(work), speed }
    });
    forecast.collect()
}

/// A speed that is relative to the declared one, relative to that in force.
pub(crate) fn relative(speed: Ratio, job: &Job) -> Ratio {
    Ratio::new(speed.get() / job.regime.speed.get()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_for_tests;
    use evenhand_core::{ModelIndex, Regime, RegimeSpec};

    #[test]
    fn what_was_announced_counts_from_the_regime_in_force() {
        let mut job = job_for_tests(100.0);
        let regime = |from, speed| RegimeSpec {
            from: Work::from_steps(from),
            batch: 1,
            speed: Ratio::new(speed).unwrap(),
        };
        Arc::make_mut(&mut job.spec).regimes = vec![regime(20.0, 2.0), regime(60.0, 4.0)];
        let left = |job: &Job| {
            let forecast = Declared.forecast(job, &Cluster::default());
            forecast.seconds_from(ModelIndex(0), job.done).unwrap().mean
        };
        assert!((left(&job) - (20.0 + 20.0 + 10.0)).abs() < 1e-9);
        job.done = Work::from_steps(40.0);
        job.regime = Regime { batch: 1, from: Work::from_steps(20.0), speed: Ratio::new(2.0).unwrap() };
        assert!((left(&job) - 20.0).abs() < 1e-9);
        job.done = Work::from_steps(80.0);
        job.regime = Regime { batch: 1, from: Work::from_steps(60.0), speed: Ratio::new(4.0).unwrap() };
        assert!((left(&job) - 5.0).abs() < 1e-9);
    }
}
