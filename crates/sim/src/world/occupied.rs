//! GPUs in use, as the world itself sees it: an independent witness against double booking.

use evenhand_core::{BackendError, Cluster, GpuId, GpuMask, Lease, LeaseId, Sharing};
use std::collections::BTreeMap;

/// Which GPUs are in use, and by whom those that are shared.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    taken: Vec<GpuMask>,
    sharers: BTreeMap<GpuId, Vec<LeaseId>>,
}

impl Occupied {
    /// Nothing in use on so many nodes.
    pub fn new(nodes_count: usize) -> Self {
        Self { taken: vec![GpuMask(0); nodes_count], sharers: BTreeMap::new() }
    }

    /// Marks GPUs as in use. That none is twice is the engine's law; this world does not take its word for it.
    pub fn take(&mut self, lease: &Lease, cluster: &Cluster) -> Result<(), BackendError> {
        for seat in lease.gpus.seats() {
            let taken = &mut self.taken[seat.node.index()];
            for ordinal in seat.gpus.and(*taken).ordinals() {
                let gpu = GpuId { node: seat.node, ordinal };
                let sharers = self.sharers.get(&gpu).map_or(0, Vec::len);
                let slots = usize::from(cluster.nodes[seat.node.index()].slots);
                if lease.sharing == Sharing::Alone || sharers == 0 || sharers >= slots {
                    return Err(BackendError::TakenTwice { gpu, lease: lease.id });
                }
            }
            *taken = taken.or(seat.gpus);
            if lease.sharing != Sharing::Alone {
                for ordinal in seat.gpus.ordinals() {
                    self.sharers.entry(GpuId { node: seat.node, ordinal }).or_default().push(lease.id);
                }
            }
        }
        Ok(())
    }

    /// Marks the GPUs of a lease as free, those excepted that others still share.
    pub fn free(&mut self, lease: &Lease) {
        for seat in lease.gpus.seats() {
            let mut freed = seat.gpus;
            for ordinal in seat.gpus.ordinals().filter(|_| lease.sharing != Sharing::Alone) {
                let gpu = GpuId { node: seat.node, ordinal };
                let sharers = self.sharers.entry(gpu).or_default();
                sharers.retain(|other| *other != lease.id);
                if sharers.is_empty() {
                    self.sharers.remove(&gpu);
                } else {
                    freed = freed.without(GpuMask(1 << ordinal));
                }
            }
            let taken = &mut self.taken[seat.node.index()];
            *taken = taken.without(freed);
        }
    }

    /// Whether any GPU is shared.
    pub fn shares_any(&self) -> bool {
        !self.sharers.is_empty()
    }

    /// The leases on a shared GPU other than this one.
    pub fn others_on(&self, gpu: GpuId, own: LeaseId) -> impl Iterator<Item = LeaseId> + '_ {
        let sharers = self.sharers.get(&gpu).into_iter().flatten().copied();
        sharers.filter(move |other| *other != own)
    }
}
