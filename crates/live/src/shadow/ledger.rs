//! What was seen, told as a ledger in which the engine outside decided.
//!
//! Everything is known when it is told, so that times are exact however late something was noticed.

use super::journal::{Journal, Whole};
use super::{SeenEnd, SeenRun};
use evenhand_core::{
    Choice, Cluster, Command, EndCause, Event, GPUS_PER_NODE_MAX, GpuMask, GpuModel, GpuSet, GpuTime, Header,
    JobId, JobSpec, Lease, LeaseId, LeaseState, MODELS_MAX, ModelFilter, ModelIndex, Node, NodeId, Outcome,
    Packets, RackId, Reason, Record, Restart, Round, Seat, Sharing, Span, Tenant, TenantId, Time, Work,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the header of such a ledger calls the world: nobody of ours decided there.
pub const SHADOW_WORLD: &str = "shadow";

/// What it is taken to cost a job to be interrupted: so long to save, and as long to be running again.
pub const RESTART_HALF: Span = Span::from_secs(30);

/// A ledger, and what could not be told in it.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its header.
    pub header: Header,
    /// Its records.
    pub records: Vec<Record>,
    /// Jobs that are left out: without GPUs, or with some on machines that were not seen or have not so many.
    pub left_out: usize,
}

/// Tells what was seen. `header` is that of a service; who decided is put in here.
pub fn records(journal: &Journal, header: Header) -> Told {
    let policy = Choice::named(&journal.header.engine);
    let header = Header { policy, world: SHADOW_WORLD.to_owned(), ..header };
    let mut teller = Teller::new(journal);
    let left_out = teller.plan(journal);
    teller.tell();
    Told { header, records: teller.records, left_out }
}

/// What happens at one time happens in this order: GPUs are free before they are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Leaves { run: usize, is_last: bool },
    Ends,
    Comes,
    Starts { run: usize },
    Over,
}

/// A job with its number, and its runs in order.
struct Played {
    spec: Arc<JobSpec>,
    runs: Vec<SeenRun>,
    end: Option<SeenEnd>,
    /// The lease of the run that lasts.
    lease: Option<Lease>,
    attained: GpuTime,
    ran: Span,
}

struct Teller {
    origin_ms: u64,
    end_ms: u64,
    cluster: Cluster,
    nodes: BTreeMap<String, NodeId>,
    tenants: Vec<String>,
    jobs: Vec<Played>,
    /// In the order of time.
    points: Vec<(u64, What, usize)>,
    held: BTreeMap<NodeId, GpuMask>,
    /// Runs for which GPUs are not free yet: engines tell times in whole seconds.
    late: Vec<(usize, usize)>,
    leases: u64,
    rounds: u64,
    records: Vec<Record>,
}

impl Teller {
    fn new(journal: &Journal) -> Self {
        let (first, last) = journal.looked_ms.unwrap_or_default();
        let submitted = journal.jobs.values().map(|whole| whole.job.submitted_ms);
        let mut teller = Self {
            origin_ms: submitted.min().map_or(first, |earliest| earliest.min(first)),
            end_ms: last,
            cluster: Cluster::default(),
            nodes: BTreeMap::new(),
            tenants: Vec::new(),
            jobs: Vec::new(),
            points: Vec::new(),
            held: BTreeMap::new(),
            late: Vec::new(),
            leases: 0,
            rounds: 0,
            records: Vec::new(),
        };
        teller.tell_machines(journal);
        teller
    }

    fn tell_machines(&mut self, journal: &Journal) {
        for seen in journal.nodes.values() {
            let known = self.cluster.models.iter().position(|model| model.name == seen.model);
            // What runs on machines that are none of ours to understand is left out.
            let is_new = known.is_none();
            if seen.gpus > GPUS_PER_NODE_MAX || (is_new && self.cluster.models.len() == MODELS_MAX) {
                continue;
            }
            let model = known.unwrap_or_else(|| {
                let model = GpuModel { name: seen.model.clone() };
                self.cluster.models.push(model.clone());
                self.record(Time::ZERO, Event::ModelAdded(model), Vec::new());
                self.cluster.models.len() - 1
            });
            let id = NodeId(self.nodes.len() as u32);
            let name = Some(Arc::from(seen.name.as_str()));
            let node = Node { name, ..Node::new(id, RackId(0), ModelIndex(model as u16), seen.gpus) };
            self.nodes.insert(seen.name.clone(), id);
            self.cluster.put(node.clone(), GpuMask(0));
            self.record(Time::ZERO, Event::NodeUp(node), Vec::new());
        }
    }

    /// Numbers jobs in the order in which they came; says how many cannot be told.
    fn plan(&mut self, journal: &Journal) -> usize {
        let mut all: Vec<&Whole> = journal.jobs.values().collect();
        all.sort_by_key(|whole| (whole.job.submitted_ms, &whole.job.key));
        let mut left_out = 0;
        for whole in all {
            let fits = |run: &SeenRun| run.seats.iter().all(|(node, gpus)| self.has(node, *gpus));
            if whole.job.gpus == 0 || !whole.runs.values().all(fits) {
                left_out += 1;
                continue;
            }
            let spec = Arc::new(self.spec(whole));
            let runs: Vec<SeenRun> = whole.runs.values().cloned().collect();
            let (at, end) = (self.jobs.len(), whole.job.ended);
            self.points.push((whole.job.submitted_ms, What::Comes, at));
            for (number, run) in runs.iter().enumerate() {
                let is_last = end.is_some() && number + 1 == runs.len();
                let started = run.started_ms.max(whole.job.submitted_ms);
                self.points.push((started, What::Starts { run: number }, at));
                let until = run.ended_ms.or(end.map(|end| end.at_ms));
                self.points.extend(
                    until.map(|until| (until.max(started + 1), What::Leaves { run: number, is_last }, at)),
                );
            }
            if runs.is_empty() {
                self.points.extend(end.map(|end| (end.at_ms.max(whole.job.submitted_ms), What::Ends, at)));
            }
            self.jobs.push(Played { spec, runs, end, lease: None, attained: GpuTime(0), ran: Span::ZERO });
        }
        let last = self.points.iter().map(|(at, ..)| *at).fold(self.end_ms, u64::max);
        self.points.push((last, What::Over, 0));
        self.points.sort_unstable();
        left_out
    }

    fn has(&self, node: &str, gpus: u8) -> bool {
        let node = self.nodes.get(node).and_then(|id| self.cluster.node(*id));
        node.is_some_and(|node| gpus > 0 && gpus <= node.gpus)
    }

    fn spec(&mut self, whole: &Whole) -> JobSpec {
        let job = &whole.job;
        let known = self.tenants.iter().position(|tenant| *tenant == job.tenant);
        let tenant = known.unwrap_or_else(|| {
            self.tenants.push(job.tenant.clone());
            let tenant = Tenant::new(TenantId(self.tenants.len() as u32 - 1), &job.tenant);
            self.record(Time::ZERO, Event::TenantChanged(tenant), Vec::new());
            self.tenants.len() - 1
        });
        // What it got is what it asked for, where both are known.
        let got =
            whole.runs.values().last().map(|run| run.seats.iter().map(|(_, gpus)| u32::from(*gpus)).sum());
        let id = JobId(self.jobs.len() as u64 + 1);
        let mut spec = JobSpec::new(id, TenantId(tenant as u32), got.unwrap_or(job.gpus), None);
        // What an interruption would cost it, nobody has seen.
        spec.restart = Restart { save: RESTART_HALF, restore: RESTART_HALF, ..Restart::default() };
        spec.label = Some(Arc::from(job.name.as_str()));
        let model = |name: &String| self.cluster.models.iter().position(|model| model.name == *name);
        if let Some(model) = job.model.as_ref().and_then(model) {
            spec.models = ModelFilter::only([ModelIndex(model as u16)]);
        }
        let packet =
            job.packet.filter(|packet| *packet > 0 && spec.gpus.min.0.is_multiple_of(u32::from(*packet)));
        spec.packets = packet.map(|gpus| Packets { gpus, apart: false });
        spec
    }

    fn tell(&mut self) {
        for (at_ms, what, job) in std::mem::take(&mut self.points) {
            let now = Time(at_ms.saturating_sub(self.origin_ms));
            match what {
                What::Comes => {
                    let spec = self.jobs[job].spec.clone();
                    self.record(now, Event::Submitted(spec), Vec::new());
                }
                What::Starts { run } => self.start(now, job, run),
                What::Leaves { is_last, .. } => self.leave(now, job, is_last),
                What::Ends => {
                    let id = self.jobs[job].spec.id;
                    let end = self.end(job);
                    self.record(now, Event::Cancelled(id), end.into_iter().collect());
                }
                What::Over => self.round(now, Vec::new()),
            }
        }
    }

    fn start(&mut self, now: Time, job: usize, run: usize) {
        let Some(gpus) = self.seat(&self.jobs[job].runs[run]) else {
            self.late.push((job, run));
            return;
        };
        for seat in gpus.seats() {
            let held = self.held.entry(seat.node).or_default();
            *held = held.or(seat.gpus);
        }
        self.leases += 1;
        let id = LeaseId(self.leases);
        let lease = Lease {
            id,
            job: self.jobs[job].spec.id,
            gpus,
            sharing: Sharing::Alone,
            starts: now,
            expires: Time(u64::MAX),
            reason: Reason::Outside,
            state: LeaseState::Asked,
            taken: now,
            booked: now,
        };
        self.jobs[job].lease = Some(lease.clone());
        self.round(now, vec![Command::Start(lease)]);
        self.record(now, Event::LeaseStarted(id), Vec::new());
    }

    /// Which GPUs of its nodes a run had was not seen: the first that are free. None if too few are.
    fn seat(&self, run: &SeenRun) -> Option<GpuSet> {
        let mut seats = Vec::new();
        for (name, count) in &run.seats {
            let node = self.cluster.node(*self.nodes.get(name)?)?;
            let held = self.held.get(&node.id).copied().unwrap_or_default();
            let free = node.all().without(held);
            let count = u32::from(*count);
            if free.count() < count {
                return None;
            }
            seats.push(Seat { node: node.id, gpus: free.lowest(count) });
        }
        Some(GpuSet::new(seats))
    }

    fn leave(&mut self, now: Time, job: usize, is_last: bool) {
        self.late.retain(|(other, _)| *other != job);
        let Some(lease) = self.jobs[job].lease.take() else { return };
        for seat in lease.gpus.seats() {
            let held = self.held.entry(seat.node).or_default();
            *held = held.without(seat.gpus);
        }
        let played = &mut self.jobs[job];
        let ran = now.since(lease.starts);
        played.ran += ran;
        played.attained += GpuTime::new(lease.gpus.count(), ran);
        let cause = match played.end.filter(|_| is_last).map(|end| end.outcome) {
            Some(Outcome::Finished) => {
                // Runs that were put back into the queue count too: whether they had saved anything is not known.
                EndCause::Finished { alone: Some(played.ran) }
            }
            Some(Outcome::Failed) => EndCause::Crashed,
            _ => EndCause::Stopped,
        };
        let end = if is_last { self.end(job) } else { None };
        let (done, saved) = (Work::ZERO, Work::ZERO);
        let event = Event::LeaseEnded { lease: lease.id, done, saved, cause };
        self.record(now, event, end.into_iter().collect());
        for (job, run) in std::mem::take(&mut self.late) {
            self.start(now, job, run);
        }
    }

    fn end(&self, job: usize) -> Option<Command> {
        let played = &self.jobs[job];
        let SeenEnd { outcome, .. } = played.end?;
        Some(Command::End { job: played.spec.id, outcome, attained: played.attained })
    }

    fn round(&mut self, now: Time, commands: Vec<Command>) {
        self.rounds += 1;
        self.record(now, Event::RoundDue(Round(self.rounds)), commands);
    }

    fn record(&mut self, now: Time, event: Event, commands: Vec<Command>) {
        self.records.push(Record { now, event, commands, decision: None, notes: Vec::new() });
    }
}
