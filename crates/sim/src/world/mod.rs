//! The simulated world as a backend: what happens next, and what is done about a command.

mod apps;
mod nodes;
mod occupied;
mod runs;
mod sharing;

use crate::Curve;
use crate::agenda::{Agenda, Item, RANK_ROUND, RANK_SUBMISSION};
use crate::execution::Progressing;
use crate::faults::Faults;
use crate::truth::{EqualTurns, TrueInterference};
use crate::workload::Workload;
use apps::Arrival;
use evenhand_core::{
    Abilities, Backend, BackendError, Cluster, Command, Event, GpuMask, GpuModel, JobId, JobSpec, LeaseId,
    Node, NodeId, Random, Round, Span, Time, Work,
};
use occupied::Occupied;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(crate) use apps::AppBook;

/// Rounds in which nothing runs and nothing is coming, after which nothing ever will.
const STALLED_ROUNDS_MAX: u32 = 1000;

/// Rounds in which no work was done that lasts, after which none ever will be.
const FUTILE_ROUNDS_MAX: u32 = 10_000;

/// Decisions at one moment after which there is no end to them. So many jobs may end at once, and each may be answered.
const ROUNDS_AT_ONCE_MAX: u32 = 100_000;

/// The least time between two words of a job about how far it is, unless it is set.
const PROGRESS_EVERY: Span = Span::from_minutes(30);

/// A job that has been submitted and has not ended.
#[derive(Debug)]
struct Pending {
    truth: Arc<JobSpec>,
    profile: Option<Arc<str>>,
    curve: Option<Arc<Curve>>,
    saved: Work,
    starts: u32,
    /// Its last lease.
    lease: Option<LeaseId>,
}

/// What one step of time brought.
enum Advance {
    /// Something the engine hears of.
    Seen(Event),
    /// Something it does not.
    Unseen,
    /// Nothing, and nothing will come.
    Over,
}

/// A simulated world: knows the truth, and tells the engine what an engine would hear.
pub struct World {
    workload: Arc<Workload>,
    faults: Faults,
    seed: u64,
    interference: Arc<dyn TrueInterference>,
    /// Whether what jobs do to each other is measured, so that the engine hears of it.
    measures: bool,
    /// Times that a job came beside another with which nobody has measured it.
    unmeasured: Arc<AtomicU64>,
    now: Time,
    agenda: Agenda,
    /// Things that happen at this very moment, before anything else.
    ready: VecDeque<Event>,
    arrivals_next: usize,
    cancels: VecDeque<(Time, JobId)>,
    alarm: Option<(Time, Round)>,
    cluster: Cluster,
    node_speed: Vec<f64>,
    outages: Vec<Random>,
    spells: Vec<Random>,
    pending: BTreeMap<JobId, Pending>,
    running: BTreeMap<LeaseId, Progressing>,
    apps: AppBook,
    occupied: Occupied,
    /// Leases that were ever started, one bit each: a second start does nothing.
    known_leases: Vec<u64>,
    /// Crashes that were asked for.
    crashes: BTreeMap<JobId, Span>,
    /// The least time between two words of a job about how far it is.
    progress_every: Span,
    idle_rounds: u32,
    /// Rounds since some job last saved work that it had not saved before.
    futile_rounds: u32,
    /// When the last round was, and how many there were at that moment.
    rung: (Time, u32),
}

impl World {
    /// A world with these machines and this work.
    pub fn new(
        models: Vec<GpuModel>,
        nodes: &[Node],
        workload: Arc<Workload>,
        faults: Faults,
        seed: u64,
    ) -> Self {
        let mut world = Self {
            faults,
            seed,
            measures: workload.truth.is_some(),
            interference: match &workload.truth {
                Some(truth) => truth.clone(),
                None => Arc::new(EqualTurns),
            },
            unmeasured: Arc::default(),
            now: Time::ZERO,
            agenda: Agenda::default(),
            ready: VecDeque::new(),
            arrivals_next: 0,
            cancels: VecDeque::new(),
            alarm: None,
            cluster: Cluster::new(models),
            node_speed: vec![1.0; nodes.len()],
            outages: Vec::new(),
            spells: Vec::new(),
            pending: BTreeMap::new(),
            running: BTreeMap::new(),
            apps: AppBook::new(&workload),
            occupied: Occupied::new(nodes.len()),
            known_leases: Vec::new(),
            crashes: BTreeMap::new(),
            progress_every: PROGRESS_EVERY,
            idle_rounds: 0,
            futile_rounds: 0,
            rung: (Time::ZERO, 0),
            workload,
        };
        world.open(nodes);
        world
    }

    /// Replaces the rule by which jobs on one GPU slow each other down.
    pub fn with_interference(mut self, interference: Box<dyn TrueInterference>) -> Self {
        (self.interference, self.measures) = (interference.into(), true);
        self
    }

    /// How often a job came beside another with which nobody has measured it, counted as the world goes on.
    pub fn unmeasured(&self) -> Arc<AtomicU64> {
        self.unmeasured.clone()
    }

    /// Lets jobs say at every renewal how far they are, but not more often than this.
    pub fn with_progress_every(mut self, span: Span) -> Self {
        self.progress_every = span;
        self
    }

    /// Takes a node away at one time and gives it back at another, whatever the faults are.
    pub fn with_outage(mut self, node: NodeId, down: Time, up: Time) -> Self {
        self.agenda.add(down, Item::NodeFails(node));
        self.agenda.add(up, Item::NodeReturns(node));
        self
    }

    /// Lets every start of a job crash when it has run for so long, whatever the faults are.
    pub fn with_crash(mut self, job: JobId, after: Span) -> Self {
        self.crashes.insert(job, after);
        self
    }

    fn open(&mut self, nodes: &[Node]) {
        self.ready.extend(self.cluster.models.iter().cloned().map(Event::ModelAdded));
        self.ready.extend(self.workload.tenants.iter().cloned().map(Event::TenantChanged));
        for node in nodes {
            self.cluster.put(node.clone(), GpuMask(0));
            self.ready.push_back(Event::NodeUp(node.clone()));
            self.outages.push(Faults::node_stream(self.seed, node.id, "outage"));
            self.spells.push(Faults::node_stream(self.seed, node.id, "slow"));
            self.plan_outage(node.id);
            self.plan_spell(node.id);
        }
        let mut cancels: Vec<_> =
            self.workload.jobs.iter().filter_map(|job| Some((job.cancel?, job.truth.id))).collect();
        cancels.sort_unstable();
        self.cancels = cancels.into();
    }

    /// The source that comes first: the agenda, a submission, a cancellation or the alarm.
    fn advance(&mut self) -> Result<Advance, BackendError> {
        let arrival = self.workload.jobs.get(self.arrivals_next).map(|job| (job.submit, RANK_SUBMISSION));
        let cancel = self.cancels.front().map(|(at, _)| (*at, RANK_SUBMISSION));
        let alarm = self.alarm.map(|(at, _)| (at, RANK_ROUND));
        let agenda = self.agenda.peek();
        let Some(first) = [agenda, arrival, cancel, alarm].into_iter().flatten().min() else {
            return self.nothing_left();
        };
        self.now = self.now.max(first.0);
        if agenda == Some(first) {
            let seen = self.agenda.pop().and_then(|(_, item)| self.happen(item));
            return Ok(seen.map_or(Advance::Unseen, Advance::Seen));
        }
        if arrival == Some(first) {
            return Ok(self.submit().map_or(Advance::Unseen, Advance::Seen));
        }
        if cancel == Some(first) {
            let cancelled = self.cancels.pop_front().map(|(_, job)| Event::Cancelled(job));
            return Ok(cancelled.map_or(Advance::Unseen, Advance::Seen));
        }
        self.ring()
    }

    fn nothing_left(&self) -> Result<Advance, BackendError> {
        match self.pending.first_key_value() {
            None => Ok(Advance::Over),
            Some((first, _)) => Err(BackendError::Stalled { jobs: self.pending.len() as u64, first: *first }),
        }
    }

    /// The next job comes, and its app with it if it is the first; not if its app is over already.
    fn submit(&mut self) -> Option<Event> {
        let job = &self.workload.jobs[self.arrivals_next];
        self.arrivals_next += 1;
        let truth = job.truth.clone();
        let opened = match self.apps.submitted(&truth) {
            Arrival::TooLate => return None,
            Arrival::Joins => None,
            Arrival::Opens(app) => Some(app),
        };
        let (profile, curve) = (job.profile.clone(), job.curve.clone());
        let truth_known = truth.clone();
        let pending =
            Pending { truth: truth_known, profile, curve, saved: Work::ZERO, starts: 0, lease: None };
        self.pending.insert(truth.id, pending);
        let mut declared = job.declared().or_else(|| self.faults.declare(self.seed, &truth));
        if let Some(speeds) = self.workload.reports.of(&truth) {
            declared.get_or_insert_with(|| (*truth).clone()).speeds = Some(speeds);
        }
        let told = job.foretold.as_ref().or(truth.demand.as_ref());
        let misjudged = told.and_then(|told| self.faults.declare_demand(self.seed, truth.id, told));
        if let Some(demand) = misjudged.map(Arc::new).or_else(|| job.foretold.clone()) {
            let spec = declared.get_or_insert_with(|| (*truth).clone());
            // What was declared of memory alone would be the truth.
            (spec.demand, spec.memory) = (Some(demand), None);
        }
        if !job.announces && !truth.regimes.is_empty() {
            declared.get_or_insert_with(|| (*truth).clone()).regimes.clear();
        }
        let submitted = Event::Submitted(declared.map_or(truth, Arc::new));
        let Some(app) = opened else { return Some(submitted) };
        self.ready.push_back(submitted);
        Some(Event::AppOpened(app))
    }

    fn ring(&mut self) -> Result<Advance, BackendError> {
        let Some((_, round)) = self.alarm.take() else { return Ok(Advance::Unseen) };
        let quiet = self.running.is_empty() && self.arrivals_next == self.workload.jobs.len();
        self.idle_rounds = if quiet { self.idle_rounds + 1 } else { 0 };
        if self.idle_rounds > STALLED_ROUNDS_MAX && !self.agenda.has_news() {
            return self.nothing_left();
        }
        self.rung = (self.now, if self.rung.0 == self.now { self.rung.1 + 1 } else { 1 });
        if self.rung.1 > ROUNDS_AT_ONCE_MAX {
            return Err(BackendError::Restless { at: self.now, rounds: self.rung.1 });
        }
        self.futile_rounds += 1;
        if self.futile_rounds > FUTILE_ROUNDS_MAX {
            self.check_progress()?;
        }
        Ok(Advance::Seen(Event::RoundDue(round)))
    }

    /// Time-slicing shorter than the cost of a restart would go on for ever.
    fn check_progress(&mut self) -> Result<(), BackendError> {
        let (now, pending) = (self.now, &self.pending);
        let gains = |run: &mut Progressing| {
            run.settle(now);
            pending.get(&run.lease.job).is_some_and(|job| run.progress().0 > job.saved)
        };
        let lasting = self.running.values_mut().filter(|run| !run.stopping).any(gains);
        match self.pending.first_key_value() {
            Some((first, _)) if !lasting => {
                let (rounds, jobs) = (self.futile_rounds, self.pending.len() as u64);
                Err(BackendError::NoProgress { rounds, jobs, first: *first })
            }
            _ => {
                self.futile_rounds = 0;
                Ok(())
            }
        }
    }

    /// Carries out an item of the agenda; not all of them are seen by the engine.
    fn happen(&mut self, item: Item) -> Option<Event> {
        match item {
            Item::Turn(lease, turn) => self.turn(lease, turn),
            Item::Saved(lease, grace) => self.leave(lease, grace),
            Item::NodeFails(node) => self.node_fails(node),
            Item::NodeReturns(node) => self.node_returns(node),
            Item::NodeSlows(node, slow) => {
                self.node_slows(node, slow);
                None
            }
            Item::Expiry(lease) => self.expire(lease),
        }
    }

    fn is_over(&self) -> bool {
        self.arrivals_next == self.workload.jobs.len() && self.pending.is_empty() && self.running.is_empty()
    }
}

impl Backend for World {
    fn abilities(&self) -> Abilities {
        Abilities { resize: false, share: true, grace: true, bids: false }
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some((self.now, event)));
            }
            if self.is_over() {
                return Ok(None);
            }
            match self.advance()? {
                Advance::Seen(event) => return Ok(Some((self.now, event))),
                Advance::Unseen => {}
                Advance::Over => return Ok(None),
            }
        }
    }

    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        self.now = self.now.max(now);
        match command {
            Command::Start(lease) => return self.start(lease),
            Command::Renew { lease, expires } => self.renew(*lease, *expires),
            Command::Stop { lease, grace, .. } => self.stop(*lease, *grace),
            Command::End { job, outcome, .. } => self.forget(*job, *outcome),
            Command::WakeAt(at, round) => self.alarm = Some((*at, *round)),
            Command::Resize { .. } | Command::AskForBids(_) => {}
        }
        Ok(())
    }
}
