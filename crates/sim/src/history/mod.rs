//! A ledger as work: what was really submitted, how long it really took, on which machines; to be run again under another policy.
//!
//! ```text
//! t_m       time that a job really ran on GPUs of model m, in one place as far as its declared scaling says
//! v_m       its declared speed there, one step a second if nothing was declared
//! W         its declared work, if it declared some and came to its end; else sum_m t_m v_m
//! speed_m   v_m W / sum_m t_m v_m ; on models where it never ran, as others of its kind were there, or as was declared
//! ```
//!
//! Outages of machines are not repeated, nor what jobs did to each other on shared GPUs.

mod elsewhere;

pub use elsewhere::Lean;

use crate::{ClusterSpec, SimApp, SimJob, Workload};
use elsewhere::Elsewhere;
use evenhand_core::{
    App, Choice, Cluster, Command, Event, GpuMask, Header, Health, JobId, JobSpec, Lease, LeaseId,
    ModelIndex, Node, Outcome, PerModel, Rate, Record, Span, Tenant, Time, Work,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// What a ledger says of the work and the machines.
#[derive(Clone, Debug)]
pub struct History {
    header: Header,
    policy: Choice,
    cluster: Cluster,
    tenants: Vec<Tenant>,
    apps: Vec<App>,
    jobs: BTreeMap<JobId, Past>,
    leases: BTreeMap<LeaseId, Stay>,
    now: Time,
}

/// Why a record cannot follow those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// It is from before the last.
    #[error("time goes back")]
    TimeWentBack,
    /// A job is there already.
    #[error("{0} is submitted for the second time")]
    Twice(JobId),
}

/// What became of a job.
#[derive(Clone, Debug)]
struct Past {
    spec: Arc<JobSpec>,
    submitted: Time,
    /// Seconds on GPUs of each model.
    ran: PerModel<f64>,
    ended: Option<(Time, Outcome)>,
}

/// A job on some GPUs.
#[derive(Clone, Copy, Debug)]
struct Stay {
    job: JobId,
    model: ModelIndex,
    /// Of the number of GPUs and of how far they are apart.
    factor: f64,
    since: Option<Time>,
}

/// What of a history can be run again.
#[derive(Clone, Debug)]
pub struct Again {
    /// The machines.
    pub cluster: ClusterSpec,
    /// The work.
    pub workload: Workload,
    /// Jobs that still ran when the ledger ended: they count as done with what they had done by then.
    pub cut: usize,
    /// Jobs that ran on several GPU models, or on none: how much faster one is than another is as declared, not as measured.
    pub mixed: usize,
    /// Jobs that may now run on GPU models where they did not: how fast they are there is believed, not known.
    pub believed: usize,
    /// Jobs that are left out: they had not begun, and nobody knows how long they take.
    pub unknown: usize,
}

impl History {
    /// Before the first record.
    pub fn new(header: &Header) -> Self {
        Self {
            header: header.clone(),
            policy: header.policy.clone(),
            cluster: Cluster::default(),
            tenants: Vec::new(),
            apps: Vec::new(),
            jobs: BTreeMap::new(),
            leases: BTreeMap::new(),
            now: Time::ZERO,
        }
    }

    /// What the ledger was written with.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Who decided last.
    pub fn policy(&self) -> &Choice {
        &self.policy
    }

    /// Takes the next record in, if it can follow the last.
    pub fn take(&mut self, record: &Record) -> Result<(), HistoryError> {
        if record.now < self.now {
            return Err(HistoryError::TimeWentBack);
        }
        self.now = record.now;
        if let Event::Submitted(spec) = &record.event
            && self.jobs.contains_key(&spec.id)
        {
            return Err(HistoryError::Twice(spec.id));
        }
        self.learn(record);
        Ok(())
    }

    fn learn(&mut self, record: &Record) {
        match &record.event {
            Event::ModelAdded(model) => self.cluster.models.push(model.clone()),
            Event::NodeUp(node) => self.cluster.put(Node { health: Health::Up, ..node.clone() }, GpuMask(0)),
            Event::PolicyChanged(choice) => self.policy = choice.clone(),
            Event::TenantChanged(tenant) => put(&mut self.tenants, tenant, |known| known.id == tenant.id),
            Event::AppOpened(app) => put(&mut self.apps, app, |known| known.id == app.id),
            Event::Submitted(spec) => {
                let (submitted, ran) = (record.now, PerModel::all(0.0));
                self.jobs.insert(spec.id, Past { spec: spec.clone(), submitted, ran, ended: None });
            }
            Event::LeaseStarted(lease) => {
                if let Some(stay) = self.leases.get_mut(lease) {
                    stay.since = Some(record.now);
                }
            }
            Event::LeaseEnded { lease, .. } => self.leave(*lease, record.now),
            _ => {}
        }
        for command in &record.commands {
            match command {
                Command::Start(lease) => self.stay(lease),
                Command::End { job, outcome, .. } => {
                    if let Some(past) = self.jobs.get_mut(job) {
                        past.ended = Some((record.now, *outcome));
                    }
                }
                _ => {}
            }
        }
    }

    fn stay(&mut self, lease: &Lease) {
        let (Some(past), Some(seat)) = (self.jobs.get(&lease.job), lease.gpus.seats().first()) else {
            return;
        };
        let Some(node) = self.cluster.node(seat.node) else { return };
        let (spec, span) = (&past.spec, self.cluster.span_of(&lease.gpus));
        let factor = spec.scaling.factor(spec.gpus, lease.gpus.count(), span);
        self.leases.insert(lease.id, Stay { job: lease.job, model: node.model, factor, since: None });
    }

    fn leave(&mut self, lease: LeaseId, now: Time) {
        let Some(Stay { job, model, factor, since: Some(since) }) = self.leases.remove(&lease) else {
            return;
        };
        if let Some(past) = self.jobs.get_mut(&job) {
            past.ran[model] += now.since(since).seconds() * factor;
        }
    }

    /// The work of the last so much time, or all of it, to be run again. Where speeds are believed and not known, `lean` says which end of
    /// the belief is meant.
    pub fn again(mut self, last: Option<Span>, lean: Lean) -> Again {
        let still: Vec<LeaseId> = self.leases.keys().copied().collect();
        let now = self.now;
        for lease in still {
            self.leave(lease, now);
        }
        let from = last.map_or(Time::ZERO, |last| Time(now.0.saturating_sub(last.0)));
        let mut elsewhere = Elsewhere::default();
        for past in self.jobs.values() {
            if let (Some(model), Some(faster)) = (past.only_model(), past.faster()) {
                elsewhere.learn(&past.spec, model, faster);
            }
        }
        let models = self.cluster.models.len();
        let (mut jobs, mut cut, mut mixed, mut believed, mut unknown) = (Vec::new(), 0, 0, 0, 0);
        for past in self.jobs.into_values().filter(|past| past.submitted >= from) {
            cut += usize::from(past.ended.is_none() && past.has_run());
            mixed += usize::from(past.only_model().is_none());
            match past.job(from) {
                Some(mut job) => {
                    believed += usize::from(past.believe(&mut job, &elsewhere, lean, models));
                    jobs.push(job);
                }
                None => unknown += 1,
            }
        }
        jobs.sort_by_key(|job| (job.submit, job.truth.id));
        wait_for_these_alone(&mut jobs);
        let apps = self.apps.into_iter().map(SimApp::new).collect();
        let workload = Workload { jobs, tenants: self.tenants, apps, ..Workload::default() };
        let Cluster { models, nodes, .. } = self.cluster;
        Again { cluster: ClusterSpec { models, nodes }, workload, cut, mixed, believed, unknown }
    }
}

impl Past {
    fn has_run(&self) -> bool {
        self.ran.values().any(|seconds| seconds > 0.0)
    }

    /// The GPU model on which it ran, if that is one.
    fn only_model(&self) -> Option<ModelIndex> {
        let mut ran = (0..).map(ModelIndex).zip(self.ran.values()).filter(|(_, seconds)| *seconds > 0.0);
        let (first, another) = (ran.next(), ran.next());
        first.map(|(model, _)| model).filter(|_| another.is_none())
    }

    /// Seconds that it ran, at its declared speeds.
    fn as_declared(&self) -> f64 {
        let speeds = self.spec.speed_row();
        self.ran.values().zip(speeds.values()).map(|(seconds, speed)| seconds * speed.get()).sum()
    }

    /// How much faster than declared it was, if it came to its end and declared how far that is.
    fn faster(&self) -> Option<f64> {
        let finished = self.ended.is_some_and(|(_, outcome)| outcome == Outcome::Finished);
        let (work, as_declared) = (self.spec.work.filter(|_| finished)?, self.as_declared());
        (as_declared > 0.0 && work > Work::ZERO).then(|| work.steps() / as_declared)
    }

    /// Sets how fast it is where it did not run; whether there is such a place.
    fn believe(&self, job: &mut SimJob, elsewhere: &Elsewhere, lean: Lean, models: usize) -> bool {
        let Some(ran) = self.only_model() else { return false };
        let truth = Arc::make_mut(&mut job.truth);
        let Some(mut speeds) = truth.speeds else { return false };
        let mut is_any = false;
        for model in (0..models as u16).map(ModelIndex).filter(|model| *model != ran) {
            if truth.models.allows(model) && speeds[model] > Rate::ZERO {
                speeds[model] = speeds[model].times(elsewhere.over(&self.spec, ran, model, lean));
                is_any = true;
            }
        }
        truth.speeds = Some(speeds);
        is_any
    }

    /// The job as it really was, with times from then on; `None` if nobody knows how long it takes.
    fn job(&self, from: Time) -> Option<SimJob> {
        let spec = &self.spec;
        let given_up = self.ended.filter(|(_, outcome)| *outcome == Outcome::Cancelled && !self.has_run());
        let speeds = spec.speed_row();
        let as_declared = self.as_declared();
        let (work, faster) = match (spec.work, as_declared > 0.0) {
            (Some(work), true) if self.faster().is_some() => (work, work.steps() / as_declared),
            (_, true) => (Work::from_steps(as_declared), 1.0),
            (Some(work), false) => (work, 1.0),
            (None, false) if given_up.is_some() => {
                (Work::from_steps(speeds.values().map(Rate::get).fold(0.0, f64::max)), 1.0)
            }
            (None, false) => return None,
        };
        let mut truth = JobSpec::clone(spec);
        truth.work = Some(work);
        truth.speeds = Some(PerModel(speeds.0.map(|speed| speed.times(faster))));
        let shifted = |time: Time| Time(time.0.saturating_sub(from.0));
        let mut job = SimJob::new(shifted(self.submitted), Arc::new(truth));
        job.declares_work = spec.work.is_some();
        job.cancel = given_up.map(|(at, _)| shifted(at));
        Some(job)
    }
}

/// Jobs that are not among these are over.
fn wait_for_these_alone(jobs: &mut [SimJob]) {
    let there: BTreeSet<JobId> = jobs.iter().map(|job| job.truth.id).collect();
    for job in jobs.iter_mut().filter(|job| job.truth.befores().next().is_some()) {
        let truth = Arc::make_mut(&mut job.truth);
        truth.after.retain(|before| there.contains(before));
        truth.after_ok.retain(|before| there.contains(before));
    }
}

fn put<T: Clone>(rows: &mut Vec<T>, row: &T, is_same: impl Fn(&T) -> bool) {
    match rows.iter_mut().find(|known| is_same(known)) {
        Some(known) => *known = row.clone(),
        None => rows.push(row.clone()),
    }
}
