//! Nodes come, go, and fall under suspicion.

use crate::{Engine, Step};
use evenhand_core::{GpuSet, Health, LeaseId, LeaseState, Node, NodeId, Note, Span};
use std::sync::Arc;

impl Engine {
    pub(crate) fn node_up(&mut self, node: &Node, step: &mut Step) {
        let state = &mut self.state;
        let known_model = usize::from(node.model.0) < state.cluster.models.len();
        if node.id.index() > state.cluster.nodes.len() || !known_model {
            step.notes.push(Note::Ignored);
            return;
        }
        state.seats.add_node(node.id);
        state.launch_failures.remove(&node.id);
        state.suspects.remove(&node.id);
        let busy = state.seats.busy(node.id);
        Arc::make_mut(&mut state.cluster).put(node.clone(), busy);
        state.ask_early();
    }

    /// The node is gone. Its leases end when the world says so; those that had not begun are off.
    pub(crate) fn node_down(&mut self, id: NodeId, step: &mut Step) {
        self.set_health(id, Health::Down, step);
        let off: Vec<LeaseId> = self
            .state
            .leases
            .iter()
            .filter(|lease| lease.state == LeaseState::Waiting && lease.gpus.touches(id))
            .map(|lease| lease.id)
            .collect();
        for lease in off {
            let job = self.state.leases.get(lease).map(|lease| lease.job);
            self.withdraw(lease, step);
            let unwanted = job.and_then(|job| Some((job, *self.state.unwanted.get(&job)?)));
            if let Some((job, outcome)) = unwanted {
                self.end_job(job, outcome, step);
            }
        }
    }

    /// A node is of another health from now on: only one that is up takes new leases.
    pub(crate) fn set_health(&mut self, id: NodeId, health: Health, step: &mut Step) {
        let Some(node) = self.state.cluster.node(id) else {
            step.notes.push(Note::Ignored);
            return;
        };
        let node = Node { health, ..node.clone() };
        self.state.suspects.remove(&id);
        let busy = self.state.seats.busy(id);
        Arc::make_mut(&mut self.state.cluster).put(node, busy);
        self.state.ask_early();
    }

    /// Suspect nodes have stood aside for long enough. One more failed launch, and they stand aside again.
    pub(crate) fn try_suspects(&mut self, step: &mut Step) {
        let now = self.state.now;
        let due = self.state.suspects.iter().filter(|(_, at)| **at <= now).map(|(node, _)| *node);
        for id in due.collect::<Vec<_>>() {
            self.set_health(id, Health::Up, step);
            self.state.launch_failures.insert(id, self.parts.config.launch_failures_max.saturating_sub(1));
            step.notes.push(Note::TriedAgain(id));
        }
    }

    /// An operator lets a node take nothing new, until they say otherwise.
    pub(crate) fn node_drained(&mut self, id: NodeId, step: &mut Step) {
        self.set_health(id, Health::Draining, step);
        if let Some(node) = self.state.cluster.node(id).cloned() {
            let busy = self.state.seats.busy(id);
            Arc::make_mut(&mut self.state.cluster).put(Node { drained: true, ..node }, busy);
        }
    }

    /// Counts a failed launch against the nodes that were up for it.
    pub(crate) fn suspect_nodes(&mut self, gpus: &GpuSet, step: &mut Step) {
        for seat in gpus.seats() {
            let up = self.state.cluster.nodes[seat.node.index()].health == Health::Up;
            let failures = self.state.launch_failures.entry(seat.node).or_default();
            *failures += u32::from(up);
            if up && *failures >= self.parts.config.launch_failures_max {
                self.set_health(seat.node, Health::Suspect, step);
                let suspicion = self.parts.config.suspicion;
                if suspicion > Span::ZERO {
                    self.state.suspects.insert(seat.node, self.state.now + suspicion);
                }
                step.notes.push(Note::Suspected(seat.node));
            }
        }
    }

    /// A launch that succeeded clears its nodes.
    pub(crate) fn trust_nodes(&mut self, id: LeaseId) {
        if !self.state.launch_failures.is_empty()
            && let Some(lease) = self.state.leases.get(id)
        {
            self.state.launch_failures.retain(|node, _| !lease.gpus.touches(*node));
        }
    }
}
