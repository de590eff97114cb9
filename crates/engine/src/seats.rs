//! Which GPUs are taken, which are promised, and who shares one.
//!
//! A GPU is *taken* from the moment the world is asked to start a lease on it until the world says that the lease
//! has ended; it is *promised* to a lease that waits for such an end. It is free when neither holds and its node
//! takes leases. This is the whole argument for "no GPU in two exclusive leases".

use evenhand_core::{Cluster, GpuId, GpuMask, GpuSet, Lease, LeaseId, NodeId, Seat, Sharing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Desk {
    taken: GpuMask,
    promised: GpuMask,
    /// Leases that wait for GPUs of this node.
    waiting: Vec<LeaseId>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Seats {
    desks: Vec<Desk>,
    /// Who is on a GPU that is not held exclusively.
    sharers: BTreeMap<GpuId, Vec<LeaseId>>,
}

impl Seats {
    pub fn promised(&self, node: NodeId) -> GpuMask {
        self.desks.get(node.index()).map_or(GpuMask(0), |desk| desk.promised)
    }

    /// GPUs of a node that cannot be free, whatever its health.
    pub fn busy(&self, node: NodeId) -> GpuMask {
        self.desks.get(node.index()).map_or(GpuMask(0), |desk| desk.taken.or(desk.promised))
    }

    /// Makes room for one more node.
    pub fn add_node(&mut self, node: NodeId) {
        if self.desks.len() <= node.index() {
            self.desks.resize_with(node.index() + 1, Desk::default);
        }
    }

    /// Whether a lease could take its GPUs at this moment.
    pub fn can_take(&self, lease: &Lease) -> bool {
        let open = |seat: &Seat| {
            let blocked = seat.gpus.and(self.desks[seat.node.index()].taken);
            lease.sharing != Sharing::Alone
                && blocked
                    .ordinals()
                    .all(|ordinal| self.sharers.contains_key(&GpuId { node: seat.node, ordinal }))
                || blocked.is_empty()
        };
        lease.gpus.seats().iter().all(open)
    }

    /// Takes the GPUs of a lease.
    pub fn take(&mut self, lease: &Lease, cluster: &mut Cluster) {
        for seat in lease.gpus.seats() {
            let desk = &mut self.desks[seat.node.index()];
            if lease.sharing == Sharing::Alone {
                assert!(
                    seat.gpus.and(desk.taken).is_empty(),
                    "{} would hold a taken GPU of {}",
                    lease.id,
                    seat.node
                );
            } else {
                for ordinal in seat.gpus.ordinals() {
                    let gpu = GpuId { node: seat.node, ordinal };
                    let alone = desk.taken.0 >> ordinal & 1 == 1 && !self.sharers.contains_key(&gpu);
                    assert!(!alone, "{} would share {gpu}, which is held exclusively", lease.id);
                    let sharers = self.sharers.entry(gpu).or_default();
                    sharers.push(lease.id);
                    let slots = cluster.nodes[seat.node.index()].slots;
                    assert!(sharers.len() <= slots.into(), "{gpu} would be over its {slots} slots");
                }
            }
            desk.taken = desk.taken.or(seat.gpus);
            refresh(desk, seat.node, cluster);
        }
    }

    /// Gives the GPUs of an ended lease back.
    pub fn give_back(&mut self, lease: &Lease, cluster: &mut Cluster) {
        for seat in lease.gpus.seats() {
            let mut freed = seat.gpus;
            if lease.sharing != Sharing::Alone {
                for ordinal in seat.gpus.ordinals() {
                    let gpu = GpuId { node: seat.node, ordinal };
                    let sharers = self.sharers.entry(gpu).or_default();
                    sharers.retain(|id| *id != lease.id);
                    if sharers.is_empty() {
                        self.sharers.remove(&gpu);
                    } else {
                        freed = freed.without(GpuMask(1 << ordinal));
                    }
                }
            }
            let desk = &mut self.desks[seat.node.index()];
            desk.taken = desk.taken.without(freed);
            refresh(desk, seat.node, cluster);
        }
    }

    /// Promises GPUs to a lease that has to wait for them.
    pub fn promise(&mut self, lease: &Lease, cluster: &mut Cluster) {
        for seat in lease.gpus.seats() {
            let desk = &mut self.desks[seat.node.index()];
            assert!(seat.gpus.and(desk.promised).is_empty(), "a GPU of {} is promised twice", seat.node);
            desk.promised = desk.promised.or(seat.gpus);
            desk.waiting.push(lease.id);
            refresh(desk, seat.node, cluster);
        }
    }

    /// Takes a promise back: the lease takes its GPUs now, or is off.
    pub fn release_promise(&mut self, lease: &Lease, cluster: &mut Cluster) {
        for seat in lease.gpus.seats() {
            let desk = &mut self.desks[seat.node.index()];
            desk.promised = desk.promised.without(seat.gpus);
            desk.waiting.retain(|id| *id != lease.id);
            refresh(desk, seat.node, cluster);
        }
    }

    /// Leases that wait for GPUs of the nodes of this set, in the order they were decided.
    pub fn waiting_for(&self, gpus: &GpuSet) -> Vec<LeaseId> {
        let mut waiting: Vec<_> = gpus
            .seats()
            .iter()
            .flat_map(|seat| self.desks[seat.node.index()].waiting.iter().copied())
            .collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting
    }

    /// Who is on a GPU that is shared.
    pub fn sharers(&self, gpu: GpuId) -> &[LeaseId] {
        self.sharers.get(&gpu).map_or(&[], Vec::as_slice)
    }
}

fn refresh(desk: &Desk, id: NodeId, cluster: &mut Cluster) {
    let usable = cluster.nodes[id.index()].usable();
    cluster.free.set(id, usable.without(desk.taken).without(desk.promised));
}
