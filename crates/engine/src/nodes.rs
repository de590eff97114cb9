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

    /// Counts a failed launch against its nodes.
    pub(crate) fn suspect_nodes(&mut self, gpus: &GpuSet) {
        for seat in gpus.seats() {
            let failures = self.state.launch_failures.entry(seat.node).or_default();
            *failures += 1;
            if *failures >= self.parts.config.launch_failures_max {
                let node =
                    Node { health: Health::Suspect, ..self.state.cluster.nodes[seat.node.index()].clone() };
                let busy = self.state.seats.busy(seat.node);
                Arc::make_mut(&mut self.state.cluster).put(node, busy);
            }
        }
    }
}
