//! Clusters as people write them: `v100=32`, `v100=36,p100=36`, or groups of nodes in a scenario.

use crate::InputError;
use evenhand_core::{Bytes, GPUS_PER_NODE_MAX, GpuModel, MODELS_MAX, ModelIndex, Node, NodeId, RackId};
use serde::Deserialize;

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    /// The GPU model.
    pub model: String,
    /// How many nodes.
    pub count: u32,
    /// GPUs in each.
    pub gpus: u8,
    /// Leases one GPU may hold.
    #[serde(default = "one")]
    pub slots: u8,
    /// Memory of one GPU, in GB; 0 = unknown.
    #[serde(default)]
    pub memory_gb: f64,
    /// GPUs wired closely together; 0 = all of a node.
    #[serde(default)]
    pub gpus_per_socket: u8,
}

fn one() -> u8 {
    1
}

/// A cluster, ready to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSpec {
    /// GPU models; the first is the reference.
    pub models: Vec<GpuModel>,
    /// Nodes by number.
    pub nodes: Vec<Node>,
}

/// A node has eight GPUs unless somebody says otherwise.
pub(crate) const GPUS_PER_NODE: u8 = 8;

impl ClusterSpec {
    /// Reads `v100=36,p100=36`: GPUs of each model on nodes of `gpus_per_node`; the last node of a model may have fewer.
    pub fn parse(
        text: &str,
        gpus_per_node: Option<u8>,
        nodes_per_rack: Option<u32>,
    ) -> Result<Self, InputError> {
        let per_node = gpus_per_node.unwrap_or(GPUS_PER_NODE);
        if !(1..=GPUS_PER_NODE_MAX).contains(&per_node) {
            let allowed = format!("a node has 1 to {GPUS_PER_NODE_MAX} GPUs");
            return Err(InputError::field(0, "gpus-per-node", per_node, allowed));
        }
        let wrong = |part: &str| {
            InputError::field(
                0,
                "cluster",
                part,
                "it is written like v100=32 or v100=36,p100=36, with 1 to 1000000 GPUs each",
            )
        };
        let mut groups = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (model, count) = part.split_once('=').ok_or_else(|| wrong(part))?;
            let count: u32 = count.trim().parse().map_err(|_| wrong(part))?;
            let model = model.trim();
            if model.is_empty() || !(1..=1_000_000).contains(&count) {
                return Err(wrong(part));
            }
            let group = |count, gpus| NodeGroup {
                model: model.into(),
                count,
                gpus,
                slots: 1,
                memory_gb: 0.0,
                gpus_per_socket: 0,
            };
            groups.push(group(count / u32::from(per_node), per_node));
            groups.push(group(1, (count % u32::from(per_node)) as u8));
        }
        groups.retain(|group| group.count > 0 && group.gpus > 0);
        Self::of_groups(&groups, nodes_per_rack)
    }

    /// Builds a cluster from groups of nodes.
    pub fn of_groups(groups: &[NodeGroup], nodes_per_rack: Option<u32>) -> Result<Self, InputError> {
        let mut spec = Self { models: Vec::new(), nodes: Vec::new() };
        for group in groups {
            group.check()?;
            let model = spec.model(&group.model)?;
            for _ in 0..group.count {
                let number = spec.nodes.len() as u32;
                let rack = RackId(number / nodes_per_rack.unwrap_or(u32::MAX).max(1));
                let mut node = Node::new(NodeId(number), rack, model, group.gpus);
                node.slots = group.slots;
                node.gpus_per_socket = group.gpus_per_socket;
                node.memory = Bytes((group.memory_gb * 1e9) as u64);
                spec.nodes.push(node);
            }
        }
        if spec.nodes.is_empty() {
            return Err(InputError::field(0, "cluster", "", "it has no GPUs"));
        }
        Ok(spec)
    }

    fn model(&mut self, name: &str) -> Result<ModelIndex, InputError> {
        if let Some(at) = self.models.iter().position(|model| model.name == name) {
            return Ok(ModelIndex(at as u16));
        }
        if self.models.len() == MODELS_MAX {
            return Err(InputError::field(
                0,
                "cluster",
                name,
                format!("there are at most {MODELS_MAX} GPU models"),
            ));
        }
        self.models.push(GpuModel { name: name.to_owned() });
        Ok(ModelIndex(self.models.len() as u16 - 1))
    }

    /// The index of a model by name.
    pub fn model_index(&self, name: &str) -> Option<ModelIndex> {
        self.models.iter().position(|model| model.name == name).map(|at| ModelIndex(at as u16))
    }

    /// All GPUs of a model.
    pub fn gpus_of(&self, model: ModelIndex) -> u32 {
        self.nodes.iter().filter(|node| node.model == model).map(|node| u32::from(node.gpus)).sum()
    }

    /// All GPUs.
    pub fn gpus(&self) -> u32 {
        self.nodes.iter().map(|node| u32::from(node.gpus)).sum()
    }
}

impl NodeGroup {
    fn check(&self) -> Result<(), InputError> {
        if !(1..=GPUS_PER_NODE_MAX).contains(&self.gpus) {
            let allowed = format!("a node has 1 to {GPUS_PER_NODE_MAX} GPUs");
            return Err(InputError::field(0, "gpus", self.gpus, allowed));
        }
        if self.slots == 0 {
            return Err(InputError::field(0, "slots", 0, "a GPU holds at least one lease"));
        }
        if !(self.memory_gb.is_finite() && self.memory_gb >= 0.0) {
            return Err(InputError::field(0, "memory_gb", self.memory_gb, "it must be at least 0"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_written_in_one_line() {
        let spec = ClusterSpec::parse("v100=10,p100=4", Some(4), Some(2)).unwrap();
        let sizes: Vec<_> = spec.nodes.iter().map(|node| (node.model.0, node.gpus, node.rack.0)).collect();
        assert_eq!(sizes, [(0, 4, 0), (0, 4, 0), (0, 2, 1), (1, 4, 1)]);
        assert_eq!((spec.gpus(), spec.gpus_of(ModelIndex(1))), (14, 4));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "v100", "v100=", "v100=0", "=3", "v100=-1", "v100=2,,"] {
            assert!(ClusterSpec::parse(text, None, None).is_err(), "{text} was accepted");
        }
        assert!(ClusterSpec::parse("v100=8", Some(65), None).is_err());
    }
}
