//! The real world as a backend: whatever runs jobs, requests from outside, and the alarm, in the order in which they happen.
//!
//! [`World`] blocks in one channel, into which everybody who knows something puts [`Mail`]. It keeps the same contract as the simulated
//! world, whichever [`Runner`] is behind it.

mod due;
mod execute;
mod far;
mod gauges;
#[cfg(test)]
mod idle;
mod machines;
mod recover;

pub use far::Far;
pub use machines::{FoundNode, Readiness};
pub use recover::Remembered;

use gauges::Measured;

use crate::clock::Clock;
use crate::gauges::Gauged;
use crate::request::{Refusal, Request};
use crate::runner::{LiveJob, Report, Runner};
use evenhand_core::{
    Abilities, Backend, BackendError, Command, EndCause, Event, GpuModel, Health, JobId, Lease, LeaseId,
    Node, NodeId, Round, Span, Tenant, Time, Work,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Time to save in for a job whose lease expired: what container runtimes give by default.
pub const EXPIRY_GRACE: Span = Span::from_secs(10);

/// Leases that ended and are remembered: a start of one of them does nothing.
const ENDED_KEPT_MAX: usize = 4096;

/// News for the world.
#[derive(Debug)]
pub enum Mail {
    /// Something may have become of a lease.
    Look(LeaseId),
    /// A job arrives, already checked and numbered.
    Submit(LiveJob),
    /// A node goes, with everything on it, or comes back.
    Node {
        /// Which.
        node: NodeId,
        /// Whether it comes back.
        up: bool,
    },
    /// All machines of an engine outside, as they are now: those that are not among them are gone.
    Machines(Vec<FoundNode>),
    /// A job is gone from the engine outside in which it was found: whoever submitted it there took it back.
    Gone(JobId),
    /// How busy GPUs are.
    Gauges(Vec<Gauged>),
    /// Somebody outside wants something, and waits for an answer.
    Asked(Request),
    /// Nobody outside will send anything any more: the world ends when every job has.
    Close,
    /// Whoever drives the world should leave it now. Jobs go on.
    Leave,
}

/// The machines and whom fairness is between, at the start.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// GPU models, in the order of their index.
    pub models: Vec<GpuModel>,
    /// Whom fairness is between.
    pub tenants: Vec<Tenant>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// What comes next.
#[derive(Debug)]
pub enum Arrival {
    /// Something happened.
    Seen(Event),
    /// Somebody wants something; whoever drives the world makes events of it.
    Asked(Request),
}

/// The alarm that the engine asked for.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    at: Time,
    round: Round,
    /// How far jobs are has been told before it rings.
    prepared: bool,
}

/// A lease that holds GPUs.
#[derive(Debug)]
struct Running {
    lease: Lease,
    started: bool,
    /// It was told to leave.
    leaving: Option<Leaving>,
    /// What was last told of how far it is: what is saved, and what it says.
    told: (Work, Option<Report>),
    gauged: Measured,
}

/// A lease was told to leave.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    cause: EndCause,
    /// Since when.
    since: Time,
    /// Until then it may save.
    until: Time,
}

/// The real world.
pub struct World {
    clock: Clock,
    inbox: Receiver<Mail>,
    /// Nobody outside sends anything any more.
    closed: bool,
    /// Whoever drives the world should leave it.
    left: bool,
    ready: VecDeque<Arrival>,
    alarm: Option<Alarm>,
    models: Vec<GpuModel>,
    nodes: BTreeMap<NodeId, Node>,
    down: BTreeSet<NodeId>,
    /// Nodes that are to come back when all that was lost with them is gone.
    returning: BTreeSet<NodeId>,
    jobs: BTreeMap<JobId, LiveJob>,
    /// How far each job was when it was last heard of.
    far: BTreeMap<JobId, Far>,
    running: BTreeMap<LeaseId, Running>,
    ended: BTreeSet<LeaseId>,
    /// Leases to look at again.
    again: BTreeSet<(Time, LeaseId)>,
    runner: Box<dyn Runner>,
}

impl World {
    /// A world that begins now, with these machines; news comes out of `inbox`, the runner's included.
    pub fn new(setting: Setting, clock: Clock, runner: Box<dyn Runner>, inbox: Receiver<Mail>) -> Self {
        let mut world = Self::empty(clock, runner, inbox);
        world.add(setting);
        world.runner.begin();
        world
    }

    /// Announces these machines and tenants.
    pub fn add(&mut self, setting: Setting) {
        self.models.extend(setting.models.iter().cloned());
        setting.nodes.iter().for_each(|node| self.runner.learn(node));
        let models = setting.models.into_iter().map(Event::ModelAdded);
        let tenants = setting.tenants.into_iter().map(Event::TenantChanged);
        let nodes_up = setting.nodes.iter().cloned().map(Event::NodeUp);
        self.ready.extend(models.chain(tenants).chain(nodes_up).map(Arrival::Seen));
        self.nodes.extend(by_id(setting.nodes));
    }

    fn empty(clock: Clock, runner: Box<dyn Runner>, inbox: Receiver<Mail>) -> Self {
        Self {
            clock,
            inbox,
            closed: false,
            left: false,
            ready: VecDeque::new(),
            alarm: None,
            models: Vec::new(),
            nodes: BTreeMap::new(),
            down: BTreeSet::new(),
            returning: BTreeSet::new(),
            jobs: BTreeMap::new(),
            far: BTreeMap::new(),
            running: BTreeMap::new(),
            ended: BTreeSet::new(),
            again: BTreeSet::new(),
            runner,
        }
    }

    /// The next arrival; blocks until there is one. `None` when the inbox was closed and every job has ended, or when it is time to leave.
    pub fn arrival(&mut self) -> Result<Option<(Time, Arrival)>, BackendError> {
        loop {
            let ready = self.ready();
            if self.left {
                return Ok(None);
            }
            if let Some(arrival) = ready {
                return Ok(Some(arrival));
            }
            if self.closed && self.jobs.is_empty() && self.running.is_empty() {
                return Ok(None);
            }
            let now = self.clock.now();
            // Not before the alarm was handed out and answered: the answer may renew.
            self.stop_expired(now);
            self.wait(now)?;
        }
    }

    /// The next arrival if it is there already.
    pub fn ready(&mut self) -> Option<(Time, Arrival)> {
        loop {
            match self.inbox.try_recv() {
                Ok(mail) => self.take(mail),
                Err(TryRecvError::Disconnected) => {
                    self.closed = true;
                    break;
                }
                Err(TryRecvError::Empty) => break,
            }
        }
        let now = self.clock.now();
        self.due(now).map(|arrival| (now, arrival))
    }

    /// Whether it is time to leave.
    pub fn is_left(&self) -> bool {
        self.left
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// A job is about to be told to the engine: it may be started from now on.
    pub fn admit(&mut self, job: LiveJob) {
        self.runner.admit(&job);
        let before = self.jobs.insert(job.spec.id, job);
        assert!(before.is_none(), "a job is submitted once");
    }

    /// An operator lets a node take nothing new, or lets it go on: remembered for when it changes or comes back.
    pub fn drain(&mut self, node: NodeId, drained: bool) {
        if let Some(node) = self.nodes.get_mut(&node) {
            node.drained = drained;
            node.health = if drained { Health::Draining } else { Health::Up };
        }
    }

    /// Why this world runs nothing that is submitted here, if that is so.
    pub fn runs_no_programs(&self) -> Option<&'static str> {
        self.runner.runs_no_programs()
    }

    /// An event is recorded for good: nothing more need be kept about it.
    pub fn recorded(&mut self, event: &Event) {
        if let Event::LeaseEnded { lease, .. } | Event::LaunchFailed { lease, .. } = event {
            self.runner.clear(*lease);
        }
    }

    /// An arrival that was taken too early comes first the next time.
    pub fn put_back(&mut self, arrival: Arrival) {
        self.ready.push_front(arrival);
    }

    /// Answers every request that comes within some time with this refusal. Other news is left out: whoever calls this looks at everything
    /// again afterwards, with [`World::rebuild`].
    pub fn turn_away(&mut self, refusal: &Refusal, span: Duration) {
        let refuse = |request: Request| request.into_parts().1(Err(refusal.clone()));
        for arrival in self.ready.drain(..) {
            if let Arrival::Asked(request) = arrival {
                refuse(request);
            }
        }
        let until = self.clock.now() + Span(span.as_millis() as u64);
        loop {
            let left = Duration::from_millis(until.since(self.clock.now()).0);
            match self.inbox.recv_timeout(left) {
                Ok(Mail::Asked(request)) => refuse(request),
                Ok(Mail::Leave) => {
                    self.left = true;
                    return;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return,
                Err(RecvTimeoutError::Disconnected) => {
                    self.closed = true;
                    std::thread::sleep(left);
                    return;
                }
            }
        }
    }

    /// Sleeps until mail comes or something falls due.
    fn wait(&mut self, now: Time) -> Result<(), BackendError> {
        let alarm = self.alarm.map(|alarm| alarm.at);
        let again = self.again.first().map(|(at, _)| *at);
        let expiries = self.running.values().filter(|running| running.leaving.is_none());
        let expiries = expiries.map(|running| running.lease.expires).filter(|at| *at != Time::NEVER);
        let expiry = expiries.min().map(|at| at + Span(1));
        let due = [alarm, again, expiry].into_iter().flatten().min();
        let mail = match due {
            Some(due) => self.inbox.recv_timeout(Duration::from_millis(due.since(now).0)),
            None if self.closed && self.running.is_empty() => return Err(self.stalled()),
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match mail {
            Ok(mail) => self.take(mail),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                self.closed = true;
                // Nobody sends any more, so a wait on the channel would not be one.
                if let Some(due) = due {
                    std::thread::sleep(Duration::from_millis(due.since(now).0));
                }
            }
        }
        Ok(())
    }

    fn stalled(&self) -> BackendError {
        let first = *self.jobs.keys().next().expect("a world without jobs is over, not stalled");
        BackendError::Stalled { jobs: self.jobs.len() as u64, first }
    }

    fn stop_expired(&mut self, now: Time) {
        let expired =
            self.running.values().filter(|running| running.leaving.is_none() && running.lease.expires < now);
        for lease in expired.map(|running| running.lease.id).collect::<Vec<_>>() {
            self.tell_to_leave(lease, EndCause::Expired, EXPIRY_GRACE);
        }
    }

    fn tell_to_leave(&mut self, lease: LeaseId, cause: EndCause, grace: Span) {
        if let Some(running) = self.running.get_mut(&lease) {
            let now = self.clock.now();
            let since = running.leaving.map_or(now, |before| before.since);
            running.leaving = Some(Leaving { cause, since, until: now + grace });
            self.runner.stop(lease, cause, grace);
        }
    }
}

fn by_id(nodes: Vec<Node>) -> BTreeMap<NodeId, Node> {
    nodes.into_iter().map(|node| (node.id, node)).collect()
}

/// Driven as a plain backend, there is nobody who could answer requests: they are turned away.
impl Backend for World {
    fn abilities(&self) -> Abilities {
        self.runner.abilities()
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        loop {
            match self.arrival()? {
                Some((now, Arrival::Seen(event))) => return Ok(Some((now, event))),
                Some((_, Arrival::Asked(request))) => request.turn_away(),
                None => return Ok(None),
            }
        }
    }

    fn execute(&mut self, _now: Time, command: &Command) -> Result<(), BackendError> {
        self.carry_out(command);
        Ok(())
    }
}
