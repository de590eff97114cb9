//! Nodes as the ledger tells of them, and how many GPUs are up.

use evenhand_core::{Event, GpuCount, Health, JobSpec, ModelIndex, NodeId, PerModel};

/// All nodes ever seen.
#[derive(Debug, Default)]
pub struct Machines {
    rows: Vec<Machine>,
    models: Vec<String>,
    capacity: GpuCount,
    capacity_max: GpuCount,
    /// GPUs of each model that are up now.
    up: PerModel<GpuCount>,
    /// The most GPUs of each model that were ever up at once.
    most: PerModel<GpuCount>,
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
        self.up[before.model] = self.up[before.model].less(before.usable());
        self.up[row.model] += row.usable();
        self.most[row.model] = self.most[row.model].max(self.up[row.model]);
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

    /// GPUs of one model that are up now.
    pub fn up(&self, model: ModelIndex) -> GpuCount {
        self.up[model]
    }

    /// The GPU models of which GPUs were ever up, and how many are now.
    pub fn models_up(&self) -> impl Iterator<Item = (ModelIndex, GpuCount)> + Clone {
        let models = (0..self.most.0.len() as u16).map(ModelIndex);
        models.filter(|model| self.most[*model] > GpuCount::ZERO).map(|model| (model, self.up[model]))
    }

    /// The GPU models that ever had a GPU up, in order, and what people call them.
    pub fn models_seen(&self) -> impl Iterator<Item = (ModelIndex, String)> {
        let seen = self.most.values().enumerate().filter(|(_, gpus)| *gpus > GpuCount::ZERO);
        seen.map(|(at, _)| {
            let name = self.models.get(at).cloned().unwrap_or_else(|| format!("model-{at}"));
            (ModelIndex(at as u16), name)
        })
    }

    /// The speed of a job on each GPU model, zero where it cannot run: it is not made for the model, or needs more GPUs
    /// at once than there ever were. Before the first node is up any number of GPUs may still come.
    pub fn speeds(&self, spec: &JobSpec) -> PerModel<f64> {
        let mut speeds = PerModel::default();
        for model in (0..speeds.0.len() as u16).map(ModelIndex) {
            let room = spec.gpus.min <= self.most[model] || self.capacity_max == GpuCount::ZERO;
            let mixed = spec.mixes_models && self.most[model] > GpuCount::ZERO;
            speeds[model] = if room || mixed { spec.speed(model).get() } else { 0.0 };
        }
        speeds
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
