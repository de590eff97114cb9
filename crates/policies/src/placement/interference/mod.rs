//! Interference-aware: seats as `topology` does, then puts jobs that got nothing beside those that did, where every contract holds.
//!
//! ```text
//! a job granted whole GPUs may be slowed down to the rate of its fair share:  e = x_t / g_t , at most 1 / 1.1
//!     x_t  what weighted max-min fairness gives its tenant of all GPUs ;   g_t  what the tenant's active jobs ask for
//! a guest comes to a GPU only if, at the ninetieth percentile of the believed slowdown, everybody there keeps within its contract
//! and the upper ends of all memories fit; among such GPUs and the two modes, where the sum of normalised speeds grows most
//! ```
//!
//! A guest has no contract of its own: it lives on what is left over, and goes when the plan wants the GPU. Jobs run side by side (MPS) if all
//! on the GPU were started that way; a guest that was not takes turns with them, which is gentler on some. Jobs that were measured to break a
//! contract are not put together again. Gangs are seated as guests on one node only.

mod tables;

use super::topology::Topology;
use super::{InOrder, PlacerEntry};
use evenhand_core::{
    FreeIndex, GpuSet, Grant, Guest, Opening, Placement, Placer, Ratio, Sharing, SharingMode, Snapshot,
    TenantId,
};
use evenhand_fairness::water_fill;
use std::collections::BTreeMap;
use tables::Tables;

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "interference",
    summary: "As topology; then jobs that got nothing share GPUs wherever everybody keeps the rate of its fair share.",
    build: || Box::new(Interference(InOrder(Topology))),
};

/// By how much guests may slow down a job that was granted whole GPUs, however few jobs there are.
const SLOWDOWN_LEAST: f64 = 1.1;

/// Guests that are looked for a seat in one decision.
const GUESTS_MAX: usize = 100;

struct Interference(InOrder<Topology>);

impl Placer for Interference {
    fn place(&self, snapshot: &Snapshot, room: &mut FreeIndex, grants: &[Grant]) -> Placement {
        self.0.place(snapshot, room, grants)
    }

    fn opens(&self, snapshot: &Snapshot) -> Option<Opening> {
        let mut asked: BTreeMap<TenantId, f64> = BTreeMap::new();
        for (_, job) in snapshot.jobs.iter() {
            *asked.entry(job.spec.tenant).or_default() += f64::from(job.spec.gpus.min.0);
        }
        let usable = snapshot.cluster.nodes.iter().map(|node| node.usable().count());
        let capacity = f64::from(usable.sum::<u32>());
        let parties: Vec<(f64, f64)> =
            asked.iter().map(|(tenant, gpus)| (snapshot.tenants.weight(*tenant).get(), *gpus)).collect();
        let fair = water_fill(&parties, capacity);
        let ratio = |value: f64| Ratio::new(value.max(SLOWDOWN_LEAST)).unwrap_or(Ratio::UNLIMITED);
        let entitled = asked.iter().zip(fair).map(|((tenant, gpus), share)| (*tenant, ratio(gpus / share)));
        let bears = BTreeMap::new();
        Some(Opening { mode: SharingMode::Mps, contracts: entitled.collect(), usual: ratio(1.0), bears })
    }

    fn share(&self, snapshot: &Snapshot, spare: &[Grant]) -> Vec<Guest> {
        let mut tables = Tables::new(snapshot);
        let mut guests = Vec::new();
        for (at, grant) in spare.iter().enumerate().take(GUESTS_MAX) {
            let Some(index) = snapshot.jobs.index(grant.job) else { continue };
            if let Some((gpus, mode)) = tables.best(index, snapshot.jobs.get(index)) {
                for gpu in &gpus {
                    tables.sit(*gpu, grant.job, mode);
                }
                let sharing = Sharing::Beside { slowdown_max: Ratio::UNLIMITED, mode };
                guests.push(Guest { at, gpus: GpuSet::of(gpus), sharing });
            }
        }
        guests
    }
}
