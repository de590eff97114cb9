//! The GPUs that jobs share: who sits where, who stays, and who may be joined.

use super::packing::beside;
use super::trials::Tried;
use crate::fill::Room;
use evenhand_core::{
    Consent, FreeIndex, GpuCount, GpuId, GpuSet, Grant, Job, JobId, JobIndex, Lease, Locality, ModelIndex,
    Reason, Sharing, Site, Snapshot,
};
use std::collections::{BTreeMap, BTreeSet};

/// Who shares which GPU, as the plan goes on.
pub(crate) struct Tables<'a> {
    pub snapshot: &'a Snapshot,
    /// The leases of each shared GPU, those on their way out included.
    pub sharers: BTreeMap<GpuId, Vec<JobId>>,
    /// Shared GPUs that the plan keeps in use.
    pub kept: BTreeSet<GpuId>,
    /// GPUs on which a job can be started as shareable: free at this moment, with more than one slot.
    open: FreeIndex,
    pub shares: bool,
}

impl<'a> Tables<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        let mut sharers: BTreeMap<GpuId, Vec<JobId>> = BTreeMap::new();
        for lease in snapshot.leases.iter().filter(|lease| lease.sharing != Sharing::Alone) {
            for gpu in lease.gpus.iter() {
                sharers.entry(gpu).or_default().push(lease.job);
            }
        }
        let shares = snapshot.cluster.nodes.iter().any(|node| node.slots > 1);
        let open = if shares { snapshot.cluster.free.clone() } else { FreeIndex::default() };
        Self { snapshot, sharers, kept: BTreeSet::new(), open, shares }
    }

    /// A job's grant when its turn comes, on this model if one is named: as it is if it shares a GPU there, else as for
    /// everybody.
    pub fn turn(
        &mut self,
        (index, job): (JobIndex, &Job),
        model: Option<ModelIndex>,
        tried: &Tried,
        room: &mut Room<'_>,
    ) -> Result<Grant, Reason> {
        let held = self.snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting());
        if let Some((lease, gpu)) = held.and_then(|lease| Some((lease, shared_gpu(lease)?)))
            && !self.disappoints(job, gpu, tried)
            && model.is_none_or(|model| self.snapshot.cluster.nodes[gpu.node.index()].model == model)
            && let Some(grant) = self.stay(index, job, lease, gpu, room)
        {
            return Ok(grant);
        }
        let grant = match model {
            Some(model) => room.grant_on(index, job, model, Reason::Turn).ok_or(Reason::NoRoom)?,
            None => room.grant(index, job, Reason::Turn)?,
        };
        let grant = self.on_one_node(job, grant, tried);
        Ok(self.shareable(job, grant))
    }

    /// Sees to it that a gang on the move finds what it was moved for, if that is still there.
    fn on_one_node(&self, job: &Job, grant: Grant, tried: &Tried) -> Grant {
        let Site::Model(model) = grant.site else { return grant };
        let room = self.snapshot.cluster.free.at_least(model, grant.gpus.0).next().is_some();
        let moving = job.is_queued() && tried.moved.contains(&job.spec.id);
        if moving && room { Grant { locality: Locality::Node, ..grant } } else { grant }
    }

    /// Whether a job shares its GPU with one that it should not have been put beside.
    fn disappoints(&self, job: &Job, gpu: GpuId, tried: &Tried) -> bool {
        let others = self.sharers.get(&gpu).into_iter().flatten();
        others.into_iter().any(|other| tried.bad.contains(&(*other, job.spec.id)))
    }

    /// A job that shares a GPU stays on it: the first of a pair takes the GPU, the other comes along.
    fn stay(
        &mut self,
        index: JobIndex,
        job: &Job,
        lease: &Lease,
        gpu: GpuId,
        room: &mut Room<'_>,
    ) -> Option<Grant> {
        let model = self.snapshot.cluster.nodes[gpu.node.index()].model;
        if self.kept.contains(&gpu) {
            room.beside(job, model, GpuCount(1)).ok()?;
        } else {
            room.grant_on(index, job, model, Reason::Turn)?;
            self.kept.insert(gpu);
        }
        let new = Grant::new(job.spec.id, GpuCount(1), Site::Exactly(lease.gpus.clone()), lease.reason);
        Some(Grant { sharing: lease.sharing, ..new })
    }

    /// Makes a new grant of one GPU one that others may join, if there is a GPU for that.
    fn shareable(&mut self, job: &Job, grant: Grant) -> Grant {
        let Site::Model(model) = grant.site else { return grant };
        if !self.shares || !job.is_queued() || !shares(job) {
            return grant;
        }
        let nodes = &self.snapshot.cluster.nodes;
        let Some(node) = self.open.at_least(model, 1).find(|id| nodes[id.index()].slots > 1) else {
            return grant;
        };
        let gpus = GpuSet::on(node, self.open.on(node).lowest(1));
        self.open.take(&gpus);
        for gpu in gpus.iter() {
            self.sharers.insert(gpu, vec![job.spec.id]);
            self.kept.insert(gpu);
        }
        Grant { site: Site::Exactly(gpus), sharing: beside(), ..grant }
    }
}

/// Whether a job may share a GPU, and takes one only.
pub(crate) fn shares(job: &Job) -> bool {
    job.spec.sharing != Consent::Never && job.spec.gpus.min == GpuCount(1)
}

/// The GPU of a lease that is shared.
pub(super) fn shared_gpu(lease: &Lease) -> Option<GpuId> {
    if lease.sharing == Sharing::Alone { None } else { lease.gpus.iter().next() }
}
