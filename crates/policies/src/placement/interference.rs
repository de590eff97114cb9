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

use super::topology::Topology;
use super::{InOrder, PlacerEntry};
use evenhand_core::{
    Bytes, FreeIndex, GpuId, GpuSet, Grant, Guest, Job, JobId, JobIndex, LeaseState, NodeId, Opening,
    Placement, Placer, Ratio, Sharing, SharingMode, Snapshot, TenantId,
};
use evenhand_fairness::water_fill;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const ENTRY: PlacerEntry = PlacerEntry {
    name: "interference",
    summary: "As topology; then jobs that got nothing share GPUs wherever everybody keeps the rate of its fair share.",
    build: || Box::new(Interference(InOrder(Topology))),
};

/// By how much guests may slow down a job that was granted whole GPUs, however few jobs there are.
const SLOWDOWN_LEAST: f64 = 1.1;

/// Free memory that is left on a GPU after a guest has come.
const MARGIN: Bytes = Bytes(500 << 20);

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
        Some(Opening { mode: SharingMode::Mps, contracts: entitled.collect(), usual: ratio(1.0) })
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

/// A job on a shared GPU.
#[derive(Clone, Copy, Debug)]
struct Sitting {
    job: JobId,
    slowdown_max: Ratio,
    mode: SharingMode,
}

/// Who sits where.
struct Tables<'a> {
    snapshot: &'a Snapshot,
    seats: BTreeMap<GpuId, Vec<Sitting>>,
}

impl<'a> Tables<'a> {
    /// The shared GPUs on which nothing is on its way.
    fn new(snapshot: &'a Snapshot) -> Self {
        let mut seats: BTreeMap<GpuId, Vec<Sitting>> = BTreeMap::new();
        let mut closed = BTreeSet::new();
        for lease in snapshot.leases.iter() {
            match lease.sharing {
                Sharing::Beside { slowdown_max, mode }
                    if matches!(lease.state, LeaseState::Asked | LeaseState::Held) =>
                {
                    let sitting = Sitting { job: lease.job, slowdown_max, mode };
                    lease.gpus.iter().for_each(|gpu| seats.entry(gpu).or_default().push(sitting));
                }
                _ => closed.extend(lease.gpus.iter()),
            }
        }
        seats.retain(|gpu, _| !closed.contains(gpu));
        Self { snapshot, seats }
    }

    fn sit(&mut self, gpu: GpuId, job: JobId, mode: SharingMode) {
        let sitting = Sitting { job, slowdown_max: Ratio::UNLIMITED, mode };
        self.seats.entry(gpu).or_default().push(sitting);
    }

    /// The GPUs of one node, and the mode, with which the sum of normalised speeds grows most; `None` if it would not grow anywhere.
    fn best(&self, index: JobIndex, job: &Job) -> Option<(Vec<GpuId>, SharingMode)> {
        let need = job.spec.gpus.min.0 as usize;
        let mut best: Option<(f64, Vec<GpuId>, SharingMode)> = None;
        for mode in [SharingMode::Mps, SharingMode::TimeSlicing] {
            let mut by_node: BTreeMap<NodeId, Vec<(f64, GpuId)>> = BTreeMap::new();
            for (gpu, sitting) in &self.seats {
                if let Some(gain) = self.gain((index, job), *gpu, sitting, mode) {
                    by_node.entry(gpu.node).or_default().push((gain, *gpu));
                }
            }
            for mut gains in by_node.into_values().filter(|gains| gains.len() >= need) {
                gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                // A gang goes at the pace of its worst GPU.
                let worst = gains[need - 1].0;
                if worst > best.as_ref().map_or(1e-9, |(most, ..)| *most + 1e-9) {
                    best = Some((worst, gains[..need].iter().map(|(_, gpu)| *gpu).collect(), mode));
                }
            }
        }
        best.map(|(_, gpus, mode)| (gpus, mode))
    }

    /// By how much the sum of normalised speeds on a GPU grows with one more job; `None` if it may not come.
    fn gain(
        &self,
        (index, guest): (JobIndex, &Job),
        gpu: GpuId,
        sitting: &[Sitting],
        mode: SharingMode,
    ) -> Option<f64> {
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let runs = guest.spec.models.allows(node.model)
            && self.snapshot.forecast(index).speed[node.model].mean.get() > 0.0;
        let open = !node.usable().is_empty() && sitting.len() < usize::from(node.slots);
        let id = guest.spec.id;
        let apart = |other: &Sitting| self.snapshot.apart.contains(&(other.job, id));
        if !runs || !open || sitting.iter().any(apart) || !self.fits(index, sitting, node) {
            return None;
        }
        let mut all: Vec<JobId> = sitting.iter().map(|sitting| sitting.job).collect();
        let before = self.speeds(&all, node.model, together(sitting.iter().map(|sitting| sitting.mode)));
        all.push(id);
        let mode = together(sitting.iter().map(|sitting| sitting.mode).chain([mode]));
        for (at, sitting) in sitting.iter().enumerate() {
            let slowdown = self.snapshot.slowdown_among(&all, at, node.model, mode)?;
            if slowdown.high > sitting.slowdown_max {
                return None;
            }
        }
        Some(self.speeds(&all, node.model, mode)? - before?)
    }

    fn fits(&self, guest: JobIndex, sitting: &[Sitting], node: &evenhand_core::Node) -> bool {
        let memory = |index: JobIndex| self.snapshot.forecast(index).demand[node.model].memory.high;
        let others = sitting.iter().filter_map(|sitting| self.snapshot.jobs.index(sitting.job)).map(memory);
        let need = others.sum::<Bytes>() + memory(guest) + MARGIN;
        node.memory == Bytes::ZERO || need <= node.memory
    }

    /// The sum of the believed speeds of jobs on one GPU, each over its speed alone.
    fn speeds(&self, jobs: &[JobId], model: evenhand_core::ModelIndex, mode: SharingMode) -> Option<f64> {
        let speed = |at| Some(1.0 / self.snapshot.slowdown_among(jobs, at, model, mode)?.mean.get().max(1.0));
        (0..jobs.len()).map(speed).sum()
    }
}

/// Side by side if all are started that way.
fn together(mut modes: impl Iterator<Item = SharingMode>) -> SharingMode {
    if modes.all(|mode| mode == SharingMode::Mps) { SharingMode::Mps } else { SharingMode::TimeSlicing }
}
