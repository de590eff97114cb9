//! Topology-aware: the fewest nodes, then the fewest racks, then the tightest fit.
//!
//! ```text
//! one node, where the gang fits most tightly
//! else the rack that needs the fewest nodes, if no choice across racks needs fewer
//! else the emptiest nodes, rack after rack, as long as that costs no extra node
//! ```

use super::{Choose, InOrder, PlacerEntry, Want, close_together, fill};
use evenhand_core::{FreeIndex, GpuSet, Locality, NodeId, Seat};
use std::cmp::Reverse;

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "topology",
    summary: "The fewest nodes, then the fewest racks, then the tightest fit.",
    build: || Box::new(InOrder(Topology)),
};

pub(super) struct Topology;

impl Choose for Topology {
    fn choose(&self, want: &Want<'_>) -> Option<GpuSet> {
        want.on_one_node().or_else(|| (want.locality > Locality::Node).then(|| over_nodes(want))?)
    }
}

/// A gang that no single node can take.
fn over_nodes(want: &Want<'_>) -> Option<GpuSet> {
    let room = want.room;
    let racks: Vec<Vec<NodeId>> = want.cluster.racks.iter().map(|rack| want.emptiest_in(rack)).collect();
    let within = racks.iter().filter_map(|nodes| tightened(want, nodes));
    let best = within.min_by_key(|seats| (seats.len(), leftover(room, seats)));
    if want.locality == Locality::Rack {
        return best.map(GpuSet::new);
    }
    let anywhere = tightened(want, &room.emptiest(want.model).collect::<Vec<_>>())?;
    if let Some(best) = best.filter(|best| best.len() <= anywhere.len()) {
        return Some(GpuSet::new(best));
    }
    let by_rack = tightened(want, &roomiest_first(room, racks))?;
    Some(GpuSet::new(if by_rack.len() <= anywhere.len() { by_rack } else { anywhere }))
}

/// All nodes, rack by rack, the rack with the most free GPUs first.
fn roomiest_first(room: &FreeIndex, mut racks: Vec<Vec<NodeId>>) -> Vec<NodeId> {
    racks.sort_by_key(|nodes| Reverse(nodes.iter().map(|node| room.on(*node).count()).sum::<u32>()));
    racks.concat()
}

/// Fills nodes in order; the last one is swapped for the one among the rest that fits most tightly.
fn tightened(want: &Want<'_>, nodes: &[NodeId]) -> Option<Vec<Seat>> {
    let (cluster, room) = (want.cluster, want.room);
    let mut seats = Vec::new();
    if fill(&mut seats, cluster, room, nodes.iter().copied(), want.need) > 0 {
        return None;
    }
    let last = seats.pop()?;
    let rest = nodes.iter().skip(seats.len()).filter(|node| room.on(**node).count() >= last.gpus.count());
    let node = *rest.min_by_key(|node| room.on(**node).count())?;
    seats.push(Seat { node, gpus: close_together(cluster, room, node, last.gpus.count()) });
    Some(seats)
}

/// Free GPUs that would be left on the nodes of these seats.
fn leftover(room: &FreeIndex, seats: &[Seat]) -> u32 {
    seats.iter().map(|seat| room.on(seat.node).count() - seat.gpus.count()).sum()
}
