//! Believes that the batch sizes that a job may use share its epochs as a Dirichlet distribution says, as published with
//! Shockwave (Zheng et al., NSDI 2023).
//!
//! ```text
//! B_i, E_i, e_i   declared batch sizes (modes), epochs in all, epochs done (rounded down)
//! prior           alpha_b  = E_i / |B_i|
//! posterior       alpha'_b = alpha_b + number of epochs 0..=e_i with b : the current one too
//! expected        n_b      = E_i alpha'_b / sum_b alpha'_b
//! restated        n_b      less one for each observed epoch of b, as long as n_b >= 1
//! I_i             max(int(sum_b n_b + 1), E_i - e_i)
//! R_i             (E_i - e_i) / I_i sum_b n_b D_b : seconds left; D_b = an epoch at the declared speed in b
//! ```
//!
//! The batch sizes and their speeds are taken from the job's declaration, as the original takes them from a profile of the
//! very run that it predicts. It has no interval, and neither has this. Durations are
//! whole seconds on the reference GPU model, one at least, as in the original. A batch size that was not declared counts for no mode. Jobs that declare no modes
//! are believed as by `declared`.

use crate::PredictorEntry;
use crate::declared::{as_declared, changes_regime, relative, speeds};
use evenhand_core::{
    Cluster, DemandSharing, Estimate, Event, Forecast, Interference, Job, JobSpec, ModelIndex, Moved,
    Predictor, Ratio, RegimeForecast, Sample, SaveError, Saved, Work,
};
use std::sync::Arc;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "dirichlet",
    summary: "Believes declared speeds, and that declared batch sizes share a job's epochs as published with Shockwave.",
    build: || Box::new(Dirichlet),
};

struct Dirichlet;

impl Predictor for Dirichlet {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let counts = matches!(sample.event, Event::Progress { .. }) && !sample.job.spec.modes.is_empty();
        if counts || changes_regime(sample.event) { Moved::Job } else { Moved::Nothing }
    }

    fn forecast(&self, job: &Job, _cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = as_declared(job, &speeds(job));
        let seen = job.past.iter().map(|span| span.regime).chain([job.regime]);
        let steps = seen.map(|regime| (regime.from.steps(), regime.batch));
        if let Some(expected) = Expected::of(&job.spec, job.done.steps(), steps) {
            expected.tell(job, &mut forecast);
        }
        Arc::new(forecast)
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

/// What is expected of the rest of a job.
#[derive(Debug)]
pub(crate) struct Expected {
    /// Epochs that each mode has left, so that with their durations they come to R_i.
    epochs: Vec<f64>,
    /// The mode in force.
    current: usize,
    /// Steps of an epoch.
    epoch: f64,
}

impl Expected {
    /// From what was declared, the steps done, and the regimes until now: where they began, and their batch sizes.
    pub fn of(spec: &JobSpec, done: f64, regimes: impl Iterator<Item = (f64, u32)>) -> Option<Self> {
        let (total, epoch) = (spec.work?.steps(), spec.epoch?.steps());
        let modes = &spec.modes;
        if modes.is_empty() || epoch <= 0.0 || total <= 0.0 {
            return None;
        }
        let all = (total / epoch).ceil();
        let past = (done / epoch).floor().min(all);
        let mut counts = vec![0.0; modes.len()];
        let mut current = None;
        let mut begun = 0.0_f64;
        for (from, batch) in regimes {
            // Batch sizes change where epochs end, up to the rounding of an epoch to whole steps.
            let from = (from / epoch).round().clamp(begun, past);
            count(&mut counts, current, from - begun);
            begun = from;
            // Nothing was heard yet: it begins with the first.
            current = if batch == 0 { Some(0) } else { modes.iter().position(|mode| mode.batch == batch) };
        }
        count(&mut counts, current, past + 1.0 - begun);
        let prior = all / modes.len() as f64;
        let sum: f64 = counts.iter().map(|count| prior + count).sum();
        let restated = counts.iter().map(|count| {
            let expected = all * (prior + count) / sum;
            expected - count.min(expected.floor())
        });
        let mut epochs: Vec<f64> = restated.collect();
        let left: f64 = epochs.iter().sum();
        let scale = (all - past) / (left + 1.0).floor().max(all - past).max(1.0);
        for epochs in &mut epochs {
            *epochs *= scale;
        }
        Some(Self { epochs, current: current.unwrap_or(0), epoch })
    }

    /// The steps of each mode that has some, with its speed relative to the declared one: the mode in force first, the others as declared.
    pub fn stretches(&self, spec: &JobSpec) -> impl Iterator<Item = (f64, Ratio)> {
        self.modes().map(|mode| (self.epochs[mode] * self.epoch, spec.modes[mode].speed))
    }

    /// The modes that have something left, the one in force first.
    fn modes(&self) -> impl Iterator<Item = usize> {
        let own = std::iter::once(self.current);
        let others = (0..self.epochs.len()).filter(|mode| *mode != self.current);
        own.chain(others).filter(|mode| self.epochs[*mode] > 0.0)
    }

    /// The speed at which an epoch of a mode takes whole seconds on the reference GPU model, and one at least.
    fn whole_seconds(&self, spec: &JobSpec, mode: usize) -> Ratio {
        let (declared, speed) = (spec.speed(ModelIndex(0)).get(), spec.modes[mode].speed);
        let seconds = self.epoch / (declared * speed.get());
        Ratio::new(self.epoch / (declared * seconds.round().max(1.0)))
            .ok()
            .filter(|_| seconds.is_finite())
            .unwrap_or(speed)
    }

    /// Shares the work that is left among the modes; the rest of the formula is a stretch.
    fn tell(&self, job: &Job, forecast: &mut Forecast) {
        let rest = job.spec.work.unwrap_or_default().less(job.done).steps();
        let steps: f64 = self.stretches(&job.spec).map(|(steps, _)| steps).sum();
        if rest <= 0.0 || steps <= 0.0 {
            return;
        }
        let regime = |mode: usize| RegimeForecast {
            work: Estimate::exact(Work::from_steps(self.epochs[mode] * self.epoch * rest / steps)),
            speed: relative(self.whole_seconds(&job.spec, mode), job),
        };
        forecast.regimes = self.modes().map(regime).collect();
        forecast.stretch = Estimate::exact(Ratio::new(steps / rest).unwrap_or_default());
    }
}

fn count(counts: &mut [f64], mode: Option<usize>, epochs: f64) {
    if let Some(mode) = mode {
        counts[mode] += epochs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_for_tests;
    use evenhand_core::{Mode, ModelIndex, Regime, RegimeSpan};

    /// Ten epochs of ten steps, of batch 16 and of batch 32, which is twice as fast.
    fn job() -> Job {
        let mut job = job_for_tests(100.0);
        let mode = |batch, speed| Mode { batch, speed: Ratio::new(speed).unwrap() };
        let spec = Arc::make_mut(&mut job.spec);
        spec.epoch = Some(Work::from_steps(10.0));
        spec.modes = vec![mode(16, 1.0), mode(32, 2.0)];
        job
    }

    /// Seconds that are left by the formula, written out once more.
    fn by_hand(counts: [f64; 2], done: f64) -> f64 {
        let n = counts.map(|count| {
            let mut n = 10.0 * (5.0 + count) / (10.0 + counts[0] + counts[1]);
            for _ in 0..count as usize {
                if n >= 1.0 {
                    n -= 1.0;
                }
            }
            n
        });
        let whole = f64::max((n[0] + n[1] + 1.0).floor(), 10.0 - done);
        (10.0 - done) / whole * (n[0] * 10.0 + n[1] * 5.0)
    }

    fn left(job: &Job) -> f64 {
        let forecast = Dirichlet.forecast(job, &Cluster::default());
        let estimate = forecast.seconds_from(ModelIndex(0), job.done).unwrap();
        assert!((estimate.mean - estimate.high).abs() < 1e-9);
        let work: Work = forecast.regimes.iter().map(|regime| regime.work.mean).sum();
        assert!((work.steps() - (100.0 - job.done.steps())).abs() < 0.01, "they cover what is left");
        estimate.mean
    }

    #[test]
    fn the_formula_is_the_published_one() {
        let mut job = job();
        // Prior 5 and 5; the first epoch counts as seen: 10 * 6 / 11 - 1 = 4.4545 and 10 * 5 / 11 = 4.5455, of 10 of 10.
        assert!((left(&job) - (44.545 + 22.727)).abs() < 0.01, "{}", left(&job));
        for done in 0..7 {
            job.done = Work::from_steps(f64::from(done) * 10.0 + 3.0);
            let expected = by_hand([f64::from(done) + 1.0, 0.0], f64::from(done));
            assert!((left(&job) - expected).abs() < 0.01, "{done}: {} and {expected}", left(&job));
        }
        let was = Regime { batch: 0, ..Regime::default() };
        job.past = vec![RegimeSpan { regime: was, until: Work::from_steps(30.0) }];
        job.regime = Regime { batch: 32, from: Work::from_steps(30.0), speed: Ratio::new(2.0).unwrap() };
        job.done = Work::from_steps(50.0);
        assert!((left(&job) - by_hand([3.0, 3.0], 5.0)).abs() < 0.01);
        job.done = Work::from_steps(100.0);
        assert!(left(&job).abs() < 1e-9);
    }

    #[test]
    fn a_job_that_declares_no_modes_is_as_declared() {
        let mut job = job();
        Arc::make_mut(&mut job.spec).modes.clear();
        assert!((left_of(&job) - 100.0).abs() < 1e-9);
    }

    fn left_of(job: &Job) -> f64 {
        Dirichlet.forecast(job, &Cluster::default()).seconds_from(ModelIndex(0), job.done).unwrap().mean
    }
}
