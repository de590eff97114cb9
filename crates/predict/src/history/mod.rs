//! Believes that jobs end where jobs like them did.
//!
//! ```text
//! size      of a job that declares its work, work done / work declared ;  of one that does not, seconds on its fastest GPU model
//! like it   jobs of its tenant with the same gang, shrunk towards those of its tenant, shrunk towards all
//! ends      the odds of every size, by what became of these jobs (see `hazards`)
//! ```
//!
//! A submitter who is always right is believed to the step; one who is twice off is expected to be; of jobs of which nothing is declared as much is known as
//! those before them have shown, and of the first ones nothing. Speeds and their changes are those of `regimes`.

mod hazards;

use crate::{PredictorEntry, regimes};
use evenhand_core::{
    Cluster, EndCause, Ends, Event, Forecast, Interference, Job, JobId, JobSpec, MODELS_MAX, ModelIndex,
    Moved, Predictor, Rate, Sample, SaveError, Saved, TenantId, Work,
};
use hazards::{Hazards, Prior, bin, points, priors};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) const ENTRY: PredictorEntry = PredictorEntry {
    name: "history",
    summary: "Believes that jobs end where jobs like them did, as often as declared; speeds as `regimes`.",
    build: || {
        let (said, unsaid) = (Kept::new(Prior::AsDeclared), Kept::new(Prior::Unknown));
        Box::new(History {
            speeds: (regimes::ENTRY.build)(),
            said,
            unsaid,
            seen: BTreeMap::new(),
            moved: Reach::All,
        })
    },
};

/// Jobs that what holds for more jobs is worth within fewer.
const WIDER_WORTH: f64 = 6.0;

/// Ends after which something is said of jobs that declare nothing.
const ENDS_MIN: f64 = 8.0;

/// Jobs of which it is remembered how far they were: of more, all are counted anew.
const JOBS_MAX: usize = 1 << 16;

/// Everybody is told again when the odds have moved by this much.
const NEWS: f64 = 0.03;

struct History {
    /// Says everything but where jobs end.
    speeds: Box<dyn Predictor>,
    /// Jobs that declare their work, and those that do not.
    said: Kept,
    unsaid: Kept,
    /// The first bin that a job has not been counted in yet.
    seen: BTreeMap<JobId, usize>,
    /// Whom the last observation concerns.
    moved: Reach,
}

/// Whose belief moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    All,
    Alike,
    /// Those whose speeds are alike.
    Speeds,
}

/// What is known of jobs that declare their work, or of those that do not.
#[derive(Serialize, Deserialize)]
struct Kept {
    prior: Prior,
    all: Hazards,
    tenants: BTreeMap<TenantId, Hazards>,
    gangs: BTreeMap<(TenantId, u32), Hazards>,
}

impl Kept {
    fn new(prior: Prior) -> Self {
        Self { prior, all: Hazards::default(), tenants: BTreeMap::new(), gangs: BTreeMap::new() }
    }

    /// Hazards for a job, from the widest group to the narrowest.
    fn hazards(&self, spec: &JobSpec) -> Vec<(f64, f64)> {
        let mut hazards = self.all.hazards(&priors(self.prior, &self.all));
        let narrower = [self.tenants.get(&spec.tenant), self.gangs.get(&group(spec))];
        for group in narrower.into_iter().flatten() {
            for (_, worth) in &mut hazards {
                *worth = worth.min(WIDER_WORTH);
            }
            hazards = group.hazards(&hazards);
        }
        hazards
    }

    fn groups(&mut self, spec: &JobSpec) -> [&mut Hazards; 3] {
        let tenant = self.tenants.entry(spec.tenant).or_default();
        [&mut self.all, tenant, self.gangs.entry(group(spec)).or_default()]
    }

    /// Whose odds are not what they were.
    fn reach(&mut self, spec: &JobSpec) -> Option<Reach> {
        let hazards = self.all.hazards(&priors(self.prior, &self.all));
        if self.all.has_moved(&hazards, NEWS) {
            return Some(Reach::All);
        }
        let hazards = self.hazards(spec);
        let own = self.gangs.entry(group(spec)).or_default();
        own.has_moved(&hazards, NEWS).then_some(Reach::Alike)
    }
}

fn group(spec: &JobSpec) -> (TenantId, u32) {
    (spec.tenant, spec.gpus.min.0)
}

/// Steps in a unit of size: the declared work, or what the job does in a second where it is fastest.
fn unit(spec: &JobSpec) -> f64 {
    let fastest = || spec.speed_row().0.into_iter().map(Rate::get).fold(0.0, f64::max);
    spec.work.map_or_else(fastest, Work::steps).max(1e-3)
}

/// For how long a job that never said how far it is held its GPUs, in seconds on its fastest GPU model.
fn seconds_held(job: &Job) -> f64 {
    let fastest = unit(&job.spec);
    let relative = |model: ModelIndex| job.spec.speed(model).get() / fastest;
    let models = (0..MODELS_MAX as u16).map(ModelIndex);
    let gpu_ms: f64 = models.map(|model| job.attained[model].0 as f64 * relative(model)).sum();
    gpu_ms / 1e3 / f64::from(job.spec.gpus.min.0)
}

impl History {
    /// The bins that a job has come through since it was last heard of. One that fell back after a crash comes through nothing new until it is
    /// where it was.
    fn advance(&mut self, job: JobId, to: usize, ended: bool) -> Range<usize> {
        let from = self.seen.remove(&job).unwrap_or(0);
        if !ended {
            if self.seen.len() >= JOBS_MAX {
                // Those that were given up are never heard of again.
                self.seen.clear();
            }
            self.seen.insert(job, from.max(to));
        }
        from..from.max(to)
    }
}

impl Predictor for History {
    fn observe(&mut self, sample: &Sample<'_>) -> Moved {
        let moved = self.speeds.observe(sample);
        self.moved = Reach::Speeds;
        let spec = &sample.job.spec;
        let (done, ended) = match sample.event {
            Event::LeaseEnded { done, cause, .. } => (*done, matches!(cause, EndCause::Finished { .. })),
            Event::Progress { done, .. } => (*done, false),
            _ => return moved,
        };
        let is_silent = ended && spec.work.is_none() && done == Work::ZERO;
        let size = if is_silent { seconds_held(sample.job) } else { done.steps() / unit(spec) };
        let passed = self.advance(spec.id, bin(size), ended);
        let kept = if spec.work.is_some() { &mut self.said } else { &mut self.unsaid };
        for group in kept.groups(spec) {
            group.pass(passed.clone());
            if ended {
                group.end(size);
            }
        }
        if !ended {
            return moved;
        }
        match kept.reach(spec) {
            Some(reach) => {
                self.moved = reach;
                Moved::Alike
            }
            None => moved,
        }
    }

    fn alike(&self, other: &JobSpec, observed: &JobSpec) -> bool {
        let ends = match self.moved {
            Reach::All => other.work.is_some() == observed.work.is_some(),
            Reach::Alike => group(other) == group(observed),
            Reach::Speeds => false,
        };
        ends || self.speeds.alike(other, observed)
    }

    fn forecast(&self, job: &Job, cluster: &Cluster) -> Arc<Forecast> {
        let mut forecast = self.speeds.forecast(job, cluster);
        let spec = &job.spec;
        let kept = if spec.work.is_some() { &self.said } else { &self.unsaid };
        if spec.work.is_some() || kept.all.ended >= ENDS_MIN {
            let points = points(&kept.hazards(spec), &kept.all);
            let certain = spec.work.is_some() && points.len() == 1 && (points[0].at - 1.0).abs() <= 0.0;
            let ends = Ends { unit: unit(spec), points: points.into() };
            let told = Arc::make_mut(&mut forecast);
            told.total = told.total.or_else(|| ends.after(job.done));
            told.ends = (!certain).then_some(ends);
        }
        forecast
    }

    fn interference(&self) -> Arc<dyn Interference> {
        self.speeds.interference()
    }

    fn save(&self) -> Result<Saved, SaveError> {
        Saved::of(&(self.speeds.save()?, &self.said, &self.unsaid, &self.seen))
    }

    fn load(&mut self, saved: &Saved) -> Result<(), SaveError> {
        let speeds: Saved;
        (speeds, self.said, self.unsaid, self.seen) = saved.read()?;
        self.speeds.load(&speeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job_for_tests;
    use evenhand_core::{GpuTime, LeaseId, Span, Time};

    fn history() -> Box<dyn Predictor> {
        (ENTRY.build)()
    }

    /// A lease of a job that says nothing of its size ends after so many steps.
    fn end(history: &mut dyn Predictor, id: u64, steps: f64, cause: EndCause) {
        let mut job = job_for_tests(100.0);
        let spec = Arc::make_mut(&mut job.spec);
        (spec.id, spec.work) = (JobId(id), None);
        let done = Work::from_steps(steps);
        let event = Event::LeaseEnded { lease: LeaseId(id), done, saved: done, cause };
        let (now, demand, lease, halted) = (Time::ZERO, None, None, None);
        let cluster = &Cluster::default();
        history.observe(&Sample { now, job: &job, event: &event, demand, lease, halted, cluster });
    }

    fn told(history: &dyn Predictor) -> Option<f64> {
        let mut job = job_for_tests(100.0);
        Arc::make_mut(&mut job.spec).work = None;
        let forecast = history.forecast(&job, &Cluster::default());
        forecast.total_after(Work::ZERO).map(|total| total.mean.steps())
    }

    #[test]
    fn of_sizes_that_nobody_declares_something_is_said_when_enough_jobs_have_ended() {
        let mut history = history();
        for id in 0..8 {
            assert_eq!(told(history.as_ref()), None, "after {id}");
            end(history.as_mut(), id, 400.0, EndCause::Finished { alone: None });
        }
        (8..40).for_each(|id| end(history.as_mut(), id, 400.0, EndCause::Finished { alone: None }));
        let told = told(history.as_ref()).unwrap();
        assert!((300.0..500.0).contains(&told), "{told}");
    }

    #[test]
    fn a_job_that_never_says_how_far_it_is_was_as_large_as_the_time_it_took() {
        let mut history = history();
        for id in 0..40 {
            let mut job = job_for_tests(100.0);
            let spec = Arc::make_mut(&mut job.spec);
            (spec.id, spec.work, spec.speeds) = (JobId(id), None, None);
            job.attained[ModelIndex(0)] = GpuTime::new(job.spec.gpus.min, Span::from_secs(400));
            let (done, cause) = (Work::ZERO, EndCause::Finished { alone: None });
            let event = Event::LeaseEnded { lease: LeaseId(id), done, saved: done, cause };
            let (now, demand, lease, halted) = (Time::ZERO, None, None, None);
            let cluster = &Cluster::default();
            history.observe(&Sample { now, job: &job, event: &event, demand, lease, halted, cluster });
        }
        let told = told(history.as_ref()).unwrap();
        assert!((300.0..500.0).contains(&told), "{told}");
    }

    #[test]
    fn a_job_that_falls_back_is_not_counted_twice() {
        let (mut steady, mut falling) = (history(), history());
        for id in 0..40 {
            for history in [&mut steady, &mut falling] {
                end(history.as_mut(), id, 200.0, EndCause::Stopped);
            }
            end(falling.as_mut(), id, 10.0, EndCause::Crashed);
            end(falling.as_mut(), id, 200.0, EndCause::Stopped);
            for history in [&mut steady, &mut falling] {
                end(history.as_mut(), id, 400.0, EndCause::Finished { alone: None });
            }
        }
        assert_eq!(told(steady.as_ref()), told(falling.as_ref()));
    }
}
