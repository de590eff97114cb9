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
                self.set_up(*node, false);
            }
            _ => {}
        }
    }

    /// A node that is known is up from now on.
    pub fn put_up(&mut self, node: NodeId) {
        self.set_up(node, true);
    }

    fn set_up(&mut self, node: NodeId, up: bool) {
        if let Some(row) = self.rows.get(node.index()) {
            self.put(node, Machine { up, ..*row });
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

    /// The speed of a job over all GPUs, on average, against that on the reference GPU model (or on its fastest, if it cannot run there): what
    /// an equal part of every model is worth to it. 1 where there is one model, or where it can run nowhere.
    pub fn pace(&self, spec: &JobSpec) -> f64 {
        if self.models_seen().count() <= 1 {
            return 1.0;
        }
        let speeds = self.speeds(spec);
        let reference = spec.speed(ModelIndex(0)).get();
        let against = if reference > 0.0 { reference } else { speeds.values().fold(0.0, f64::max) };
        let all: GpuCount = self.most.values().sum();
        let sum: f64 =
            self.most.values().zip(speeds.values()).map(|(gpus, speed)| f64::from(gpus.0) * speed).sum();
        let pace = sum / (f64::from(all.0) * against);
        if pace.is_finite() && pace > 0.0 { pace } else { 1.0 }
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
    fn an_equal_part_of_every_model_is_worth_their_mean_speed() {
        let mut machines = Machines::default();
        let node = |id, model| Event::NodeUp(Node::new(NodeId(id), RackId(0), ModelIndex(model), 4));
        let mut spec = JobSpec::new(evenhand_core::JobId(0), evenhand_core::TenantId(0), 1, None);
        let mut speeds = PerModel::all(evenhand_core::Rate::ONE);
        speeds.0[1] = evenhand_core::Rate::new(0.25).unwrap();
        spec.speeds = Some(speeds);
        machines.take(&node(0, 0));
        assert!((machines.pace(&spec) - 1.0).abs() < 1e-12);
        machines.take(&node(1, 1));
        assert!((machines.pace(&spec) - 0.625).abs() < 1e-12);
        machines.take(&node(2, 1));
        assert!((machines.pace(&spec) - 0.5).abs() < 1e-12);
    }

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
