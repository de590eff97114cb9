//! Machines of an engine outside: found, changed, gone. They are known by their names.

use super::{Arrival, World};
use evenhand_core::{Bytes, Event, GpuModel, Health, Host, MODELS_MAX, ModelIndex, Node, NodeId, RackId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A machine as an engine outside describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNode {
    /// What the engine calls it.
    pub name: String,
    /// The model of its GPUs.
    pub model: String,
    /// How many it has.
    pub gpus: u8,
    /// Memory of one of them; 0: unknown.
    pub memory: Bytes,
    /// Cores and main memory; 0: unknown.
    pub host: Host,
    /// Whether it may be used.
    pub readiness: Readiness,
}

/// Whether a machine may be used, as its engine says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Takes jobs.
    Ready,
    /// Keeps what is on it and takes nothing new.
    Closed,
    /// Gone, with everything on it.
    Gone,
}

impl World {
    /// Compares all machines with those that are known, and tells what is new.
    pub(super) fn see(&mut self, machines: Vec<FoundNode>) {
        let mut seen = BTreeSet::new();
        for machine in machines {
            let known = self.nodes.values().find(|node| node.name.as_deref() == Some(&machine.name));
            let id = known.map_or_else(|| NodeId(self.nodes.len() as u32), |node| node.id);
            seen.insert(id);
            self.see_one(id, &machine);
        }
        let gone: Vec<NodeId> = self.nodes.keys().filter(|id| !seen.contains(id)).copied().collect();
        for id in gone {
            self.take_node(id);
        }
    }

    fn see_one(&mut self, id: NodeId, machine: &FoundNode) {
        let Some(model) = self.model(&machine.model) else { return };
        let FoundNode { memory, host, .. } = *machine;
        let name = Some(Arc::from(machine.name.as_str()));
        let health = if machine.readiness == Readiness::Closed { Health::Draining } else { Health::Up };
        let node = Node { name, memory, host, health, ..Node::new(id, RackId(0), model, machine.gpus) };
        let before = self.nodes.insert(id, node.clone());
        if machine.readiness == Readiness::Gone {
            // One that was never there need not be lost.
            if before.is_none() {
                self.ready.push_back(Arrival::Seen(Event::NodeUp(node)));
            }
            self.take_node(id);
        } else if self.down.contains(&id) {
            self.returning.insert(id);
        } else if before.as_ref() != Some(&node) {
            self.ready.push_back(Arrival::Seen(Event::NodeUp(node)));
        }
    }

    /// The index of a GPU model; a new one is told. `None` if there are too many.
    fn model(&mut self, name: &str) -> Option<ModelIndex> {
        let known = self.models.iter().position(|model| model.name == name);
        if known.is_none() && self.models.len() == MODELS_MAX {
            return None;
        }
        let at = known.unwrap_or_else(|| {
            let model = GpuModel { name: name.to_owned() };
            self.models.push(model.clone());
            self.ready.push_back(Arrival::Seen(Event::ModelAdded(model)));
            self.models.len() - 1
        });
        Some(ModelIndex(at as u16))
    }
}
