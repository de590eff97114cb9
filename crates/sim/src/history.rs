//! A ledger as work: what was really submitted, how long it really took, on which machines; to be run again under another policy.
//!
//! ```text
//! t_m       time that a job really ran on GPUs of model m, in one place as far as its declared scaling says
//! v_m       its declared speed there, one step a second if nothing was declared
//! W         its declared work, if it declared some and came to its end; else sum_m t_m v_m
//! speed_m   v_m W / sum_m t_m v_m : on models where it never ran, as much faster or slower as was declared
//! ```
//!
//! Outages of machines are not repeated, nor what jobs did to each other on shared GPUs.

use crate::{ClusterSpec, SimApp, SimJob, Workload};
use evenhand_core::{
    App, Choice, Cluster, Command, Event, GpuMask, Header, Health, JobId, JobSpec, Lease, LeaseId,
    ModelIndex, Node, Outcome, PerModel, Rate, Record, Span, Tenant, Time, Work,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    /// Jobs that ran on several GPU models, or would now run on others: their speeds there are as declared, not as measured.
    pub mixed: usize,
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

    /// Takes the next record in.
    pub fn take(&mut self, record: &Record) {
        self.now = record.now;
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

    /// The work of the last so much time, or all of it, to be run again.
    pub fn again(mut self, last: Option<Span>) -> Again {
        let still: Vec<LeaseId> = self.leases.keys().copied().collect();
        let now = self.now;
        for lease in still {
            self.leave(lease, now);
        }
        let from = last.map_or(Time::ZERO, |last| Time(now.0.saturating_sub(last.0)));
        let (mut jobs, mut cut, mut mixed, mut unknown) = (Vec::new(), 0, 0, 0);
        for past in self.jobs.into_values().filter(|past| past.submitted >= from) {
            cut += usize::from(past.ended.is_none() && past.has_run());
            mixed += usize::from(past.ran.values().filter(|seconds| *seconds > 0.0).count() != 1);
            match past.job(from) {
                Some(job) => jobs.push(job),
                None => unknown += 1,
            }
        }
        jobs.sort_by_key(|job| (job.submit, job.truth.id));
        wait_for_these_alone(&mut jobs);
        let apps = self.apps.into_iter().map(SimApp::new).collect();
        let workload = Workload { jobs, tenants: self.tenants, apps, ..Workload::default() };
        let Cluster { models, nodes, .. } = self.cluster;
        Again { cluster: ClusterSpec { models, nodes }, workload, cut, mixed, unknown }
    }
}

impl Past {
    fn has_run(&self) -> bool {
        self.ran.values().any(|seconds| seconds > 0.0)
    }

    /// The job as it really was, with times from then on; `None` if nobody knows how long it takes.
    fn job(&self, from: Time) -> Option<SimJob> {
        let spec = &self.spec;
        let given_up = self.ended.filter(|(_, outcome)| *outcome == Outcome::Cancelled && !self.has_run());
        let speeds = spec.speed_row();
        let as_declared: f64 =
            self.ran.values().zip(speeds.values()).map(|(seconds, speed)| seconds * speed.get()).sum();
        let finished = self.ended.is_some_and(|(_, outcome)| outcome == Outcome::Finished);
        let (work, faster) = match (spec.work, as_declared > 0.0) {
            (Some(work), true) if finished => (work, work.steps() / as_declared),
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
