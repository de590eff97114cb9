//! Machines and what is in them.

use crate::{
    Bytes, FreeIndex, GPUS_PER_NODE_MAX, GpuCount, GpuMask, GpuSet, Locality, ModelIndex, NodeId, PerModel,
    RackId,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The most GPU models one cluster may have.
pub const MODELS_MAX: usize = 16;

/// A kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuModel {
    /// What people call it: `v100`, `a100-80g`.
    pub name: String,
}

/// Whether a node may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Takes new leases.
    #[default]
    Up,
    /// Keeps its leases, takes no new ones: an operator is emptying it.
    Draining,
    /// Keeps its leases, takes no new ones: launches keep failing there.
    Suspect,
    /// Gone, with everything on it.
    Down,
}

/// What a node or a job has or needs of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Host {
    /// Thousandths of a CPU core.
    pub cores_milli: u32,
    /// Main memory.
    pub ram: Bytes,
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// What the engine that it belongs to calls it, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The rack it is in.
    pub rack: RackId,
    /// The model of all its GPUs.
    pub model: ModelIndex,
    /// How many GPUs it has: at most [`GPUS_PER_NODE_MAX`].
    pub gpus: u8,
    /// GPUs wired closely together (one socket, one NVLink island); 0 means all of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gpus_per_socket: u8,
    /// Leases that one GPU may hold: 1 = never shared.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub slots: u8,
    /// Memory of one GPU; 0 = unknown, so never a reason to refuse.
    #[serde(default)]
    pub memory: Bytes,
    /// Cores and main memory; 0 = unknown, so never a reason to refuse.
    #[serde(default)]
    pub host: Host,
    /// Whether it may be used.
    #[serde(default)]
    pub health: Health,
    /// GPUs that somebody outside holds: they are there, and not ours to give.
    #[serde(default, skip_serializing_if = "is_none")]
    pub taken: GpuMask,
    /// An operator said that it takes nothing new, and that holds whatever else changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drained: bool,
}

fn one() -> u8 {
    1
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_one(value: &u8) -> bool {
    *value == 1
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_none(value: &GpuMask) -> bool {
    value.is_empty()
}
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(value: &u8) -> bool {
    *value == 0
}

impl Node {
    /// A healthy node of exclusive GPUs.
    pub fn new(id: NodeId, rack: RackId, model: ModelIndex, gpus: u8) -> Self {
        assert!(gpus <= GPUS_PER_NODE_MAX, "a node has at most {GPUS_PER_NODE_MAX} GPUs, not {gpus}");
        let (memory, host) = (Bytes::ZERO, Host::default());
        Self {
            id,
            name: None,
            rack,
            model,
            gpus,
            gpus_per_socket: 0,
            slots: 1,
            memory,
            host,
            health: Health::Up,
            taken: GpuMask(0),
            drained: false,
        }
    }

    /// All its GPUs.
    pub fn all(&self) -> GpuMask {
        GpuMask::first(self.gpus)
    }

    /// The GPUs that may take a new lease.
    pub fn usable(&self) -> GpuMask {
        if self.health == Health::Up { self.all().without(self.taken) } else { GpuMask(0) }
    }

    /// The socket of one of its GPUs, from 0.
    pub fn socket_of(&self, ordinal: u8) -> u8 {
        ordinal.checked_div(self.gpus_per_socket).unwrap_or(0)
    }
}

/// One rack: nodes close together.
pub type Rack = Vec<NodeId>;

/// All machines ever seen, with the GPUs that are free.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cluster {
    /// The GPU models, by index.
    pub models: Vec<GpuModel>,
    /// The GPU model that speeds are relative to and exclusive times are measured on.
    pub reference: Option<ModelIndex>,
    /// Nodes in any state of health, by [`NodeId`].
    pub nodes: Vec<Node>,
    /// Which nodes are in which rack.
    pub racks: Vec<Rack>,
    /// Free GPUs, kept up to date by leases and node events.
    pub free: FreeIndex,
    capacity: PerModel<GpuCount>,
}

impl Cluster {
    /// A cluster of these GPU models, without nodes yet.
    pub fn new(models: Vec<GpuModel>) -> Self {
        assert!(models.len() <= MODELS_MAX, "a cluster has at most {MODELS_MAX} GPU models");
        let reference = (!models.is_empty()).then_some(ModelIndex(0));
        Self { models, reference, ..Self::default() }
    }

    /// The indices of the GPU models.
    pub fn model_indices(&self) -> impl Iterator<Item = ModelIndex> + use<> {
        (0..self.models.len() as u16).map(ModelIndex)
    }

    /// The node of this name, if it was ever seen.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    /// GPUs of one model on nodes that take leases.
    pub fn capacity(&self, model: ModelIndex) -> GpuCount {
        self.capacity[model]
    }

    /// GPUs of each model on nodes that take leases.
    pub fn capacities(&self) -> PerModel<GpuCount> {
        self.capacity
    }

    /// GPUs on nodes that take leases.
    pub fn capacity_total(&self) -> GpuCount {
        self.capacity.values().sum()
    }

    /// Adds a node or changes a known one, with these of its GPUs already taken.
    ///
    /// A new node must have the next free number: places of nodes are dense.
    pub fn put(&mut self, node: Node, taken: GpuMask) {
        assert!(node.id.index() <= self.nodes.len(), "{} leaves a gap in the numbers of nodes", node.id);
        let rack = node.rack.0 as usize;
        if self.racks.len() <= rack {
            self.racks.resize_with(rack + 1, Rack::default);
        }
        if let Some(known) = self.nodes.get(node.id.index()) {
            self.capacity[known.model] = self.capacity[known.model].less(GpuCount(known.usable().count()));
            self.racks[known.rack.0 as usize].retain(|id| *id != node.id);
        }
        self.capacity[node.model] += GpuCount(node.usable().count());
        let members = &mut self.racks[rack];
        members.insert(members.partition_point(|id| *id < node.id), node.id);
        self.free.put(&node, node.usable().without(taken));
        match self.nodes.get_mut(node.id.index()) {
            Some(known) => *known = node,
            None => self.nodes.push(node),
        }
    }

    /// The widest level that a set of GPUs spans.
    pub fn span_of(&self, gpus: &GpuSet) -> Locality {
        match gpus.seats() {
            [] => Locality::Socket,
            [seat] => {
                let node = &self.nodes[seat.node.index()];
                let mut sockets = seat.gpus.ordinals().map(|ordinal| node.socket_of(ordinal));
                let first = sockets.next();
                if sockets.all(|socket| Some(socket) == first) { Locality::Socket } else { Locality::Node }
            }
            [first, rest @ ..] => {
                let rack = |seat: &crate::Seat| self.nodes[seat.node.index()].rack;
                if rest.iter().all(|seat| rack(seat) == rack(first)) {
                    Locality::Rack
                } else {
                    Locality::Cluster
                }
            }
        }
    }

    /// The GPU models of a set of GPUs, each once.
    pub fn models_of(&self, gpus: &GpuSet) -> Vec<ModelIndex> {
        let mut models: Vec<_> =
            gpus.seats().iter().map(|seat| self.nodes[seat.node.index()].model).collect();
        models.sort_unstable();
        models.dedup();
        models
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new(vec![GpuModel { name: "v100".into() }]);
        for id in 0..3 {
            let mut node = Node::new(NodeId(id), RackId(id / 2), ModelIndex(0), 4);
            node.gpus_per_socket = 2;
            cluster.put(node, GpuMask(0));
        }
        cluster
    }

    #[test]
    fn the_span_of_a_set_is_its_widest_level() {
        let cluster = cluster();
        let set = |seats: &[(u32, u64)]| {
            GpuSet::new(seats.iter().map(|(node, mask)| (NodeId(*node), GpuMask(*mask)).into()).collect())
        };
        assert_eq!(cluster.span_of(&set(&[(0, 0b0011)])), Locality::Socket);
        assert_eq!(cluster.span_of(&set(&[(0, 0b0110)])), Locality::Node);
        assert_eq!(cluster.span_of(&set(&[(0, 1), (1, 1)])), Locality::Rack);
        assert_eq!(cluster.span_of(&set(&[(0, 1), (2, 1)])), Locality::Cluster);
    }

    #[test]
    fn gpus_that_somebody_outside_holds_are_not_given_away() {
        let mut cluster = cluster();
        let node = Node { taken: GpuMask(0b1100), ..cluster.nodes[1].clone() };
        cluster.put(node, GpuMask(0b0001));
        assert_eq!(cluster.capacity_total(), GpuCount(10));
        assert_eq!(cluster.free.count(ModelIndex(0)), GpuCount(9));
    }

    #[test]
    fn a_node_that_goes_down_takes_its_gpus_along() {
        let mut cluster = cluster();
        assert_eq!(cluster.capacity_total(), GpuCount(12));
        let mut node = cluster.nodes[1].clone();
        node.health = Health::Down;
        cluster.put(node.clone(), GpuMask(0));
        assert_eq!(cluster.capacity_total(), GpuCount(8));
        assert_eq!(cluster.free.count(ModelIndex(0)), GpuCount(8));
        node.health = Health::Up;
        cluster.put(node, GpuMask(0b1));
        assert_eq!(cluster.capacity_total(), GpuCount(12));
        assert_eq!(cluster.free.count(ModelIndex(0)), GpuCount(11));
        assert_eq!(cluster.racks[0], [NodeId(0), NodeId(1)]);
    }
}
