//! Who sits on which shared GPU, and what becomes of them with one more.
//!
//! Jobs of a kind ask for the same, so many GPUs have the same company: what a guest is worth is worked out once for each company.

use evenhand_core::{
    Bytes, Demand, GpuId, Job, JobId, JobIndex, LeaseState, ModelIndex, NodeId, Ratio, Sharing, SharingMode,
    Snapshot,
};
use std::collections::{BTreeMap, BTreeSet};

/// Free memory that is left on a GPU after a guest has come.
const MARGIN: Bytes = Bytes(500 << 20);

/// What a gain must be worth.
const WORTH: f64 = 1e-9;

/// A job on a shared GPU.
#[derive(Clone, Copy, Debug)]
struct Sitting {
    job: JobId,
    slowdown_max: Ratio,
    mode: SharingMode,
}

/// A demand, told from others by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Asked(u32);

/// The number of a company.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CompanyId(u32);

/// What is the same of GPUs on which a guest is worth the same: the node's and, of everybody there, demand, contract and mode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Company {
    model: ModelIndex,
    memory: Bytes,
    sitting: Vec<(Asked, u64, bool)>,
}

/// Who sits where.
pub(super) struct Tables<'a> {
    snapshot: &'a Snapshot,
    seats: BTreeMap<GpuId, Vec<Sitting>>,
    asked: BTreeMap<[u64; 7], Asked>,
    companies: BTreeMap<Company, CompanyId>,
    /// The GPUs of every company, one of which stands for all.
    groups: Vec<BTreeSet<GpuId>>,
    gains: BTreeMap<(Asked, CompanyId, bool), Option<f64>>,
}

impl<'a> Tables<'a> {
    /// The shared GPUs on which nothing is on its way, and one more job may come.
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
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
        let (asked, companies, gains) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut tables = Self { snapshot, seats, asked, companies, groups: Vec::new(), gains };
        let gpus: Vec<GpuId> = tables.seats.keys().copied().collect();
        for gpu in gpus {
            tables.list(gpu);
        }
        tables
    }

    /// A guest takes its seat.
    pub(super) fn sit(&mut self, gpu: GpuId, job: JobId, mode: SharingMode) {
        for group in &mut self.groups {
            group.remove(&gpu);
        }
        let sitting = Sitting { job, slowdown_max: Ratio::UNLIMITED, mode };
        self.seats.entry(gpu).or_default().push(sitting);
        self.list(gpu);
    }

    /// Lists a GPU with others in whose company a guest is worth the same, if there is a seat left.
    fn list(&mut self, gpu: GpuId) {
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let sitting = &self.seats[&gpu];
        let open = node.usable().0 >> gpu.ordinal & 1 == 1 && sitting.len() < usize::from(node.slots);
        let jobs: Option<Vec<(JobIndex, Sitting)>> =
            sitting.iter().map(|one| Some((self.snapshot.jobs.index(one.job)?, *one))).collect();
        let Some(jobs) = jobs.filter(|_| open) else { return };
        let mut sitting = Vec::new();
        for (index, one) in jobs {
            let asked = self.number(&self.snapshot.forecast(index).demand[node.model]);
            sitting.push((asked, one.slowdown_max.key(), one.mode == SharingMode::Mps));
        }
        let company = Company { model: node.model, memory: node.memory, sitting };
        let next = CompanyId(self.groups.len() as u32);
        let id = *self.companies.entry(company).or_insert(next);
        if id == next {
            self.groups.push(BTreeSet::new());
        }
        self.groups[id.0 as usize].insert(gpu);
    }

    /// The number of a demand.
    fn number(&mut self, demand: &Demand) -> Asked {
        let Demand { duty, sm, tensor, bandwidth, memory, class } = demand;
        let [duty, sm, tensor, bandwidth] = [duty, sm, tensor, bandwidth].map(|share| share.to_bits());
        let key = [duty, sm, tensor, bandwidth, memory.mean.0, memory.high.0, u64::from(class.0)];
        let next = Asked(self.asked.len() as u32);
        *self.asked.entry(key).or_insert(next)
    }

    /// The GPUs of one node, and the mode, with which the sum of normalised speeds grows most; `None` if it would not grow anywhere.
    pub(super) fn best(&mut self, index: JobIndex, job: &Job) -> Option<(Vec<GpuId>, SharingMode)> {
        let mut offers: Vec<(f64, CompanyId, SharingMode)> = Vec::new();
        for id in (0..self.groups.len() as u32).map(CompanyId) {
            for mode in [SharingMode::Mps, SharingMode::TimeSlicing] {
                let gain = self.gain((index, job), id, mode).filter(|gain| *gain > WORTH);
                offers.extend(gain.map(|gain| (gain, id, mode)));
            }
        }
        let first = |id: CompanyId| self.groups[id.0 as usize].first();
        offers.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| first(a.1).cmp(&first(b.1))));
        if job.spec.gpus.min.0 == 1 {
            let seat = |(_, id, mode): &(f64, CompanyId, SharingMode)| {
                let gpu = self.groups[id.0 as usize].iter().find(|gpu| !self.is_apart(job, **gpu))?;
                Some((vec![*gpu], *mode))
            };
            return offers.iter().find_map(seat);
        }
        self.together(job, &offers)
    }

    /// The seats of a gang: it goes at the pace of its worst GPU.
    fn together(
        &self,
        job: &Job,
        offers: &[(f64, CompanyId, SharingMode)],
    ) -> Option<(Vec<GpuId>, SharingMode)> {
        let need = job.spec.gpus.min.0 as usize;
        let mut best: Option<(f64, Vec<GpuId>, SharingMode)> = None;
        for mode in [SharingMode::Mps, SharingMode::TimeSlicing] {
            // Offers come in the order of what they are worth, and so do the seats of a node.
            let mut by_node: BTreeMap<NodeId, Vec<(f64, GpuId)>> = BTreeMap::new();
            for (gain, id, _) in offers.iter().filter(|offer| offer.2 == mode) {
                for gpu in self.groups[id.0 as usize].iter().filter(|gpu| !self.is_apart(job, **gpu)) {
                    by_node.entry(gpu.node).or_default().push((*gain, *gpu));
                }
            }
            for gains in by_node.into_values().filter(|gains| gains.len() >= need) {
                let worst = gains[need - 1].0;
                if best.as_ref().is_none_or(|(most, ..)| worst > *most + WORTH) {
                    best = Some((worst, gains[..need].iter().map(|(_, gpu)| *gpu).collect(), mode));
                }
            }
        }
        best.map(|(_, gpus, mode)| (gpus, mode))
    }

    /// Whether a job was measured to break the contract of somebody on a GPU.
    fn is_apart(&self, job: &Job, gpu: GpuId) -> bool {
        let apart = &self.snapshot.apart;
        !apart.is_empty() && self.seats[&gpu].iter().any(|other| apart.contains(&(other.job, job.spec.id)))
    }

    /// By how much the sum of normalised speeds on a GPU of a company grows with one more job; `None` if it may not come.
    fn gain(&mut self, (index, guest): (JobIndex, &Job), id: CompanyId, mode: SharingMode) -> Option<f64> {
        let gpu = *self.groups[id.0 as usize].first()?;
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let forecast = self.snapshot.forecast(index);
        let runs = guest.spec.models.allows(node.model) && forecast.speed[node.model].mean.get() > 0.0;
        if !runs {
            return None;
        }
        let asked = self.number(&forecast.demand[node.model]);
        let key = (asked, id, mode == SharingMode::Mps);
        if let Some(known) = self.gains.get(&key) {
            return *known;
        }
        let found = self.work_out((index, guest), gpu, mode);
        self.gains.insert(key, found);
        found
    }

    fn work_out(&self, (index, guest): (JobIndex, &Job), gpu: GpuId, mode: SharingMode) -> Option<f64> {
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let sitting = &self.seats[&gpu];
        if !self.fits(index, sitting, node) {
            return None;
        }
        let mut all: Vec<JobId> = sitting.iter().map(|sitting| sitting.job).collect();
        let before =
            self.speeds(&all, node.model, SharingMode::together(sitting.iter().map(|sitting| sitting.mode)));
        all.push(guest.spec.id);
        let mode = SharingMode::together(sitting.iter().map(|sitting| sitting.mode).chain([mode]));
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
    fn speeds(&self, jobs: &[JobId], model: ModelIndex, mode: SharingMode) -> Option<f64> {
        let speed = |at| Some(1.0 / self.snapshot.slowdown_among(jobs, at, model, mode)?.mean.get().max(1.0));
        (0..jobs.len()).map(speed).sum()
    }
}
