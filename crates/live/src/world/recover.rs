//! The world as an earlier server left it, taken up again.

use super::gauges::Measured;
use super::{Alarm, Far, Mail, Running, World, by_id};
use crate::clock::Clock;
use crate::runner::{Ending, LiveJob, Runner};
use evenhand_core::{EndCause, GpuModel, Health, JobId, Lease, LeaseState, Node, Round, Span, Time, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Receiver;

/// What the ledger says there should be.
#[derive(Debug, Default)]
pub struct Remembered {
    /// The GPU models, by index.
    pub models: Vec<GpuModel>,
    /// All nodes, as they were last.
    pub nodes: Vec<Node>,
    /// Jobs that have not ended.
    pub jobs: Vec<LiveJob>,
    /// How far they were when they were last heard of.
    pub far: BTreeMap<JobId, Far>,
    /// Leases that hold GPUs.
    pub leases: Vec<Lease>,
    /// The alarm that has not rung.
    pub alarm: Option<(Time, Round)>,
    /// Time to save in for leases that are being stopped.
    pub grace: Span,
}

impl World {
    /// A world in which time goes on. Every lease that should hold GPUs is compared with what is there: what never began is
    /// started, what runs is taken over, what ended is reported, and of what left no trace it is said that it is gone.
    pub fn recover(
        remembered: Remembered,
        clock: Clock,
        runner: Box<dyn Runner>,
        inbox: Receiver<Mail>,
    ) -> Self {
        let mut world = Self::empty(clock, runner, inbox);
        world.rebuild(remembered);
        world
    }

    /// Forgets what it knew and takes up what the ledger says instead; what runs, runs on.
    pub fn rebuild(&mut self, remembered: Remembered) {
        let down = remembered.nodes.iter().filter(|node| node.health == Health::Down);
        self.down = down.map(|node| node.id).collect();
        // What comes back when a node is returned is a healthy one, unless an operator said otherwise.
        let health = |node: &Node| if node.drained { Health::Draining } else { Health::Up };
        let healthy = |node: Node| Node { health: health(&node), ..node };
        self.nodes = by_id(remembered.nodes.into_iter().map(healthy).collect());
        self.models = remembered.models;
        self.runner.forget();
        self.nodes.values().for_each(|node| self.runner.learn(node));
        remembered.jobs.iter().for_each(|job| self.runner.admit(job));
        self.jobs = remembered.jobs.into_iter().map(|job| (job.spec.id, job)).collect();
        self.far = remembered.far;
        self.alarm = remembered.alarm.map(|(at, round)| Alarm { at, round, prepared: false });
        self.ready.clear();
        self.running.clear();
        self.again.clear();
        let held: BTreeSet<_> = remembered.leases.iter().map(|lease| lease.id).collect();
        self.ended.retain(|lease| !held.contains(lease));
        self.runner.keep_only(&|lease| held.contains(&lease));
        for lease in &remembered.leases {
            self.take_over(lease, remembered.grace);
        }
        self.runner.begin();
    }

    fn take_over(&mut self, lease: &Lease, grace: Span) {
        let has_trace = self.runner.adopt(lease);
        if !has_trace && lease.state == LeaseState::Asked {
            self.carry_out(&evenhand_core::Command::Start(lease.clone()));
            return;
        }
        let started = lease.state != LeaseState::Asked;
        let told = (Work::ZERO, None);
        let running =
            Running { lease: lease.clone(), started, leaving: None, told, gauged: Measured::default() };
        self.running.insert(lease.id, running);
        if !has_trace {
            let stopping = lease.state == LeaseState::Stopping;
            self.note_end(lease.id, if stopping { Ending::Left(EndCause::Stopped) } else { Ending::Lost });
            return;
        }
        if lease.state == LeaseState::Stopping {
            self.tell_to_leave(lease.id, EndCause::Stopped, grace);
            // When it was told first, and what it did since, nobody knows any more.
            if let Some(leaving) =
                self.running.get_mut(&lease.id).and_then(|running| running.leaving.as_mut())
            {
                leaving.since = lease.taken;
            }
        }
        self.look(lease.id);
    }
}
