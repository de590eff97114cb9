//! Gangs whose GPUs come in packets, each on one node: the same for every placer, since few ways are left.
//!
//! ```text
//! apart       the nodes where a packet fits most tightly, of one rack if one has enough
//! together    one node that takes them all, else the nodes that take the most packets, of one rack if one has enough
//! ```

use super::{Want, close_together};
use evenhand_core::{GpuSet, NodeId, Packets, RackId, Seat};
use std::cmp::Reverse;

impl Want<'_> {
    /// The gang in packets; `None` if there is no room for it like that.
    pub(super) fn in_packets(&self, packets: Packets) -> Option<GpuSet> {
        let size = u32::from(packets.gpus);
        if size == 0 || !self.need.is_multiple_of(size) {
            return None;
        }
        let whole = (!packets.apart || self.need == size).then(|| self.on_one_node()).flatten();
        whole.or_else(|| {
            let open: Vec<NodeId> = self.room.at_least(self.model, size).collect();
            let rack_of = |node: &NodeId| self.cluster.nodes[node.index()].rack;
            let racks = (0..self.cluster.racks.len() as u32).map(RackId);
            let racks = racks.map(|rack| open.iter().filter(|node| rack_of(node) == rack).copied().collect());
            let mut places = racks.chain([open.clone()]);
            places.find_map(|nodes| self.packets_on(nodes, packets))
        })
    }

    /// The gang on some of these nodes.
    fn packets_on(&self, mut nodes: Vec<NodeId>, packets: Packets) -> Option<GpuSet> {
        let size = u32::from(packets.gpus);
        let fit = |node: NodeId| if packets.apart { 1 } else { self.room.on(node).count() / size };
        if !packets.apart {
            nodes.sort_by_key(|node| (Reverse(fit(*node)), *node));
        }
        let (mut left, mut seats) = (self.need / size, Vec::new());
        for node in nodes {
            if left == 0 {
                break;
            }
            let count = fit(node).min(left);
            left -= count;
            seats.push(Seat { node, gpus: close_together(self.cluster, self.room, node, count * size) });
        }
        (left == 0).then(|| GpuSet::new(seats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{Cluster, GpuCount, GpuMask, GpuModel, Locality, ModelIndex, Node, Random};

    #[test]
    fn packets_find_room_whenever_there_is_some_and_stay_whole() {
        let mut random = Random::new(7);
        for _ in 0..2_000 {
            let mut cluster = Cluster::new(vec![GpuModel { name: "v100".into() }]);
            for id in 0..6 {
                let node = Node::new(NodeId(id), RackId(id / 3), ModelIndex(0), 8);
                cluster.put(node, GpuMask(random.below(256)));
            }
            let size = 1 + random.below(4) as u32;
            let (count, apart) = (1 + random.below(5) as u32, random.chance(0.5));
            let packets = Packets { gpus: size as u8, apart };
            let (model, room, locality) = (ModelIndex(0), &cluster.free, Locality::Cluster);
            let want = Want { cluster: &cluster, room, model, need: size * count, locality };
            let fit = |node: u32| room.on(NodeId(node)).count() / size;
            let most: u32 = (0..6).map(|node| if apart { fit(node).min(1) } else { fit(node) }).sum();
            let found = want.in_packets(packets);
            assert_eq!(found.is_some(), most >= count, "{count} packets of {size}, apart: {apart}");
            if let Some(gpus) = found {
                assert_eq!(gpus.count(), GpuCount(size * count));
                assert!(packets.divide(&gpus));
                assert!(gpus.seats().iter().all(|seat| seat.gpus.without(room.on(seat.node)).is_empty()));
            }
        }
    }
}
