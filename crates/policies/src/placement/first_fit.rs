//! First fit: the first free GPUs, by number of node. The simplest thing that works.

use super::{Choose, InOrder, PlacerEntry, Want};
use evenhand_core::{GpuSet, Locality};

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "first-fit",
    summary: "The first free GPUs, by number of node.",
    build: || Box::new(InOrder(FirstFit)),
};

struct FirstFit;

impl Choose for FirstFit {
    fn choose(&self, want: &Want<'_>) -> Option<GpuSet> {
        let mut nodes = want.room.by_number(want.model);
        match want.locality {
            Locality::Socket | Locality::Node => {
                nodes.find(|node| want.room.on(*node).count() >= want.need).map(|node| want.seat_on(node))
            }
            Locality::Rack => want.in_one_rack(|rack| want.open_in(rack)),
            Locality::Cluster => want.fill(nodes),
        }
    }
}
