//! Work to be done: who submits what, and when.

use crate::{Curve, PairTruth, Recipe, Reports};
use evenhand_core::{App, Choice, Demand, JobSpec, PerModel, Span, Tenant, Time};
use std::sync::Arc;

/// One job of a workload.
#[derive(Clone, Debug)]
pub struct SimJob {
    /// When it is submitted.
    pub submit: Time,
    /// What it really is.
    pub truth: Arc<JobSpec>,
    /// When its submitter gives it up, if it has not ended by then.
    pub cancel: Option<Time>,
    /// How it trains, if the trace says.
    pub recipe: Option<Arc<Recipe>>,
    /// Whether its submitter says beforehand when its regimes change; otherwise they are a surprise.
    pub announces: bool,
    /// Whether its submitter says how much work it is.
    pub declares_work: bool,
    /// How its loss falls, if it reports that.
    pub curve: Option<Arc<Curve>>,
    /// The kind of job that it was measured as: what it does to others on its GPU is looked up by this name.
    pub profile: Option<Arc<str>>,
    /// What its submitter says that it asks of each GPU model, where that is not the truth.
    pub foretold: Option<Arc<PerModel<Demand>>>,
}

impl SimJob {
    /// A job that is what its specification says, and is never given up.
    pub fn new(submit: Time, truth: Arc<JobSpec>) -> Self {
        Self {
            submit,
            truth,
            cancel: None,
            recipe: None,
            announces: true,
            declares_work: true,
            curve: None,
            profile: None,
            foretold: None,
        }
    }

    /// A job that trains until its loss reaches the target of `declared`, or its declared work, the limit, is done.
    pub fn training(submit: Time, declared: JobSpec, curve: Curve) -> Self {
        let limit = declared.work.unwrap_or(curve.limit);
        let curve = Curve { limit, ..curve };
        let truth = JobSpec { work: Some(curve.work(declared.target)), ..declared };
        Self { curve: Some(Arc::new(curve)), ..Self::new(submit, Arc::new(truth)) }
    }

    /// What its submitter says of it where that is not the truth: perhaps nothing of its size; of training, the limit, and not how
    /// soon the target will be reached.
    pub(crate) fn declared(&self) -> Option<JobSpec> {
        if !self.declares_work {
            return Some(JobSpec { work: None, ..JobSpec::clone(&self.truth) });
        }
        let limit = self.curve.as_ref()?.limit;
        Some(JobSpec { work: Some(limit), ..JobSpec::clone(&self.truth) })
    }
}

/// Several jobs of one tenant with one goal, and who watches over them.
#[derive(Clone, Debug, PartialEq)]
pub struct SimApp {
    /// What the scheduler is told of it.
    pub app: App,
    /// What people call it.
    pub name: String,
    /// Which tuner ends its jobs early; see [`TUNERS`](crate::tuners::TUNERS).
    pub tuner: Choice,
}

impl SimApp {
    /// An app whose jobs all run to their end.
    pub fn new(app: App) -> Self {
        let name = app.id.0.to_string();
        Self { app, name, tuner: Choice::named(crate::tuners::DEFAULT_TUNER) }
    }
}

/// Work to be done, in the order of submission, and who submits it.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    /// Jobs in the order of submission; of equals, in the order of the file.
    pub jobs: Vec<SimJob>,
    /// Tenants by number.
    pub tenants: Vec<Tenant>,
    /// Apps, each with a number of its own.
    pub apps: Vec<SimApp>,
    /// What tenants report of their speeds, where that is not the truth.
    pub reports: Reports,
    /// How much its jobs really slow each other down on one GPU; `None`: they take turns of equal length.
    pub truth: Option<Arc<PairTruth>>,
}

impl Workload {
    /// From the first to the last submission.
    pub fn span(&self) -> Span {
        match (self.jobs.first(), self.jobs.last()) {
            (Some(first), Some(last)) => last.submit.since(first.submit),
            _ => Span::ZERO,
        }
    }

    /// Lets no job declare how much work it is, so that sizes can only be learnt.
    pub fn withhold_work(&mut self) {
        self.jobs.iter_mut().for_each(|job| job.declares_work = false);
    }

    /// Lets no job declare which batch sizes it may use, so that their changes can only be learnt.
    pub fn withhold_modes(&mut self) {
        for job in self.jobs.iter_mut().filter(|job| !job.truth.modes.is_empty()) {
            Arc::make_mut(&mut job.truth).modes.clear();
        }
    }

    /// Lets every job say beforehand when its batch size will change: what exact forecasts would be like.
    pub fn announce_regimes(&mut self) {
        self.jobs.iter_mut().for_each(|job| job.announces = true);
    }

    /// Gives every job that says nothing else these costs of stopping and starting again.
    pub fn set_restart(&mut self, restart: evenhand_core::Restart) {
        for job in &mut self.jobs {
            if job.truth.restart == evenhand_core::Restart::default() {
                Arc::make_mut(&mut job.truth).restart = restart;
            }
        }
    }
}
