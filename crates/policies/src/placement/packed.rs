//! Packed: the node where a gang fits most tightly; a gang larger than any node takes the emptiest nodes.
//!
//! Tight fits leave whole nodes empty for the gangs that need them.

use super::{Choose, InOrder, PlacerEntry, close_together, emptiest_in_rack, fill, in_one_rack};
use evenhand_core::{Cluster, FreeIndex, GpuSet, Locality, ModelIndex};

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "packed",
    summary: "The node where the gang fits most tightly; larger gangs take the emptiest nodes.",
    build: || Box::new(InOrder(Packed)),
};

struct Packed;

impl Choose for Packed {
    fn choose(
        &self,
        cluster: &Cluster,
        room: &FreeIndex,
        model: ModelIndex,
        need: u32,
        locality: Locality,
    ) -> Option<GpuSet> {
        if let Some(node) = room.at_least(model, need).next() {
            return Some(GpuSet::on(node, close_together(cluster, room, node, need)));
        }
        match locality {
            Locality::Socket | Locality::Node => None,
            Locality::Rack => {
                in_one_rack(cluster, room, need, |rack| emptiest_in_rack(cluster, room, rack, model))
            }
            Locality::Cluster => {
                let mut seats = Vec::new();
                let left = fill(&mut seats, cluster, room, room.emptiest(model), need);
                (left == 0).then(|| GpuSet::new(seats))
            }
        }
    }
}
