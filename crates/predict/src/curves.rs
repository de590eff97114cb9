//! Believes that a job with a target ends where its loss will reach it: all its work from a fit of the losses seen so far.
//!
//! Speeds are as declared, and so is the work of a job that has no target, reports no loss or has not reported enough: the
//! iteration limit. A fit never promises more than that limit nor less than what is done. It is made again when the
//! reports have grown by a tenth, and told when it is off by more than [`TOLERANCE`].

use crate::PredictorEntry;
use crate::declared::{as_declared, changes_regime, speeds};
use evenhand_core::{
    Cluster, DemandSharing, EndCause, Estimate, Event, Forecast, Interference, Job, JobId, Moved, Predictor,
    Sample, SaveError, Saved, Work,
};
use evenhand_measure::LossFit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "curves",
    summary: "Believes declared speeds, and of jobs with a target that they end where their loss curve will reach it.",
    build: || Box::new(Curves::default()),
};

/// What is told is told anew when some end of it is off by more than this part.
const TOLERANCE: f64 = 0.02;

/// Reports that are kept of a job; of more, every other one goes.
const POINTS_MAX: usize = 128;

#[derive(Default, Serialize, Deserialize)]
struct Curves {
    trails: BTreeMap<JobId, Trail>,
}

/// What a job has reported, and what was made of it.
#[derive(Default, Serialize, Deserialize)]
struct Trail {
    /// Steps and loss, in the order of steps.
    points: Vec<(f64, f64)>,
    /// The number of reports at which to fit again.
    fit_at: usize,
    told: Option<Estimate<Work>>,
}

impl Predictor for Curves {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let job = sample.job;
        let moved = match sample.event {
            Event::Progress { done, loss: Some(loss), .. } if job.spec.target.is_some() => {
                let trail = self.trails.entry(job.spec.id).or_default();
                trail.take(*done, loss.get()) && trail.tell(job)
            }
            Event::LeaseEnded { cause: EndCause::Finished { .. }, .. } => {
                self.trails.remove(&job.spec.id);
                false
            }
            _ => false,
        };
        if moved || changes_regime(sample.event) { Moved::Job } else { Moved::Nothing }
    }

    fn forecast(&self, job: &Job, _cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = as_declared(job, &speeds(job));
        if let Some(told) = self.trails.get(&job.spec.id).and_then(|trail| trail.told) {
            forecast.total = Some(told);
        }
        Arc::new(forecast)
    }

    fn interference(&self) -> Arc<dyn Interference> {
        Arc::new(DemandSharing)
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Saved::of(self)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), SaveError> {
        *self = saved.read()?;
        Ok(())
    }
}

impl Trail {
    /// Takes a report; whether it is time to fit again. After a crash a job reports what is known already.
    fn take(&mut self, done: Work, loss: f64) -> bool {
        if self.points.last().is_some_and(|(steps, _)| *steps >= done.steps()) {
            return false;
        }
        self.points.push((done.steps(), loss));
        if self.points.len() > POINTS_MAX {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 0
            });
            self.fit_at = self.points.len();
        }
        self.points.len() >= self.fit_at
    }

    /// Fits the reports; whether something else is believed now.
    fn tell(&mut self, job: &Job) -> bool {
        self.fit_at = self.points.len() + (self.points.len() / 10).max(1);
        let (Some(limit), Some(target)) = (job.spec.work, job.spec.target) else { return false };
        let Some(fit) = LossFit::of(&self.points, limit.steps()) else { return false };
        let steps = fit.steps_to(target.get(), limit.steps());
        let within = |steps: f64| Work::from_steps(steps).max(job.done).min(limit.max(job.done));
        let found = Estimate { mean: within(steps.mean), low: within(steps.low), high: within(steps.high) };
        let is_off =
            |told: Work, now: Work| (now.0 as f64 - told.0 as f64).abs() > TOLERANCE * limit.0 as f64;
        let moved = self.told.is_none_or(|told| {
            is_off(told.mean, found.mean) || is_off(told.low, found.low) || is_off(told.high, found.high)
        });
        if moved {
            self.told = Some(found);
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{LeaseId, Loss, Random, Time};

    fn job(target: f64, limit: f64) -> Job {
        let mut job = crate::job_for_tests(limit);
        Arc::make_mut(&mut job.spec).target = Some(Loss::new(target).unwrap());
        job
    }

    /// What is believed of all the work of a job after each of its reports.
    fn beliefs(loss: impl Fn(f64) -> f64, target: f64, limit: f64, reports: &[f64]) -> Vec<Estimate<Work>> {
        let mut curves = Curves::default();
        let mut job = job(target, limit);
        let cluster = Cluster::default();
        let each = reports.iter().map(|steps| {
            job.done = Work::from_steps(*steps);
            let loss = Some(Loss::new(loss(*steps)).unwrap());
            let (done, saved) = (job.done, job.done);
            let event = Event::Progress { lease: LeaseId(1), done, saved, regime: None, worked: None, loss };
            let (demand, lease, halted, cluster) = (None, None, None, &cluster);
            curves.observe(&Sample {
                now: Time::ZERO,
                job: &job,
                event: &event,
                demand,
                lease,
                halted,
                cluster,
            });
            curves.forecast(&job, cluster).total.unwrap()
        });
        each.collect()
    }

    #[test]
    fn the_end_is_seen_better_the_longer_a_job_runs_and_better_than_by_its_limit() {
        let (limit, every) = (1000.0, 20.0);
        let mut random = Random::new(5);
        // At each quarter of a life: the mean error, that of the limit, and the width of the interval. Seen: 41, 13, 6 and
        // 2 % against 83 %; 86 % of the truths inside.
        let mut sums = [[0.0; 3]; 4];
        let (mut inside, mut told) = (0.0, 0.0);
        for _ in 0..100 {
            let (floor, scale, power) =
                (random.between(0.2, 1.0), random.between(20.0, 200.0), random.between(0.5, 1.5));
            let curve = move |steps: f64| floor + 2.0 * (1.0 + steps / scale).powf(-power);
            let end = random.between(300.0, 900.0);
            let count = (end / every) as usize;
            let reports: Vec<f64> = (1..=count).map(|at| at as f64 * every).collect();
            let noises: Vec<f64> = reports.iter().map(|_| random.log_normal(0.0, 0.01)).collect();
            let noisy = |steps: f64| curve(steps) * noises[(steps / every) as usize - 1];
            let found = beliefs(noisy, curve(end), limit, &reports);
            for (quarter, sums) in sums.iter_mut().enumerate() {
                let estimate = found[(count * (quarter + 1) / 4).max(1) - 1];
                sums[0] += (estimate.mean.steps() - end).abs() / end;
                sums[1] += (limit - end) / end;
                sums[2] += (estimate.high.steps() - estimate.low.steps()) / end;
                told += 1.0;
                inside += f64::from(u8::from(
                    estimate.low.steps() <= end + every && end - every <= estimate.high.steps(),
                ));
            }
        }
        let means = sums.map(|sums| sums.map(|sum| sum / 100.0));
        assert!(means.windows(2).all(|pair| pair[1][0] <= pair[0][0] + 0.02), "errors {means:?}");
        assert!(means.iter().all(|[own, of_limit, _]| own < of_limit), "against the limit {means:?}");
        assert!(means[3][2] < means[0][2] && means[3][0] < 0.1, "{means:?}");
        assert!(inside / told > 0.75, "only {} of the truths lie inside", inside / told);
    }

    #[test]
    fn a_target_that_is_out_of_reach_means_the_limit() {
        let reports: Vec<f64> = (1..=30).map(|at| f64::from(at) * 10.0).collect();
        let found = beliefs(|steps| 1.0 + 1.0 / (1.0 + steps / 20.0), 0.8, 1000.0, &reports);
        let last = found.last().unwrap();
        assert!(last.mean.steps() > 950.0 && last.high == Work::from_steps(1000.0), "{last:?}");
    }

    #[test]
    fn a_report_from_before_a_crash_says_nothing_new() {
        let mut trail = Trail::default();
        assert!(trail.take(Work(10), 2.0) && trail.take(Work(20), 1.0));
        assert!(!trail.take(Work(10), 2.0) && trail.points.len() == 2);
    }
}
