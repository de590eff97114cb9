//! Nodes fail, come back and straggle.

use super::World;
use crate::agenda::Item;
use evenhand_core::{EndCause, Event, GpuMask, Health, LeaseId, Node, NodeId};

impl World {
    pub(super) fn plan_outage(&mut self, node: NodeId) {
        let random = &mut self.outages[node.index()];
        if let Some((down, up)) = self.faults.node_outage(random, self.now) {
            self.agenda.add(down, Item::NodeFails(node));
            self.agenda.add(up, Item::NodeReturns(node));
        }
    }

    pub(super) fn plan_spell(&mut self, node: NodeId) {
        let random = &mut self.spells[node.index()];
        if let Some((from, to)) = self.faults.slow_spell(random, self.now) {
            self.agenda.add(from, Item::NodeSlows(node, true));
            self.agenda.add(to, Item::NodeSlows(node, false));
        }
    }

    pub(super) fn node_fails(&mut self, id: NodeId) -> Option<Event> {
        let node = Node { health: Health::Down, ..self.cluster.node(id)?.clone() };
        if self.cluster.nodes[id.index()].health == Health::Down {
            return None;
        }
        self.cluster.put(node, GpuMask(0));
        for lease in self.running_on(id) {
            if let Some(run) = self.running.get_mut(&lease) {
                run.halt(self.now);
            }
            let ended = self.end_run(lease, EndCause::NodeLost);
            self.ready.push_back(ended);
        }
        Some(Event::NodeDown(id))
    }

    pub(super) fn node_returns(&mut self, id: NodeId) -> Option<Event> {
        let node = Node { health: Health::Up, ..self.cluster.node(id)?.clone() };
        self.cluster.put(node.clone(), GpuMask(0));
        self.plan_outage(id);
        Some(Event::NodeUp(node))
    }

    pub(super) fn node_slows(&mut self, id: NodeId, slow: bool) {
        self.node_speed[id.index()] = if slow { self.faults.straggling.speed } else { 1.0 };
        for lease in self.running_on(id) {
            self.respeed(lease);
        }
        if !slow {
            self.plan_spell(id);
        }
    }

    fn running_on(&self, id: NodeId) -> Vec<LeaseId> {
        let touching = self.running.iter().filter(|(_, run)| run.lease.gpus.touches(id));
        touching.map(|(lease, _)| *lease).collect()
    }
}
