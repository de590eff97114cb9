//! Speeds as reported and as measured: a fold of its own over the ledger, because it needs more than the [`Book`] tells.
//!
//! Measured in the same way as by the predictor that believes measurements, whichever predictor the run had.
//!
//! [`Book`]: crate::book::Book

use evenhand_core::{
    Cluster, Command, EndCause, Event, GpuMask, JobId, JobSpec, Lease, LeaseId, MODELS_MAX, Note, Record,
    Regime, Span, Time, Work,
};
use evenhand_measure::{Kind, Pace, Runner, Speeds, Watch};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the ledger has said of speeds so far. Memory is bounded by active jobs and kinds.
#[derive(Default)]
pub struct SpeedBook {
    pub(crate) cluster: Cluster,
    pub(crate) measured: Speeds,
    watch: Watch,
    jobs: BTreeMap<JobId, Known>,
    leases: BTreeMap<LeaseId, (Lease, Option<Time>)>,
}

/// A job that has not ended.
struct Known {
    spec: Arc<JobSpec>,
    done: Work,
    worked: Option<Span>,
    regime: Regime,
    starts: u32,
}

impl SpeedBook {
    /// Takes a record in.
    pub fn take(&mut self, record: &Record) {
        if !record.notes.contains(&Note::Ignored) {
            self.event(record.now, &record.event);
        }
        for command in &record.commands {
            self.command(record.now, command);
        }
    }

    fn event(&mut self, now: Time, event: &Event) {
        match event {
            Event::ModelAdded(model) => self.cluster.models.push(model.clone()),
            Event::NodeUp(node) => {
                let known_model = usize::from(node.model.0) < MODELS_MAX;
                if known_model && node.id.index() <= self.cluster.nodes.len() {
                    self.cluster.put(node.clone(), GpuMask(0));
                }
            }
            Event::Submitted(spec) => {
                let (done, worked, regime, starts) = (Work::ZERO, None, Regime::default(), 0);
                self.jobs.insert(spec.id, Known { spec: spec.clone(), done, worked, regime, starts });
            }
            Event::LeaseStarted(lease) => self.started(now, *lease),
            Event::Progress { lease, done, worked, regime, .. } => {
                let pace = self.watch.progress(now, *lease, *done, *worked, *regime);
                let job = self.change(*lease, |job| {
                    job.done = *done;
                    job.worked = worked.or(job.worked);
                    job.regime = regime.unwrap_or(job.regime);
                });
                self.learn(now, job, pace);
            }
            Event::LeaseEnded { lease, done, saved, cause } => {
                let halted = self.leases.get(lease).and_then(|(_, halted)| *halted);
                let pace = self.watch.end(now, *lease, *done, *cause, halted);
                let finished = matches!(cause, EndCause::Finished { .. });
                let job = self.change(*lease, |job| job.done = if finished { *done } else { *saved });
                self.learn(now, job, pace);
                self.leases.remove(lease);
            }
            Event::LaunchFailed { lease, .. } => {
                self.leases.remove(lease);
            }
            _ => {}
        }
    }

    fn command(&mut self, now: Time, command: &Command) {
        match command {
            Command::Start(lease) => {
                self.leases.entry(lease.id).or_insert_with(|| (lease.clone(), None));
            }
            Command::Stop { lease, .. } => {
                if let Some((_, halted)) = self.leases.get_mut(lease) {
                    halted.get_or_insert(now);
                }
            }
            Command::Resize { lease, .. } => self.watch.forget(*lease),
            Command::End { job, .. } => {
                self.jobs.remove(job);
            }
            Command::Renew { .. } | Command::AskForBids(_) | Command::WakeAt(..) => {}
        }
    }

    fn started(&mut self, now: Time, id: LeaseId) {
        let Some((lease, _)) = self.leases.get(&id) else { return };
        let Some(job) = self.jobs.get_mut(&lease.job) else { return };
        job.starts += 1;
        let known = |seat: &evenhand_core::Seat| self.cluster.node(seat.node).is_some();
        if lease.gpus.seats().iter().all(known) {
            let Known { spec, done, worked, regime, starts } = job;
            let runner = Runner { spec, done: *done, worked: *worked, regime: *regime, starts: *starts };
            self.watch.start(now, &runner, lease, &self.cluster);
        }
    }

    /// Notes something of the job of a lease; what the job is comes back.
    fn change(&mut self, lease: LeaseId, edit: impl FnOnce(&mut Known)) -> Option<Arc<JobSpec>> {
        let (lease, _) = self.leases.get(&lease)?;
        let job = self.jobs.get_mut(&lease.job)?;
        edit(job);
        Some(job.spec.clone())
    }

    fn learn(&mut self, now: Time, job: Option<Arc<JobSpec>>, pace: Option<Pace>) {
        if let (Some(job), Some(pace)) = (job, pace) {
            self.measured.take(now, &Kind::of(&job), pace);
        }
    }
}
