//! First fit: the first free GPUs, by number of node. The simplest thing that works.

use super::{Choose, InOrder, PlacerEntry, close_together, fill, in_one_rack};
use evenhand_core::{Cluster, FreeIndex, GpuSet, Locality, ModelIndex};

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "first-fit",
    summary: "The first free GPUs, by number of node.",
    build: || Box::new(InOrder(FirstFit)),
};

struct FirstFit;

impl Choose for FirstFit {
    fn choose(
        &self,
        cluster: &Cluster,
        room: &FreeIndex,
        model: ModelIndex,
        need: u32,
        locality: Locality,
    ) -> Option<GpuSet> {
        match locality {
            Locality::Socket | Locality::Node => {
                let node = room.by_number(model).find(|node| room.on(*node).count() >= need)?;
                Some(GpuSet::on(node, close_together(cluster, room, node, need)))
            }
            Locality::Rack => in_one_rack(cluster, room, need, |rack| {
                let fits = |id: &&evenhand_core::NodeId| cluster.nodes[id.index()].model == model;
                rack.iter().filter(fits).filter(|id| !room.on(**id).is_empty()).copied().collect()
            }),
            Locality::Cluster => {
                let mut seats = Vec::new();
                let left = fill(&mut seats, cluster, room, room.by_number(model), need);
                (left == 0).then(|| GpuSet::new(seats))
            }
        }
    }
}
