//! Apps: opened with their first job, watched over by their tuners, closed when their goal is met.

use crate::tuners::{self, Trial, Tuner, Verdict};
use crate::{Curve, SimJob, Workload};
use evenhand_core::{App, AppId, Event, Goal, JobId, JobSpec, Loss, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// Where an app is between its first job and its goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Coming,
    Open,
    Over,
}

/// What the coming of a job means for its app.
pub(crate) enum Arrival {
    /// It is the first.
    Opens(App),
    /// There were others before it, or it has no app.
    Joins,
    /// The app is over.
    TooLate,
}

/// One app and who watches over it.
struct Watched {
    app: App,
    tuner: Box<dyn Tuner>,
    stage: Stage,
    /// Jobs that have not ended, those that have not come yet among them.
    left: BTreeSet<JobId>,
    /// What each job last reported; not of jobs that failed or were given up.
    losses: BTreeMap<JobId, Loss>,
}

/// All apps of a workload and how far they are.
#[derive(Default)]
pub(crate) struct AppBook {
    watched: BTreeMap<AppId, Watched>,
}

impl AppBook {
    pub fn new(workload: &Workload) -> Self {
        let mut jobs: BTreeMap<AppId, Vec<&SimJob>> = BTreeMap::new();
        for job in &workload.jobs {
            jobs.entry(job.truth.app.unwrap_or(AppId(u64::MAX))).or_default().push(job);
        }
        let watched = workload.apps.iter().map(|app| {
            let own = jobs.get(&app.app.id).map_or(&[][..], Vec::as_slice);
            let trials: Vec<Trial> = own.iter().map(|job| Trial::of(job)).collect();
            let tuner = tuners::make(&app.tuner, &trials).expect("a tuner is checked where it is named");
            let left = own.iter().map(|job| job.truth.id).collect();
            let (app, stage, losses) = (app.app.clone(), Stage::Coming, BTreeMap::new());
            (app.id, Watched { app, tuner, stage, left, losses })
        });
        Self { watched: watched.collect() }
    }

    fn of(&mut self, job: &JobSpec) -> Option<&mut Watched> {
        self.watched.get_mut(&job.app?)
    }

    /// A job is about to come.
    pub fn submitted(&mut self, job: &JobSpec) -> Arrival {
        let Some(watched) = self.of(job) else { return Arrival::Joins };
        match watched.stage {
            Stage::Over => Arrival::TooLate,
            Stage::Open => Arrival::Joins,
            Stage::Coming => {
                watched.stage = Stage::Open;
                Arrival::Opens(watched.app.clone())
            }
        }
    }

    /// A job has reported its loss.
    pub fn reported(&mut self, job: &JobSpec, epoch: u32, loss: Loss) -> Vec<Event> {
        let Some(watched) = self.of(job).filter(|watched| watched.stage == Stage::Open) else {
            return Vec::new();
        };
        watched.losses.insert(job.id, loss);
        let verdicts = watched.tuner.reported(job.id, epoch, loss);
        verdicts.into_iter().map(event).collect()
    }

    /// A job has ended, for whatever reason: others may have waited for it, and the app may be over with it.
    pub fn ended(&mut self, job: &JobSpec, curve: Option<&Curve>, outcome: Outcome) -> Vec<Event> {
        let Some(watched) = self.of(job) else { return Vec::new() };
        watched.left.remove(&job.id);
        if watched.stage == Stage::Over {
            return Vec::new();
        }
        let finished = outcome == Outcome::Finished;
        let loss = curve.filter(|_| finished).and_then(|curve| Loss::new(curve.at(job.work?)).ok());
        match (outcome, loss) {
            (_, Some(loss)) => drop(watched.losses.insert(job.id, loss)),
            (Outcome::Failed | Outcome::Cancelled, _) => drop(watched.losses.remove(&job.id)),
            _ => {}
        }
        let reached = watched.app.goal == Goal::FirstToTarget && finished && reaches(job, curve);
        if !reached && !watched.left.is_empty() {
            return watched.tuner.ended(job.id, loss).into_iter().map(event).collect();
        }
        watched.stage = Stage::Over;
        let best = if reached { Some(job.id) } else { watched.best() };
        vec![Event::AppClosed { app: watched.app.id, best }]
    }
}

impl Watched {
    /// The job with the lowest loss; of equals, the first.
    fn best(&self) -> Option<JobId> {
        self.losses.iter().min_by_key(|(job, loss)| (loss.key(), **job)).map(|(job, _)| *job)
    }
}

/// Whether a job that is finished has reached its target. Nothing says that a job without a curve has missed it.
fn reaches(job: &JobSpec, curve: Option<&Curve>) -> bool {
    let Some(curve) = curve else { return true };
    job.target.and_then(|target| curve.work_to(target)).is_some_and(|work| work <= curve.limit)
}

fn event(verdict: Verdict) -> Event {
    match verdict {
        Verdict::Retire(job) => Event::Retired(job),
        Verdict::Hold(job) => Event::Held(job),
        Verdict::Release(job) => Event::Released(job),
    }
}
