//! Who is put beside whom: pairs that are believed to get more done together than by taking turns.

use super::tables::{Tables, shares};
use super::trials::{Trial, Tried};
use crate::fill::Room;
use evenhand_core::{
    Demand, GpuCount, GpuId, GpuMask, GpuSet, Grant, Job, JobId, ModelIndex, Plan, Ratio, Reason, Sharing,
    SharingMode, Site, Snapshot,
};
use std::collections::BTreeMap;

/// Jobs that are looked at in one decision: those that have waited longest.
const GUESTS_MAX: usize = 100;
/// How the jobs of a pair are kept apart.
const MODE: SharingMode = SharingMode::Mps;

impl Tables<'_> {
    /// Puts jobs that got nothing beside jobs they are believed to get along with.
    pub fn pack(&mut self, plan: &mut Plan, tried: &mut Tried, room: &mut Room<'_>, due: bool) {
        if !self.shares {
            return;
        }
        let mut hosts: BTreeMap<GpuId, JobId> = BTreeMap::new();
        for (gpu, jobs) in &self.sharers {
            if let ([host], true) = (jobs.as_slice(), !due || self.kept.contains(gpu)) {
                hosts.insert(*gpu, *host);
            }
        }
        let mut refused = std::mem::take(&mut plan.refused);
        let mut looked = 0;
        refused.retain(|(id, _)| {
            let waits = self.snapshot.jobs.by_id(*id).is_some_and(|job| job.is_queued() && shares(job));
            if !waits || looked >= GUESTS_MAX || hosts.is_empty() {
                return true;
            }
            looked += 1;
            let Some((gpu, host)) = self.best_host(*id, &hosts, tried, room) else { return true };
            hosts.remove(&gpu);
            let site = Site::Exactly(GpuSet::on(gpu.node, GpuMask(1 << gpu.ordinal)));
            let grant = Grant::new(*id, GpuCount(1), site, Reason::Packed);
            plan.grants.push(Grant { sharing: beside(), ..grant });
            tried.trials.push(Trial { pair: (host, *id), since: self.snapshot.now, start: None });
            false
        });
        plan.refused = refused;
    }

    /// The shared GPU where a job and the one that is there get the most done; the first of equals.
    fn best_host(
        &self,
        guest: JobId,
        hosts: &BTreeMap<GpuId, JobId>,
        tried: &Tried,
        room: &mut Room<'_>,
    ) -> Option<(GpuId, JobId)> {
        let job = self.snapshot.jobs.by_id(guest)?;
        let fits = hosts.iter().filter(|(gpu, host)| {
            !tried.bad.contains(&(**host, guest))
                && !tried.bad.contains(&(guest, **host))
                && self.fits(job, **gpu, **host)
        });
        let mut best: Option<(f64, GpuId, JobId)> = None;
        for (gpu, host) in fits {
            let together = self.together(guest, *host, *gpu).unwrap_or(0.0);
            if together > best.map_or(1.0 + 1e-9, |(most, ..)| most) {
                best = Some((together, *gpu, *host));
            }
        }
        let (_, gpu, host) = best?;
        let model = self.snapshot.cluster.nodes[gpu.node.index()].model;
        room.beside(job, model, GpuCount(1)).ok()?;
        Some((gpu, host))
    }

    fn fits(&self, guest: &Job, gpu: GpuId, host: JobId) -> bool {
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let memory = |job: Option<&Job>| job.and_then(|job| job.spec.memory).unwrap_or_default().0;
        let need = memory(Some(guest)) + memory(self.snapshot.jobs.by_id(host));
        let runs = self
            .snapshot
            .jobs
            .index(guest.spec.id)
            .is_some_and(|index| self.snapshot.forecast(index).speed[node.model].mean.get() > 0.0);
        let open = !node.usable().is_empty() && node.slots > 1 && guest.spec.models.allows(node.model);
        open && runs && (node.memory.0 == 0 || need <= node.memory.0)
    }

    /// The sum of the believed rates of a pair on one GPU, each over its rate alone; `None` if one of them would be
    /// slowed down by more than its due.
    fn together(&self, guest: JobId, host: JobId, gpu: GpuId) -> Option<f64> {
        let node = &self.snapshot.cluster.nodes[gpu.node.index()];
        let demand = |id: JobId| {
            let index = self.snapshot.jobs.index(id)?;
            Some(self.snapshot.forecast(index).demand[node.model])
        };
        let [a, b] = rates(self.snapshot, [&demand(guest)?, &demand(host)?], node.model)?;
        Some(a + b)
    }
}

/// The believed rate of each of a pair on one GPU, over its rate alone; `None` if one would be slowed down by more than its due.
pub(crate) fn rates(snapshot: &Snapshot, demands: [&Demand; 2], model: ModelIndex) -> Option<[f64; 2]> {
    let model = &snapshot.cluster.models[usize::from(model.0)];
    let slowdown =
        |own, other| snapshot.interference.slowdown(own, &[other], model, MODE).mean.get().max(1.0);
    let slow = [slowdown(demands[0], demands[1]), slowdown(demands[1], demands[0])];
    slow.iter().all(|slow| *slow <= slowdown_max().get()).then_some(slow.map(|slow| 1.0 / slow))
}

/// Half speed each is what taking turns would give.
fn slowdown_max() -> Ratio {
    Ratio::new(2.0).unwrap_or_default()
}

/// On a GPU that others may join.
pub(super) fn beside() -> Sharing {
    Sharing::Beside { slowdown_max: slowdown_max(), mode: MODE }
}
