//! Jobs on one GPU: who is beside whom, whether they fit, and what is measured of them.

use super::World;
use crate::execution::{Progressing, mode_among, slowdowns};
use evenhand_core::{Bytes, Event, GpuId, JobId, LeaseId, MetricRepository, Observed, Ratio, Sharing, Span};
use std::sync::atomic::Ordering;

/// From the start of a job to the moment when it asks for more memory than there is.
const OUT_OF_MEMORY_AFTER: Span = Span::from_secs(30);

impl World {
    /// The other jobs on a GPU of a run.
    fn neighbours(&self, gpu: GpuId, own: LeaseId) -> Vec<&Progressing> {
        self.occupied.others_on(gpu, own).filter_map(|other| self.running.get(&other)).collect()
    }

    /// How much slower a run is than alone, GPU by GPU; empty if nobody shares anything.
    pub(super) fn slowdowns(&self, run: &Progressing) -> Vec<f64> {
        if !self.occupied.shares_any() {
            return Vec::new();
        }
        let neighbours: Vec<_> =
            run.lease.gpus.iter().map(|gpu| self.neighbours(gpu, run.lease.id)).collect();
        slowdowns(run, &neighbours, &self.cluster, &*self.interference)
    }

    /// A job that starts beside others may find too little memory: then it is the one that fails.
    pub(super) fn meet_neighbours(&mut self, id: LeaseId) {
        let Some(run) = self.running.get(&id).filter(|run| run.lease.sharing != Sharing::Alone) else {
            return;
        };
        let (mut fits, mut unmeasured) = (true, 0);
        for gpu in run.lease.gpus.iter() {
            let others = self.neighbours(gpu, id);
            if others.is_empty() {
                continue;
            }
            let node = &self.cluster.nodes[gpu.node.index()];
            let (own, mode) = (run.resident(), mode_among(run, &others));
            let need: Bytes = others.iter().map(|other| other.resident().memory(node.model)).sum();
            fits &= node.memory == Bytes::ZERO || need + own.memory(node.model) <= node.memory;
            for other in &others {
                let other = other.resident();
                fits &= self.interference.fits(&own, &other, node.model);
                unmeasured += u64::from(!self.interference.is_measured(&own, &other, node.model, mode));
            }
        }
        self.unmeasured.fetch_add(unmeasured, Ordering::Relaxed);
        let at = self.now + OUT_OF_MEMORY_AFTER;
        if let Some(run) = self.running.get_mut(&id).filter(|_| !fits) {
            run.run_out_of_memory(at);
        }
    }

    /// Tells the engine what is measured of a job, and beside others how slow it is.
    pub(super) fn measure(&mut self, lease: LeaseId) {
        let Some(run) = self.running.get(&lease).filter(|run| self.measures && !run.stopping) else { return };
        let alone = run.lease.sharing == Sharing::Alone;
        if alone && run.truth.demand.is_none() {
            return;
        }
        let observed = self.observed(run.lease.job);
        let worst = observed.iter().max_by_key(|seen| seen.slowdown.key());
        if let Some(Observed { demand, slowdown, .. }) = worst.copied() {
            self.ready.push_back(Event::Telemetry { lease, demand, slowdown: (!alone).then_some(slowdown) });
        }
    }
}

impl MetricRepository for World {
    fn observed(&self, job: JobId) -> Vec<Observed> {
        let lease = self.pending.get(&job).and_then(|pending| pending.lease);
        let Some(run) = lease.and_then(|lease| self.running.get(&lease)) else { return Vec::new() };
        let slowdowns = self.slowdowns(run);
        let on = |(at, gpu): (usize, GpuId)| {
            let model = self.cluster.nodes[gpu.node.index()].model;
            let slowdown = slowdowns.get(at).copied().and_then(|slowdown| Ratio::new(slowdown).ok());
            Observed { gpu, demand: run.resident().demand(model), slowdown: slowdown.unwrap_or_default() }
        };
        run.lease.gpus.iter().enumerate().map(on).collect()
    }
}
