//! Nodes come, go, and fall under suspicion.

use crate::{Engine, Step};
use evenhand_core::{GpuSet, Health, LeaseId, LeaseState, Node, NodeId, Note};
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
        let busy = state.seats.busy(node.id);
        Arc::make_mut(&mut state.cluster).put(node.clone(), busy);
        state.ask_early();
    }

    /// The node is gone. Its leases end when the world says so; those that had not begun are off.
    pub(crate) fn node_down(&mut self, id: NodeId, step: &mut Step) {
        self.node_closed(id, Health::Down, step);
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

    /// A node takes no new leases.
    pub(crate) fn node_closed(&mut self, id: NodeId, health: Health, step: &mut Step) {
        let Some(node) = self.state.cluster.node(id) else {
            step.notes.push(Note::Ignored);
            return;
        };
        let node = Node { health, ..node.clone() };
        let busy = self.state.seats.busy(id);
        Arc::make_mut(&mut self.state.cluster).put(node, busy);
        self.state.ask_early();
    }

    /// An operator lets a node take nothing new, until they say otherwise.
    pub(crate) fn node_drained(&mut self, id: NodeId, step: &mut Step) {
        self.node_closed(id, Health::Draining, step);
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
                self.node_closed(seat.node, Health::Suspect, step);
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
