//! Nodes as the ledger tells of them, and how many GPUs are up.

use evenhand_core::{Event, GpuCount, Health, ModelIndex, NodeId};

/// All nodes ever seen.
#[derive(Debug, Default)]
pub struct Machines {
    rows: Vec<Machine>,
    models: Vec<String>,
    capacity: GpuCount,
    capacity_max: GpuCount,
    /// How often the capacity changed.
    pub changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Machine {
    model: ModelIndex,
    gpus: u8,
    up: bool,
}

impl Machines {
    /// Takes the events about nodes and GPU models; others say nothing here.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::ModelAdded(model) => self.models.push(model.name.clone()),
            Event::NodeUp(node) => {
                let row = Machine { model: node.model, gpus: node.gpus, up: node.health == Health::Up };
                self.put(node.id, row);
            }
            Event::NodeDown(node) | Event::NodeSuspect(node) | Event::NodeDraining(node) => {
                if let Some(row) = self.rows.get(node.index()) {
                    self.put(*node, Machine { up: false, ..*row });
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, node: NodeId, row: Machine) {
        let at = node.index();
        if self.rows.len() <= at {
            self.rows.resize(at + 1, Machine { model: ModelIndex(0), gpus: 0, up: false });
        }
        let before = std::mem::replace(&mut self.rows[at], row);
        self.capacity = (self.capacity + row.usable()).less(before.usable());
        self.capacity_max = self.capacity_max.max(self.capacity);
        self.changes += 1;
    }

    /// GPUs of nodes that are up now.
    pub fn capacity(&self) -> GpuCount {
        self.capacity
    }

    /// The most GPUs that were ever up at once.
    pub fn capacity_max(&self) -> GpuCount {
        self.capacity_max
    }

    /// The GPU model of a node.
    pub fn model(&self, node: NodeId) -> ModelIndex {
        self.rows.get(node.index()).map_or(ModelIndex(0), |row| row.model)
    }

    /// What people call the GPU model of a node; empty if it was never named.
    pub fn model_name(&self, node: NodeId) -> &str {
        self.models.get(usize::from(self.model(node).0)).map_or("", String::as_str)
    }

    /// GPUs of one node, up or not.
    pub fn gpus(&self, node: NodeId) -> u8 {
        self.rows.get(node.index()).map_or(0, |row| row.gpus)
    }

    /// How many GPU models there are.
    pub fn models_count(&self) -> usize {
        self.models.len()
    }

    /// How many nodes were ever seen.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

impl Machine {
    fn usable(self) -> GpuCount {
        GpuCount(if self.up { self.gpus.into() } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Node, RackId};

    #[test]
    fn capacity_follows_the_health_of_nodes() {
        let mut machines = Machines::default();
        let node = |id| Event::NodeUp(Node::new(NodeId(id), RackId(0), ModelIndex(0), 8));
        machines.take(&node(0));
        machines.take(&node(1));
        machines.take(&Event::NodeDraining(NodeId(1)));
        assert_eq!((machines.capacity(), machines.capacity_max()), (GpuCount(8), GpuCount(16)));
        machines.take(&Event::NodeDown(NodeId(1)));
        machines.take(&Event::NodeDown(NodeId(7)));
        assert_eq!(machines.capacity(), GpuCount(8));
        machines.take(&node(1));
        machines.take(&node(1));
        assert_eq!((machines.capacity(), machines.capacity_max()), (GpuCount(16), GpuCount(16)));
    }
}
