//! The simulated world as a backend.

use crate::agenda::{Agenda, Item, RANK_ROUND, RANK_SUBMISSION};
use crate::execution::{Progressing, Turn, slowdown};
use crate::faults::Faults;
use crate::truth::{EqualTurns, TrueInterference, alone, regime_at};
use crate::workload::Workload;
use evenhand_core::{
    Abilities, Backend, BackendError, Cluster, Command, EndCause, Event, GpuId, GpuMask, GpuModel, Health,
    JobId, JobSpec, Lease, LeaseId, Node, NodeId, Random, Regime, Retry, Round, Sharing, Span, Time, Work,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Rounds in which nothing runs and nothing is coming, after which nothing ever will.
const STALLED_ROUNDS_MAX: u32 = 1000;

/// Rounds in which no work was done that lasts, after which none ever will be.
const FUTILE_ROUNDS_MAX: u32 = 10_000;

/// The least time between two words of a job about how far it is.
const PROGRESS_EVERY: Span = Span::from_minutes(30);

/// A job that has been submitted and has not ended.
#[derive(Debug)]
struct Pending {
    truth: Arc<JobSpec>,
    saved: Work,
    starts: u32,
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
    interference: Box<dyn TrueInterference>,
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
    sharers: BTreeMap<GpuId, Vec<LeaseId>>,
    /// GPUs in use, as this world sees it: an independent witness against double booking.
    taken: Vec<GpuMask>,
    /// Leases that were ever started, one bit each: a second start does nothing.
    known_leases: Vec<u64>,
    /// Crashes that were asked for.
    crashes: BTreeMap<JobId, Span>,
    idle_rounds: u32,
    /// Rounds since some job last saved work that it had not saved before.
    futile_rounds: u32,
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
            interference: Box::new(EqualTurns),
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
            sharers: BTreeMap::new(),
            taken: vec![GpuMask(0); nodes.len()],
            known_leases: Vec::new(),
            crashes: BTreeMap::new(),
            idle_rounds: 0,
            futile_rounds: 0,
            workload,
        };
        world.open(nodes);
        world
    }

    /// Replaces the rule by which jobs on one GPU slow each other down.
    pub fn with_interference(mut self, interference: Box<dyn TrueInterference>) -> Self {
        self.interference = interference;
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
        self.ready.extend(self.workload.apps.iter().cloned().map(Event::AppOpened));
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

    fn plan_outage(&mut self, node: NodeId) {
        let random = &mut self.outages[node.index()];
        if let Some((down, up)) = self.faults.node_outage(random, self.now) {
            self.agenda.add(down, Item::NodeFails(node));
            self.agenda.add(up, Item::NodeReturns(node));
        }
    }

    fn plan_spell(&mut self, node: NodeId) {
        let random = &mut self.spells[node.index()];
        if let Some((from, to)) = self.faults.slow_spell(random, self.now) {
            self.agenda.add(from, Item::NodeSlows(node, true));
            self.agenda.add(to, Item::NodeSlows(node, false));
        }
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
            return Ok(Advance::Seen(self.submit()));
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

    fn submit(&mut self) -> Event {
        let job = &self.workload.jobs[self.arrivals_next];
        self.arrivals_next += 1;
        let truth = job.truth.clone();
        self.pending.insert(truth.id, Pending { truth: truth.clone(), saved: Work::ZERO, starts: 0 });
        let mut declared = self.faults.declare(self.seed, &truth);
        if job.recipe.is_some() && !truth.regimes.is_empty() {
            // Nobody announces how a rule of training will change the batch size.
            declared.get_or_insert_with(|| (*truth).clone()).regimes.clear();
        }
        Event::Submitted(declared.map_or(truth, Arc::new))
    }

    fn ring(&mut self) -> Result<Advance, BackendError> {
        let Some((_, round)) = self.alarm.take() else { return Ok(Advance::Unseen) };
        let quiet = self.running.is_empty() && self.arrivals_next == self.workload.jobs.len();
        self.idle_rounds = if quiet { self.idle_rounds + 1 } else { 0 };
        if self.idle_rounds > STALLED_ROUNDS_MAX && !self.agenda.has_news() {
            return self.nothing_left();
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
            Item::Saved(lease) => self.leave(lease),
            Item::NodeFails(node) => self.node_fails(node),
            Item::NodeReturns(node) => self.node_returns(node),
            Item::NodeSlows(node, slow) => {
                self.node_slows(node, slow);
                None
            }
            Item::Expiry(lease) => self.expire(lease),
        }
    }

    fn turn(&mut self, id: LeaseId, turn: u32) -> Option<Event> {
        let now = self.now;
        let run = self.running.get_mut(&id).filter(|run| run.turn == turn && !run.stopping)?;
        match run.next_turn()?.1 {
            Turn::Finishes => {
                run.arrive(now);
                let alone = alone(&run.truth, self.cluster.models.len());
                Some(self.end_run(id, EndCause::Finished { alone }))
            }
            Turn::Crashes => {
                run.settle(now);
                Some(self.end_run(id, EndCause::Crashed))
            }
            Turn::ChangesRegime => {
                run.arrive(now);
                let (done, saved) = run.progress();
                let (place, ..) = regime_at(&run.truth, done);
                let regime = place.map(|place| &run.truth.regimes[place]);
                let regime = regime.map(|regime| Regime {
                    batch: regime.batch,
                    from: regime.from,
                    speed: regime.speed,
                });
                self.plan_turn(id);
                Some(Event::Progress { lease: id, done, saved, regime, worked: None, loss: None })
            }
        }
    }

    /// Notes the next turn of a run; the turn noted before no longer counts.
    fn plan_turn(&mut self, id: LeaseId) {
        let Some(run) = self.running.get_mut(&id) else { return };
        run.turn += 1;
        if let Some((at, _)) = run.next_turn() {
            self.agenda.add(at.max(self.now), Item::Turn(id, run.turn));
        }
    }

    /// A run is over; whatever it held is free.
    fn end_run(&mut self, id: LeaseId, cause: EndCause) -> Event {
        let run = self.running.remove(&id).expect("a run ends once");
        let (done, saved) = run.progress();
        let finished = matches!(cause, EndCause::Finished { .. });
        let saved = if finished { done } else { saved };
        if let Some(pending) = self.pending.get_mut(&run.lease.job) {
            if saved > pending.saved {
                self.futile_rounds = 0;
            }
            pending.saved = saved;
        }
        self.free(&run.lease);
        Event::LeaseEnded { lease: id, done, saved, cause }
    }

    fn free(&mut self, lease: &Lease) {
        for seat in lease.gpus.seats() {
            let mut freed = seat.gpus;
            for ordinal in seat.gpus.ordinals().filter(|_| lease.sharing != Sharing::Alone) {
                let gpu = GpuId { node: seat.node, ordinal };
                let sharers = self.sharers.entry(gpu).or_default();
                sharers.retain(|other| *other != lease.id);
                if sharers.is_empty() {
                    self.sharers.remove(&gpu);
                } else {
                    freed = freed.without(GpuMask(1 << ordinal));
                }
            }
            let taken = &mut self.taken[seat.node.index()];
            *taken = taken.without(freed);
        }
        self.respeed_neighbours(lease);
    }

    /// A stopped job has written its checkpoint, or was killed at the end of its grace.
    fn leave(&mut self, id: LeaseId) -> Option<Event> {
        self.running.get(&id).filter(|run| run.stopping)?;
        Some(self.end_run(id, EndCause::Stopped))
    }

    fn expire(&mut self, id: LeaseId) -> Option<Event> {
        let now = self.now;
        let run = self.running.get_mut(&id)?;
        if run.lease.expires > now {
            let expires = run.lease.expires;
            self.agenda.add(expires, Item::Expiry(id));
            return None;
        }
        if run.stopping {
            return None;
        }
        run.halt(now);
        Some(self.end_run(id, EndCause::Expired))
    }

    fn node_fails(&mut self, id: NodeId) -> Option<Event> {
        let node = Node { health: Health::Down, ..self.cluster.node(id)?.clone() };
        if self.cluster.nodes[id.index()].health == Health::Down {
            return None;
        }
        self.cluster.put(node, GpuMask(0));
        let lost: Vec<_> = self
            .running
            .iter()
            .filter(|(_, run)| run.lease.gpus.touches(id))
            .map(|(lease, _)| *lease)
            .collect();
        for lease in lost {
            if let Some(run) = self.running.get_mut(&lease) {
                run.halt(self.now);
            }
            let ended = self.end_run(lease, EndCause::NodeLost);
            self.ready.push_back(ended);
        }
        Some(Event::NodeDown(id))
    }

    fn node_returns(&mut self, id: NodeId) -> Option<Event> {
        let node = Node { health: Health::Up, ..self.cluster.node(id)?.clone() };
        self.cluster.put(node.clone(), GpuMask(0));
        self.plan_outage(id);
        Some(Event::NodeUp(node))
    }

    fn node_slows(&mut self, id: NodeId, slow: bool) {
        self.node_speed[id.index()] = if slow { self.faults.straggling.speed } else { 1.0 };
        let touched: Vec<_> = self
            .running
            .iter()
            .filter(|(_, run)| run.lease.gpus.touches(id))
            .map(|(lease, _)| *lease)
            .collect();
        for lease in touched {
            self.respeed(lease);
        }
        if !slow {
            self.plan_spell(id);
        }
    }

    /// Works out the speed of a run anew.
    fn respeed(&mut self, id: LeaseId) {
        let Some(run) = self.running.get(&id) else { return };
        let neighbours: Vec<Vec<&Progressing>> = if self.sharers.is_empty() {
            Vec::new()
        } else {
            let others = |gpu| {
                let sharers = self.sharers.get(&gpu).into_iter().flatten();
                sharers.filter(|other| **other != id).filter_map(|other| self.running.get(other)).collect()
            };
            run.lease.gpus.iter().map(others).collect()
        };
        let slowdown = slowdown(run, &neighbours, &self.cluster, &*self.interference);
        let now = self.now;
        if let Some(run) = self.running.get_mut(&id) {
            run.set_speed(now, &self.cluster, &self.node_speed, slowdown);
        }
        self.plan_turn(id);
    }

    fn respeed_neighbours(&mut self, lease: &Lease) {
        if lease.sharing == Sharing::Alone {
            return;
        }
        let mut touched: Vec<LeaseId> =
            lease.gpus.iter().flat_map(|gpu| self.sharers.get(&gpu).cloned().unwrap_or_default()).collect();
        touched.sort_unstable();
        touched.dedup();
        for id in touched.into_iter().filter(|id| *id != lease.id) {
            self.respeed(id);
        }
    }

    fn start(&mut self, lease: &Lease) -> Result<(), BackendError> {
        if !self.is_new(lease.id) {
            return Ok(());
        }
        let down = |seat: &evenhand_core::Seat| self.cluster.nodes[seat.node.index()].health == Health::Down;
        let Some(pending) = self.pending.get_mut(&lease.job).filter(|_| !lease.gpus.seats().iter().any(down))
        else {
            self.ready.push_back(Event::LaunchFailed { lease: lease.id, retry: Retry::Later });
            return Ok(());
        };
        pending.starts += 1;
        let restart = pending.truth.restart;
        let restore = if pending.starts > 1 { restart.restore } else { Span::ZERO };
        let begins = self.now + restore;
        let scripted = self.crashes.get(&lease.job).copied();
        let crash =
            scripted.or_else(|| self.faults.crash_after(self.seed, lease.job, pending.starts, self.now));
        let run = Progressing::new(lease.clone(), pending.truth.clone(), pending.saved, begins, crash);
        self.take(lease)?;
        self.running.insert(lease.id, run);
        self.respeed(lease.id);
        self.respeed_neighbours(lease);
        self.agenda.add(lease.expires, Item::Expiry(lease.id));
        self.idle_rounds = 0;
        self.ready.push_back(Event::LeaseStarted(lease.id));
        Ok(())
    }

    fn is_new(&mut self, id: LeaseId) -> bool {
        let (word, bit) = ((id.0 / 64) as usize, 1 << (id.0 % 64));
        if self.known_leases.len() <= word {
            self.known_leases.resize(word + 1, 0);
        }
        let new = self.known_leases[word] & bit == 0;
        self.known_leases[word] |= bit;
        new
    }

    /// Marks GPUs as in use. That none is twice is the engine's law; this world does not take its word for it.
    fn take(&mut self, lease: &Lease) -> Result<(), BackendError> {
        for seat in lease.gpus.seats() {
            let taken = &mut self.taken[seat.node.index()];
            for ordinal in seat.gpus.and(*taken).ordinals() {
                let gpu = GpuId { node: seat.node, ordinal };
                let sharers = self.sharers.get(&gpu).map_or(0, Vec::len);
                let slots = usize::from(self.cluster.nodes[seat.node.index()].slots);
                if lease.sharing == Sharing::Alone || sharers == 0 || sharers >= slots {
                    let law = format!("{gpu} is given to {} while another lease holds it", lease.id);
                    return Err(BackendError::Law { round: Round::ZERO, law });
                }
            }
            *taken = taken.or(seat.gpus);
            if lease.sharing != Sharing::Alone {
                for ordinal in seat.gpus.ordinals() {
                    self.sharers.entry(GpuId { node: seat.node, ordinal }).or_default().push(lease.id);
                }
            }
        }
        Ok(())
    }

    fn renew(&mut self, id: LeaseId, expires: Time) {
        let Some(run) = self.running.get_mut(&id) else { return };
        run.lease.expires = run.lease.expires.max(expires);
        if let Some((done, saved)) = run.report(self.now, PROGRESS_EVERY) {
            self.ready.push_back(Event::Progress {
                lease: id,
                done,
                saved,
                regime: None,
                worked: None,
                loss: None,
            });
        }
    }

    fn stop(&mut self, id: LeaseId, grace: Span) {
        let now = self.now;
        let Some(run) = self.running.get_mut(&id).filter(|run| !run.stopping) else { return };
        run.halt(now);
        let save = run.truth.restart.save;
        if save <= grace {
            run.save();
        }
        let leaves = now + save.min(grace);
        if leaves > now {
            self.agenda.add(leaves, Item::Saved(id));
        } else {
            let ended = self.end_run(id, EndCause::Stopped);
            self.ready.push_back(ended);
        }
    }

    fn forget(&mut self, job: JobId) {
        self.pending.remove(&job);
        let left: Vec<_> =
            self.running.iter().filter(|(_, run)| run.lease.job == job).map(|(lease, _)| *lease).collect();
        for lease in left {
            let ended = self.end_run(lease, EndCause::Stopped);
            self.ready.push_back(ended);
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
            Command::End { job, .. } => self.forget(*job),
            Command::WakeAt(at, round) => self.alarm = Some((*at, *round)),
            Command::Resize { .. } | Command::AskForBids { .. } => {}
        }
        Ok(())
    }
}
