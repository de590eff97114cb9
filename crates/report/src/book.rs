//! What the ledger has said so far: jobs that are active, leases that are open, nodes that are up.
//!
//! **A job's life** goes from its `Submitted` event to its `End` command. **T_excl**, what it would have taken alone,
//! is what the world said when the job finished; failing that, its work over its declared speed on the reference GPU
//! model (the first one). **A lease's area** goes from its `Start` command to the event that frees its GPUs. Capacity
//! is the GPUs of nodes that are up: neither down nor draining nor suspect.
//!
//! No record costs more than a few look-ups, however many jobs are active. A finished job leaves one [`Life`].

use crate::apps::Apps;
use crate::fact::{Fact, Held, Life};
use crate::machines::Machines;
use crate::standings::Standings;
use crate::stretches::{Asking, Stretch};
use evenhand_core::{
    Command, EndCause, Event, GpuCount, GpuId, GpuSet, GpuTime, JobId, JobSpec, Lease, LeaseId, Locality,
    ModelIndex, Note, Outcome, PerModel, Rate, Record, Sharing, Span, Time, Work,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Exclusive times are measured on this GPU model.
pub(crate) const REFERENCE: ModelIndex = ModelIndex(0);

/// Takes facts as they become known.
pub type Listener<'a> = &'a mut dyn FnMut(&Book, &Fact<'_>);

/// What the ledger has said so far.
#[derive(Debug, Default)]
pub struct Book {
    /// The time of the last record.
    pub now: Time,
    /// The first submission.
    pub opening: Option<Time>,
    /// The last end of a job.
    pub closing: Option<Time>,
    /// Nodes and their capacity.
    pub machines: Machines,
    /// Tenants and what they ask for and hold.
    pub standings: Standings,
    /// Apps and what their jobs did.
    pub apps: Apps,
    /// Jobs ever submitted.
    pub submitted: u64,
    /// GPUs held by open leases; a shared GPU counts once for each lease.
    pub leased: u64,
    /// The same for each GPU model.
    pub leased_on: PerModel<u64>,
    /// Leases on each GPU that is or was shared.
    sharers: BTreeMap<GpuId, u32>,
    /// Active jobs that hold GPUs.
    pub running: u64,
    /// Jobs that finished, in the order of their ends.
    pub lives: Vec<Life>,
    /// When those who have ended asked for GPUs, finished or not, as far as they did anything.
    pub stretches: Vec<Stretch>,
    /// Leases that hold GPUs now.
    pub leases: BTreeMap<LeaseId, Held>,
    jobs: BTreeMap<JobId, Active>,
    /// The integral of the number of active jobs, in job-milliseconds.
    active_area: u64,
}

#[derive(Debug)]
struct Active {
    spec: Arc<JobSpec>,
    submitted: Time,
    /// `active_area` when it was submitted.
    area_before: u64,
    open_leases: u32,
    started: bool,
    /// Whether it can run on some GPU model.
    runs: bool,
    /// The furthest it got, whether or not that survived.
    done: Work,
    alone: Option<Span>,
    asking: Asking,
}

impl Book {
    /// Takes a record in and tells what it says.
    pub fn take(&mut self, record: &Record, tell: Listener<'_>) {
        self.elapse(record.now, tell);
        if !record.notes.contains(&Note::Ignored) {
            self.event(&record.event, tell);
        }
        for note in &record.notes {
            match note {
                Note::Suspected(node) => self.machines.take(&Event::NodeSuspect(*node)),
                Note::TriedAgain(node) => self.machines.put_up(*node),
                _ => {}
            }
        }
        for command in &record.commands {
            self.command(command, tell);
        }
        if let Some(decision) = &record.decision {
            tell(self, &Fact::Decided(decision));
        }
    }

    /// Jobs submitted and not ended.
    pub fn active(&self) -> u64 {
        self.jobs.len() as u64
    }

    /// Active jobs that hold no GPUs.
    pub fn waiting(&self) -> u64 {
        self.active() - self.running
    }

    /// What an active job asks for.
    pub fn spec(&self, job: JobId) -> Option<&Arc<JobSpec>> {
        self.jobs.get(&job).map(|job| &job.spec)
    }

    /// When the active jobs without an app were submitted.
    pub fn active_alone(&self) -> impl Iterator<Item = Time> {
        self.jobs.values().filter(|job| job.spec.app.is_none()).map(|job| job.submitted)
    }

    fn elapse(&mut self, now: Time, tell: Listener<'_>) {
        let from = self.now;
        if now <= from {
            return;
        }
        if self.opening.is_some() {
            tell(self, &Fact::Elapsed { from, to: now });
        }
        self.active_area += self.active() * now.since(from).0;
        self.now = now;
    }

    fn event(&mut self, event: &Event, tell: Listener<'_>) {
        match event {
            Event::Submitted(spec) => self.submit(spec, tell),
            Event::Held(job) => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.asking.hold(self.now);
                }
            }
            Event::Released(job) => {
                if let Some(job) = self.jobs.get_mut(job) {
                    job.asking.release(self.now, job.done);
                }
            }
            Event::AppOpened(app) => self.apps.open(app.id, app.tenant, self.now),
            Event::AppClosed { app, .. } => self.apps.close(*app, self.now),
            Event::TenantChanged(tenant) => {
                self.standings.change(tenant, self.machines.models_count());
                tell(self, &Fact::TenantChanged(tenant.id));
            }
            Event::Telemetry { lease, demand, slowdown } => {
                if let Some(job) = self.leases.get(lease).map(|held| held.job) {
                    tell(self, &Fact::Measured { job, demand, slowdown: *slowdown });
                }
            }
            Event::LeaseEnded { lease, done, saved, cause } => {
                if *cause == EndCause::OutOfMemory {
                    tell(self, &Fact::OutOfMemory);
                }
                self.end_lease(*lease, *done, *saved, *cause, tell);
            }
            Event::LaunchFailed { lease, .. } => self.free(*lease, GpuTime::ZERO, tell),
            _ => self.machines.take(event),
        }
    }

    fn command(&mut self, command: &Command, tell: Listener<'_>) {
        match command {
            Command::Start(lease) => self.start(lease, tell),
            Command::Resize { lease, gpus } => {
                let Some(held) = self.leases.get(lease) else { return };
                let (job, spec) = (held.job, held.spec.clone());
                self.free(*lease, GpuTime::ZERO, tell);
                let held = self.held(job, spec, gpus);
                self.hold(*lease, held, tell);
            }
            Command::Stop { lease, reason, .. } => {
                let Some(held) = self.leases.get_mut(lease) else { return };
                // Commands may be repeated, and mean the same.
                if !std::mem::replace(&mut held.stopping, true) {
                    tell(self, &Fact::Stopped(*reason));
                }
            }
            Command::End { job, outcome, .. } => self.end(*job, *outcome, tell),
            Command::Renew { .. } | Command::AskForBids(_) | Command::WakeAt(..) => {}
        }
    }

    fn submit(&mut self, spec: &Arc<JobSpec>, tell: Listener<'_>) {
        if self.jobs.contains_key(&spec.id) {
            return;
        }
        self.submitted += 1;
        self.opening.get_or_insert(self.now);
        let runs = self.machines.speeds(spec).values().any(|speed| speed > 0.0);
        self.standings.arrive(spec, runs);
        self.apps.arrive(spec, self.now);
        let (submitted, area_before) = (self.now, self.active_area);
        let job = Active {
            spec: spec.clone(),
            submitted,
            area_before,
            open_leases: 0,
            started: false,
            runs,
            done: Work::ZERO,
            alone: None,
            asking: Asking::new(self.now),
        };
        self.jobs.insert(spec.id, job);
        tell(self, &Fact::Submitted { spec, runs });
    }

    fn start(&mut self, lease: &Lease, tell: Listener<'_>) {
        let Some(job) = self.jobs.get_mut(&lease.job) else { return };
        if self.leases.contains_key(&lease.id) {
            return;
        }
        let spec = job.spec.clone();
        let waited = (!std::mem::replace(&mut job.started, true)).then(|| self.now.since(job.submitted));
        let held = self.held(lease.job, spec, &lease.gpus);
        self.hold(lease.id, Held { shares: lease.sharing != Sharing::Alone, ..held }, tell);
        if let Some(waited) = waited {
            tell(self, &Fact::FirstStart(waited));
        }
    }

    /// What a lease holds from now on.
    fn held(&self, job: JobId, spec: Arc<JobSpec>, gpus: &GpuSet) -> Held {
        let mut models: Vec<(ModelIndex, GpuCount)> = Vec::with_capacity(1);
        for seat in gpus.seats() {
            let (model, count) = (self.machines.model(seat.node), GpuCount(seat.gpus.count()));
            match models.iter_mut().find(|(known, _)| *known == model) {
                Some((_, sum)) => *sum += count,
                None => models.push((model, count)),
            }
        }
        Held { job, spec, gpus: gpus.clone(), models, since: self.now, stopping: false, shares: false }
    }

    /// The GPUs of a lease on which there are this many jobs that share them: a GPU counts once, however many are on it.
    fn alone_on(&self, held: &Held, sharers: u32) -> Vec<(ModelIndex, GpuCount)> {
        if !held.shares {
            return held.models.clone();
        }
        let first = |gpu: &GpuId| self.sharers.get(gpu).copied().unwrap_or(0) == sharers;
        held.gpus.iter().filter(first).map(|gpu| (self.machines.model(gpu.node), GpuCount(1))).collect()
    }

    fn hold(&mut self, id: LeaseId, held: Held, tell: Listener<'_>) {
        let gpus = held.gpus.count();
        for (model, gpus) in self.alone_on(&held, 0) {
            self.leased += u64::from(gpus.0);
            self.leased_on[model] += u64::from(gpus.0);
        }
        for gpu in held.gpus.iter().filter(|_| held.shares) {
            *self.sharers.entry(gpu).or_default() += 1;
        }
        self.standings.hold(held.spec.tenant, gpus);
        if let Some(job) = self.jobs.get_mut(&held.job) {
            job.open_leases += 1;
            self.running += u64::from(job.open_leases == 1);
        }
        tell(self, &Fact::Taken(&held));
        self.leases.insert(id, held);
    }

    fn free(&mut self, id: LeaseId, lost: GpuTime, tell: Listener<'_>) {
        let Some(held) = self.leases.remove(&id) else { return };
        let gpus = held.gpus.count();
        for (model, gpus) in self.alone_on(&held, 1) {
            self.leased -= u64::from(gpus.0);
            self.leased_on[model] -= u64::from(gpus.0);
        }
        for gpu in held.gpus.iter().filter(|_| held.shares) {
            *self.sharers.entry(gpu).or_default() -= 1;
        }
        self.standings.free(held.spec.tenant, gpus);
        if let Some(job) = self.jobs.get_mut(&held.job) {
            job.open_leases -= 1;
            self.running -= u64::from(job.open_leases == 0);
        }
        tell(self, &Fact::Freed { held: &held, until: self.now, lost });
    }

    fn end_lease(&mut self, id: LeaseId, done: Work, saved: Work, cause: EndCause, tell: Listener<'_>) {
        let Some(held) = self.leases.get(&id) else { return };
        let mut lost = GpuTime::ZERO;
        match (cause, self.jobs.get_mut(&held.job)) {
            (EndCause::Finished { alone }, Some(job)) => (job.done, job.alone) = (done, alone),
            (EndCause::Finished { .. }, None) => {}
            (_, job) => {
                if let Some(job) = job {
                    job.done = job.done.max(done);
                }
                lost = self.worth(held, done.less(saved));
            }
        }
        self.free(id, lost, tell);
    }

    /// The GPU-time that work takes on the GPUs of this lease, at the job's declared speed there.
    fn worth(&self, held: &Held, work: Work) -> GpuTime {
        let gpus = held.gpus.count();
        let first = held.gpus.seats().first();
        let model = first.map_or(REFERENCE, |seat| self.machines.model(seat.node));
        let factor = held.spec.scaling.factor(held.spec.gpus, gpus, Locality::Socket);
        let span = work.span_at(held.spec.speed(model).times(factor));
        span.map_or(GpuTime::ZERO, |span| GpuTime::new(gpus, span))
    }

    fn end(&mut self, id: JobId, outcome: Outcome, tell: Listener<'_>) {
        let Some(job) = self.jobs.remove(&id) else { return };
        self.running -= u64::from(job.open_leases > 0);
        self.standings.leave(&job.spec, job.runs);
        self.closing = Some(self.now);
        self.apps.leave(&job.spec, job.submitted, self.now, job.alone(), outcome);
        let finished = outcome == Outcome::Finished;
        self.keep_stretches(&job, finished.then_some(self.lives.len()));
        if finished {
            self.lives.push(self.life(&job));
        }
        tell(self, &Fact::Ended { outcome, spec: &job.spec, runs: job.runs, alone: job.alone() });
    }

    /// Whoever did anything was in the way of others, whatever came of it.
    fn keep_stretches(&mut self, job: &Active, life: Option<usize>) {
        let alone_s = job.alone().seconds() / self.machines.pace(&job.spec);
        let gang = job.spec.gpus.min.0;
        for (from, until, part) in job.asking.end(self.now, job.done) {
            let alone = Span::from_seconds(alone_s * part);
            if life.is_some() || alone > Span::ZERO {
                self.stretches.push(Stretch { life, from, until, alone, gang });
            }
        }
    }

    fn life(&self, job: &Active) -> Life {
        let span = self.now.since(job.submitted);
        let area = self.active_area - job.area_before;
        let active_mean = if span == Span::ZERO { 1.0 } else { area as f64 / span.0 as f64 };
        Life {
            job: job.spec.id,
            in_app: job.spec.app.is_some(),
            tenant: job.spec.tenant,
            gang: job.spec.gpus.min.0,
            submitted: job.submitted,
            ended: self.now,
            alone: job.alone(),
            active_mean,
        }
    }

    /// M of the fairness ratios: the largest capacity ever seen.
    pub fn capacity_max(&self) -> GpuCount {
        self.machines.capacity_max()
    }
}

impl Active {
    /// What its work would have taken alone on the reference GPU model; zero if unknown.
    fn alone(&self) -> Span {
        let speed = self.spec.speed(REFERENCE);
        let declared = || self.done.span_at(speed).filter(|_| speed > Rate::ZERO);
        self.alone.or_else(declared).unwrap_or(Span::ZERO)
    }
}
