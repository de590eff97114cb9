//! Which GPUs are free, indexed so that a placer never scans them one by one.
//!
//! For every GPU model and every number `c`, a bit set holds the nodes with exactly `c` free GPUs. Finding the
//! node where a gang fits most tightly looks at a few words; copying the whole index for a what-if is a few
//! memory copies, even at 5,000 nodes.

use crate::{GpuCount, GpuMask, GpuSet, ModelIndex, Node, NodeId, PerModel, Seat};
use serde::{Deserialize, Serialize};

/// A set of nodes, one bit each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct NodeSet(Vec<u64>);

impl NodeSet {
    fn insert(&mut self, node: usize) {
        if self.0.len() <= node / 64 {
            self.0.resize(node / 64 + 1, 0);
        }
        self.0[node / 64] |= 1 << (node % 64);
    }

    fn remove(&mut self, node: usize) {
        self.0[node / 64] &= !(1 << (node % 64));
    }

    fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            GpuMask(*bits).ordinals().map(move |bit| NodeId((word * 64) as u32 + u32::from(bit)))
        })
    }
}

/// Free GPUs by node and by GPU model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FreeIndex {
    masks: Vec<GpuMask>,
    models: Vec<ModelIndex>,
    /// `nodes_with[model][count]`: the nodes with that many free GPUs; count 0 is not kept.
    nodes_with: Vec<Vec<NodeSet>>,
    counts: PerModel<GpuCount>,
}

impl FreeIndex {
    /// Free GPUs of one model.
    pub fn count(&self, model: ModelIndex) -> GpuCount {
        self.counts[model]
    }

    /// Free GPUs of each model.
    pub fn counts(&self) -> PerModel<GpuCount> {
        self.counts
    }

    /// Free GPUs of all models.
    pub fn total(&self) -> GpuCount {
        self.counts.values().sum()
    }

    /// The free GPUs of one node.
    pub fn on(&self, node: NodeId) -> GpuMask {
        self.masks.get(node.index()).copied().unwrap_or_default()
    }

    /// Nodes of a model with at least `count` (not 0) free GPUs: the tightest fit first, then by number.
    pub fn at_least(&self, model: ModelIndex, count: u32) -> impl Iterator<Item = NodeId> + '_ {
        let sets = self.nodes_with.get(model.0 as usize).map_or(&[][..], Vec::as_slice);
        sets.iter().skip(count.max(1) as usize).flat_map(NodeSet::iter)
    }

    /// Nodes of a model with free GPUs: the emptiest first, then by number.
    pub fn emptiest(&self, model: ModelIndex) -> impl Iterator<Item = NodeId> + '_ {
        let sets = self.nodes_with.get(model.0 as usize).map_or(&[][..], Vec::as_slice);
        sets.iter().skip(1).rev().flat_map(NodeSet::iter)
    }

    /// Nodes of a model with free GPUs, by number.
    pub fn by_number(&self, model: ModelIndex) -> impl Iterator<Item = NodeId> + '_ {
        self.masks.iter().enumerate().filter_map(move |(at, mask)| {
            (!mask.is_empty() && self.models[at] == model).then_some(NodeId(at as u32))
        })
    }

    /// Takes these GPUs: each must be free.
    pub fn take(&mut self, gpus: &GpuSet) {
        for seat in gpus.seats() {
            let free = self.on(seat.node);
            assert!(seat.gpus.without(free).is_empty(), "{} is taken but not free", seat.node);
            self.set(seat.node, free.without(seat.gpus));
        }
    }

    /// Gives these GPUs back; giving back what is free already changes nothing.
    pub fn give(&mut self, seat: Seat) {
        self.set(seat.node, self.on(seat.node).or(seat.gpus));
    }

    /// Adds a node or changes its free GPUs and its model.
    pub(crate) fn put(&mut self, node: &Node, free: GpuMask) {
        let at = node.id.index();
        if at < self.masks.len() {
            self.set(node.id, GpuMask(0));
        } else {
            self.masks.resize(at + 1, GpuMask(0));
            self.models.resize(at + 1, node.model);
        }
        self.models[at] = node.model;
        let models_count = self.nodes_with.len().max(node.model.0 as usize + 1);
        self.nodes_with.resize_with(models_count, Vec::new);
        let sets = &mut self.nodes_with[node.model.0 as usize];
        if sets.len() <= node.gpus as usize {
            sets.resize_with(node.gpus as usize + 1, NodeSet::default);
        }
        self.set(node.id, free);
    }

    /// Says which GPUs of a known node are free.
    pub fn set(&mut self, node: NodeId, free: GpuMask) {
        let at = node.index();
        let (model, before) = (self.models[at], self.masks[at]);
        if before == free {
            return;
        }
        let sets = &mut self.nodes_with[model.0 as usize];
        if !before.is_empty() {
            sets[before.count() as usize].remove(at);
        }
        if !free.is_empty() {
            sets[free.count() as usize].insert(at);
        }
        self.counts[model] = GpuCount(self.counts[model].0 + free.count() - before.count());
        self.masks[at] = free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RackId, Random};

    /// The slow twin: counts from the masks alone.
    fn assert_consistent(index: &FreeIndex) {
        let model = ModelIndex(0);
        let total: u32 = index.masks.iter().map(|mask| mask.count()).sum();
        assert_eq!(index.count(model), GpuCount(total));
        for need in 1..=8 {
            let mut slow: Vec<_> = (0..index.masks.len() as u32)
                .map(NodeId)
                .filter(|node| index.on(*node).count() >= need)
                .collect();
            slow.sort_by_key(|node| (index.on(*node).count(), *node));
            assert_eq!(index.at_least(model, need).collect::<Vec<_>>(), slow);
        }
        assert_eq!(index.emptiest(model).count(), index.by_number(model).count());
    }

    #[test]
    fn the_index_agrees_with_counting_the_masks() {
        let mut random = Random::new(3);
        let mut index = FreeIndex::default();
        for id in 0..130 {
            let node = Node::new(NodeId(id), RackId(0), ModelIndex(0), 8);
            index.put(&node, node.all());
        }
        for _ in 0..2_000 {
            let node = NodeId(random.below(130) as u32);
            let some = GpuMask(random.below(256));
            if random.chance(0.5) {
                index.give(Seat { node, gpus: some });
            } else {
                index.take(&GpuSet::on(node, index.on(node).and(some)));
            }
        }
        assert_consistent(&index);
    }
}
