//! A world of child processes on this machine, on GPUs that are only pretended.
//!
//! One process group per lease; a thread waits for each and tells the world through a channel, in which
//! [`LocalWorld`] blocks until something happens or falls due. A job learns from its environment what it may use:
//!
//! | Variable | Meaning |
//! |---|---|
//! | `EVENHAND_JOB`, `EVENHAND_LEASE` | the numbers of the job and of the lease |
//! | `EVENHAND_GPUS` | its GPUs as `node.ordinal,...` |
//! | `CUDA_VISIBLE_DEVICES` | the ordinals |
//! | `EVENHAND_CHECKPOINT` | a file to read at the start and to write when told to stop; kept until the job ends |
//!
//! The checkpoint begins with the number of steps done; the rest is the job's own. Replace it by renaming, since a
//! job may be killed at any time. `SIGTERM` means: save, then exit with 75. Exit code 0 means: finished.
//! A process that leaves its group (`setsid`) is out of reach.

mod agenda;
mod due;
mod execute;
mod group;
mod launch;
mod running;
mod scratch;
mod script;
#[cfg(test)]
mod tests;

pub use script::{LocalJob, LocalScript, Outage, Program};

use crate::clock::Clock;
use agenda::{Agenda, NodeChange};
use evenhand_core::{
    Abilities, Backend, BackendError, Command, Event, JobId, LeaseId, Node, NodeId, Span, Time,
};
use running::Running;
use scratch::Scratch;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// Time to save in for a job whose lease expired: what container runtimes give by default.
pub const EXPIRY_GRACE: Span = Span::from_secs(10);

/// How the process of a lease exited, if that can be known.
type Exit = (LeaseId, Option<ExitStatus>);

/// A world of child processes on this machine. Dropping it kills them all.
#[derive(Debug)]
pub struct LocalWorld {
    clock: Clock,
    agenda: Agenda,
    /// Events to hand out before anything else, in the order in which they happened.
    ready: VecDeque<Event>,
    nodes: BTreeMap<NodeId, Node>,
    down: BTreeSet<NodeId>,
    /// Jobs that were submitted and have not ended.
    jobs: BTreeMap<JobId, LocalJob>,
    /// Leases ever asked for: a second start of one does nothing.
    known: BTreeSet<LeaseId>,
    exits: Receiver<Exit>,
    tell_exit: Sender<Exit>,
    // Before `scratch`, since fields are dropped in order: jobs go before the folder they write into.
    running: BTreeMap<LeaseId, Running>,
    scratch: Scratch,
}

impl LocalWorld {
    /// A world that plays this script; its time begins now.
    pub fn new(script: LocalScript) -> Result<Self, BackendError> {
        let doing = "making a scratch folder for checkpoints";
        let scratch = Scratch::new().map_err(|source| BackendError::Io { doing, source })?;
        let agenda = Agenda::new(script.jobs, &script.outages);
        let models = script.models.into_iter().map(Event::ModelAdded);
        let tenants = script.tenants.into_iter().map(Event::TenantChanged);
        let nodes_up = script.nodes.iter().cloned().map(Event::NodeUp);
        let (tell_exit, exits) = mpsc::channel();
        Ok(Self {
            clock: Clock::start(),
            agenda,
            ready: models.chain(tenants).chain(nodes_up).collect(),
            nodes: script.nodes.into_iter().map(|node| (node.id, node)).collect(),
            down: BTreeSet::new(),
            jobs: BTreeMap::new(),
            known: BTreeSet::new(),
            exits,
            tell_exit,
            running: BTreeMap::new(),
            scratch,
        })
    }

    /// Takes a node away, with everything on it. Nothing happens if it is gone already.
    pub fn take_node(&mut self, node: NodeId) {
        self.agenda.put(NodeChange { at: self.clock.now(), node, up: false });
    }

    /// Gives a node back. Nothing happens if it is there.
    pub fn return_node(&mut self, node: NodeId) {
        self.agenda.put(NodeChange { at: self.clock.now(), node, up: true });
    }

    /// Whether every job has come and ended. An alarm or an outage that is still to come concerns nobody then.
    fn is_over(&self) -> bool {
        self.agenda.submissions.is_empty() && self.jobs.is_empty() && self.running.is_empty()
    }

    /// Sleeps until a process exits or something falls due.
    fn wait(&mut self, now: Time) -> Result<(), BackendError> {
        let node_change = self.next_node_change().map(|change| change.at);
        let times = self.agenda.due().chain(node_change).chain(self.running.values().map(Running::due));
        let exit = match times.filter(|time| *time != Time::NEVER).min() {
            Some(due) => self.exits.recv_timeout(Duration::from_millis(due.since(now).0)).ok(),
            None if self.running.is_empty() => return Err(self.stalled()),
            None => self.exits.recv().ok(),
        };
        if let Some(exit) = exit {
            self.note_exit(exit);
        }
        Ok(())
    }

    fn stalled(&self) -> BackendError {
        let first = *self.jobs.keys().next().expect("a world without jobs is over, not stalled");
        BackendError::Stalled { jobs: self.jobs.len() as u64, first }
    }
}

impl Backend for LocalWorld {
    fn abilities(&self) -> Abilities {
        Abilities { resize: false, share: true, grace: true, bids: false }
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        loop {
            while let Ok(exit) = self.exits.try_recv() {
                self.note_exit(exit);
            }
            let now = self.clock.now();
            if let Some(event) = self.due(now) {
                return Ok(Some((now, event)));
            }
            if self.is_over() {
                return Ok(None);
            }
            // Not before the alarm was handed out and answered: the answer may renew.
            self.running.values_mut().for_each(|running| running.stop_if_expired(now));
            self.wait(now)?;
        }
    }

    fn execute(&mut self, _now: Time, command: &Command) -> Result<(), BackendError> {
        self.carry_out(command);
        Ok(())
    }
}
