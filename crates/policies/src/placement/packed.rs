//! Packed: the node where a gang fits most tightly; a gang larger than any node takes the emptiest nodes.
//!
//! Tight fits leave whole nodes empty for the gangs that need them.

use super::{Choose, InOrder, PlacerEntry, Want};
use evenhand_core::{GpuSet, Locality};

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "packed",
    summary: "The node where the gang fits most tightly; larger gangs take the emptiest nodes.",
    build: || Box::new(InOrder(Packed)),
};

struct Packed;

impl Choose for Packed {
    fn choose(&self, want: &Want<'_>) -> Option<GpuSet> {
        want.on_one_node().or_else(|| match want.locality {
            Locality::Socket | Locality::Node => None,
            Locality::Rack => want.in_one_rack(|rack| want.emptiest_in(rack)),
            Locality::Cluster => want.fill(want.room.emptiest(want.model)),
        })
    }
}
