//! Sets of GPUs, as one bit mask per node.

use crate::{GpuCount, GpuId, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most GPUs one node may have: one bit of a mask each.
pub const GPUS_PER_NODE_MAX: u8 = 64;

/// Some of the GPUs of one node: bit `n` is GPU `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuMask(pub u64);

impl GpuMask {
    /// The first `count` GPUs of a node.
    pub fn first(count: u8) -> Self {
        Self(if count >= 64 { u64::MAX } else { (1 << count) - 1 })
    }
    /// How many GPUs are in the set.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }
    /// Whether none is.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The lowest `count` GPUs of this set.
    pub fn lowest(self, count: u32) -> Self {
        let mut rest = self.0;
        for _ in 0..count.min(self.count()) {
            rest &= rest - 1;
        }
        Self(self.0 & !rest)
    }
    /// GPUs in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    /// GPUs in either set.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// GPUs in this set and not in the other.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// The ordinals in the set, lowest first.
    pub fn ordinals(self) -> impl Iterator<Item = u8> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let ordinal = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(ordinal)
        })
    }
}

/// Some GPUs of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(NodeId, GpuMask)", into = "(NodeId, GpuMask)")]
pub struct Seat {
    /// The node.
    pub node: NodeId,
    /// Which of its GPUs.
    pub gpus: GpuMask,
}

impl From<(NodeId, GpuMask)> for Seat {
    fn from((node, gpus): (NodeId, GpuMask)) -> Self {
        Self { node, gpus }
    }
}

impl From<Seat> for (NodeId, GpuMask) {
    fn from(seat: Seat) -> Self {
        (seat.node, seat.gpus)
    }
}

/// A set of GPUs: seats on distinct nodes, in the order of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuSet {
    seats: Vec<Seat>,
}

impl GpuSet {
    /// The GPUs of these seats; several seats on one node become one.
    pub fn new(mut seats: Vec<Seat>) -> Self {
        seats.retain(|seat| !seat.gpus.is_empty());
        seats.sort_unstable_by_key(|seat| seat.node);
        seats.dedup_by(|next, kept| {
            let same = next.node == kept.node;
            if same {
                kept.gpus = kept.gpus.or(next.gpus);
            }
            same
        });
        Self { seats }
    }

    /// GPUs of one node.
    pub fn on(node: NodeId, gpus: GpuMask) -> Self {
        Self::new(vec![Seat { node, gpus }])
    }

    /// The set of these single GPUs.
    pub fn of(gpus: impl IntoIterator<Item = GpuId>) -> Self {
        Self::new(
            gpus.into_iter().map(|gpu| Seat { node: gpu.node, gpus: GpuMask(1 << gpu.ordinal) }).collect(),
        )
    }

    /// One seat per node, in the order of nodes.
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// How many GPUs.
    pub fn count(&self) -> GpuCount {
        GpuCount(self.seats.iter().map(|seat| seat.gpus.count()).sum())
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// Whether a GPU of this node is in the set.
    pub fn touches(&self, node: NodeId) -> bool {
        !self.mask_on(node).is_empty()
    }

    /// The GPUs of this set on one node.
    pub fn mask_on(&self, node: NodeId) -> GpuMask {
        self.seats.iter().find(|seat| seat.node == node).map_or(GpuMask(0), |seat| seat.gpus)
    }

    /// The single GPUs, in order.
    pub fn iter(&self) -> impl Iterator<Item = GpuId> + '_ {
        self.seats
            .iter()
            .flat_map(|seat| seat.gpus.ordinals().map(|ordinal| GpuId { node: seat.node, ordinal }))
    }
}

impl fmt::Display for GpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, seat) in self.seats.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{} on {}", seat.gpus.count(), seat.node)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gpus_of_a_mask() {
        assert_eq!(GpuMask(0b1011_0100).lowest(2), GpuMask(0b0001_0100));
        assert_eq!(GpuMask(0b1).lowest(5), GpuMask(0b1));
        assert_eq!(GpuMask::first(64), GpuMask(u64::MAX));
        assert_eq!(GpuMask(0b101).ordinals().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn seats_on_one_node_are_merged() {
        let gpu = |node, ordinal| GpuId { node: NodeId(node), ordinal };
        let set = GpuSet::of([gpu(2, 1), gpu(0, 3), gpu(2, 0)]);
        assert_eq!(set.seats().len(), 2);
        assert_eq!(set.count(), GpuCount(3));
        assert_eq!(set.iter().collect::<Vec<_>>(), [gpu(0, 3), gpu(2, 0), gpu(2, 1)]);
        assert_eq!(serde_json::to_string(&set).unwrap(), "[[0,8],[2,3]]");
    }
}
