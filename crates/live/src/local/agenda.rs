//! What is known to happen later: jobs that arrive, nodes that go and come, and the one alarm.

use super::script::{LocalJob, Outage};
use evenhand_core::{NodeId, Round, Time};
use std::collections::VecDeque;

/// A node that goes or comes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeChange {
    pub(super) at: Time,
    pub(super) node: NodeId,
    pub(super) up: bool,
}

/// The alarm that the engine asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    pub(super) at: Time,
    pub(super) round: Round,
    /// Whether the progress of jobs was looked up for it: the engine hears that first.
    pub(super) prepared: bool,
}

/// What is known to happen later, each kind in the order of time.
#[derive(Debug)]
pub(super) struct Agenda {
    pub(super) node_changes: VecDeque<NodeChange>,
    pub(super) submissions: VecDeque<LocalJob>,
    pub(super) alarm: Option<Alarm>,
}

impl Agenda {
    pub(super) fn new(mut jobs: Vec<LocalJob>, outages: &[Outage]) -> Self {
        // The sort is stable, so jobs of one time keep their order.
        jobs.sort_by_key(|job| job.at);
        let mut agenda = Self { node_changes: VecDeque::new(), submissions: jobs.into(), alarm: None };
        for Outage { node, down, up } in outages.iter().copied() {
            agenda.put(NodeChange { at: down, node, up: false });
            if let Some(at) = up {
                agenda.put(NodeChange { at, node, up: true });
            }
        }
        agenda
    }

    /// Adds a node change, after those of the same time.
    pub(super) fn put(&mut self, change: NodeChange) {
        let place = self.node_changes.partition_point(|other| other.at <= change.at);
        self.node_changes.insert(place, change);
    }

    /// The next job, if it arrives by now.
    pub(super) fn take_submission(&mut self, now: Time) -> Option<LocalJob> {
        self.submissions.front().filter(|job| job.at <= now)?;
        self.submissions.pop_front()
    }

    /// When the next job arrives or the alarm rings; node changes may have to wait, so the world asks for them.
    pub(super) fn due(&self) -> impl Iterator<Item = Time> {
        let submission = self.submissions.front().map(|job| job.at);
        submission.into_iter().chain(self.alarm.map(|alarm| alarm.at))
    }
}
