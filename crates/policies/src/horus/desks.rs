//! The GPUs that jobs can be put on, alone or beside others, as a plan goes on.

use crate::fill::Room;
use evenhand_core::{
    Bytes, Demand, GpuId, GpuSet, Grant, Host, Job, JobId, JobIndex, LeaseState, ModelIndex, NodeId,
    ParameterError, ParameterSpec, Parameters, Ratio, Reason, Sharing, SharingMode, Site, Snapshot,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const MODE: ParameterSpec = ParameterSpec {
    name: "mode",
    default: "time-slicing",
    summary: "how jobs on one GPU are kept apart: `time-slicing` (they take turns) or `mps` (side by side)",
};

/// Free memory that is left on a GPU after a job has come beside others.
const MARGIN: Bytes = Bytes(500 << 20);

pub(super) fn mode(parameters: &Parameters) -> Result<SharingMode, ParameterError> {
    parameters.word(&MODE, &[("time-slicing", SharingMode::TimeSlicing), ("mps", SharingMode::Mps)])
}

/// One GPU that somebody can be put on.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub gpu: GpuId,
    pub model: ModelIndex,
    /// Memory; 0 = unknown.
    pub memory: Bytes,
    slots: usize,
    /// Who is there, and what each asks for.
    pub residents: Vec<(JobId, Demand)>,
}

impl Desk {
    /// What those who are there ask for.
    pub fn demands(&self) -> Vec<Demand> {
        self.residents.iter().map(|(_, demand)| *demand).collect()
    }

    /// Whether one more job may come, as far as seats and the upper ends of memory go.
    fn takes(&self, own: &Demand, shares: bool, jobs_max: usize) -> bool {
        if self.residents.is_empty() {
            return true;
        }
        let need: Bytes = self.residents.iter().map(|(_, demand)| demand.memory.high).sum();
        shares
            && self.residents.len() < self.slots.min(jobs_max)
            && (self.memory == Bytes::ZERO || need + own.memory.high + MARGIN <= self.memory)
    }
}

/// All GPUs that somebody can be put on.
pub(super) struct Desks<'a> {
    snapshot: &'a Snapshot,
    room: Room<'a>,
    gpus: Vec<Desk>,
    /// Cores and main memory that are left on every node.
    hosts: Vec<Host>,
    mode: SharingMode,
    jobs_max: usize,
}

impl<'a> Desks<'a> {
    /// Every GPU that is free, or held by jobs that let others come: at most so many jobs on each.
    pub fn new(snapshot: &'a Snapshot, mode: SharingMode, jobs_max: usize) -> Self {
        let mut sharers: BTreeMap<GpuId, Vec<JobId>> = BTreeMap::new();
        let mut promised: BTreeSet<GpuId> = BTreeSet::new();
        let mut hosts: Vec<Host> = snapshot.cluster.nodes.iter().map(|node| node.host).collect();
        for lease in snapshot.leases.iter() {
            if let Some(job) = snapshot.jobs.by_id(lease.job) {
                lease.gpus.iter().for_each(|gpu| use_up(&mut hosts[gpu.node.index()], job.spec.host));
            }
            if lease.state == LeaseState::Waiting {
                promised.extend(lease.gpus.iter());
            } else if lease.sharing != Sharing::Alone {
                lease.gpus.iter().for_each(|gpu| sharers.entry(gpu).or_default().push(lease.job));
            }
        }
        let mut desks = Vec::new();
        for node in &snapshot.cluster.nodes {
            let free = snapshot.cluster.free.on(node.id);
            for ordinal in node.usable().ordinals() {
                let gpu = GpuId { node: node.id, ordinal };
                let shared = sharers.get(&gpu).filter(|_| !promised.contains(&gpu));
                if free.0 >> ordinal & 1 == 0 && shared.is_none() {
                    continue;
                }
                let demand = |id: &JobId| {
                    let index = snapshot.jobs.index(*id)?;
                    Some((*id, snapshot.forecast(index).demand[node.model]))
                };
                let residents = shared.into_iter().flatten().filter_map(demand).collect();
                let (memory, slots) = (node.memory, usize::from(node.slots));
                desks.push(Desk { gpu, model: node.model, memory, slots, residents });
            }
        }
        Self { snapshot, room: Room::left_over(snapshot), gpus: desks, hosts, mode, jobs_max }
    }

    /// Puts a job on as many GPUs of one model as it needs, where `cost` is least; GPUs without a cost are out of the question.
    pub fn seat(
        &mut self,
        (index, job): (JobIndex, &Job),
        reason: Reason,
        cost: impl Fn(usize, &Desk, &Demand) -> Option<f64>,
    ) -> Result<Grant, Reason> {
        let mut why = Reason::NoModel;
        let mut best: Option<(f64, ModelIndex, Vec<usize>)> = None;
        for model in self.models(index, job) {
            if self.room.is_over_limit(job, model) {
                why = Reason::OverLimit;
                continue;
            }
            let own = self.snapshot.forecast(index).demand[model];
            let open =
                self.gpus.iter().enumerate().filter(|(_, desk)| {
                    desk.model == model && desk.takes(&own, job.may_share(), self.jobs_max)
                });
            let costs: Vec<(f64, usize)> =
                open.filter_map(|(at, desk)| Some((told(cost(at, desk, &own)?), at))).collect();
            let costs = self.within_hosts(costs, job.spec.host);
            match self.cheapest(costs, job.spec.gpus.min.0 as usize) {
                Some((total, chosen)) if best.as_ref().is_none_or(|(least, ..)| total < *least - 1e-9) => {
                    best = Some((total, model, chosen));
                }
                Some(_) => {}
                None => why = if why == Reason::OverLimit { why } else { Reason::Crowded },
            }
        }
        let (_, model, chosen) = best.ok_or(why)?;
        self.room.beside(job, model, job.spec.gpus.min)?;
        Ok(self.grant((index, job), model, &chosen, reason))
    }

    /// The models that will do, the fastest first.
    fn models(&self, index: JobIndex, job: &Job) -> Vec<ModelIndex> {
        let speed = |model: &ModelIndex| self.snapshot.forecast(index).speed[*model].mean;
        let will_do = |model: &ModelIndex| job.spec.models.allows(*model) && speed(model).get() > 0.0;
        let mut models: Vec<_> = self.snapshot.cluster.model_indices().filter(will_do).collect();
        models.sort_by_key(|model| (std::cmp::Reverse(speed(model).key()), *model));
        models
    }

    /// In the order of their costs, of every node no more GPUs than its cores and main memory are enough for.
    fn within_hosts(&self, mut costs: Vec<(f64, usize)>, each: Host) -> Vec<(f64, usize)> {
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut left: BTreeMap<NodeId, usize> = BTreeMap::new();
        costs.retain(|(_, at)| {
            let node = self.gpus[*at].gpu.node;
            let known = self.snapshot.cluster.nodes[node.index()].host;
            let left = left.entry(node).or_insert_with(|| enough_for(known, self.hosts[node.index()], each));
            let enough = *left > 0;
            *left = left.saturating_sub(1);
            enough
        });
        costs
    }

    /// The cheapest so many GPUs, of costs in order, and what they cost in all; among equals, those on the fewest nodes.
    fn cheapest(&self, costs: Vec<(f64, usize)>, need: usize) -> Option<(f64, Vec<usize>)> {
        if costs.len() < need || need == 0 {
            return None;
        }
        let total = costs[..need].iter().map(|(cost, _)| cost).sum();
        let edge = costs[need - 1].0;
        let (mut chosen, mut equal) = (Vec::new(), Vec::new());
        for (cost, at) in costs {
            if cost < edge - 1e-9 {
                chosen.push(at);
            } else if cost <= edge + 1e-9 {
                equal.push(at);
            }
        }
        while chosen.len() < need {
            let node = self.next_node(&chosen, &equal, need - chosen.len())?;
            let missing = need - chosen.len();
            let here: Vec<usize> =
                equal.iter().copied().filter(|at| self.gpus[*at].gpu.node == node).take(missing).collect();
            equal.retain(|at| self.gpus[*at].gpu.node != node);
            chosen.extend(here);
        }
        Some((total, chosen))
    }

    /// Where a gang goes on: on a node that it is on already, else on the tightest that is enough, else on the emptiest; of these in a
    /// rack that it is in already, if there is one.
    fn next_node(&self, chosen: &[usize], equal: &[usize], missing: usize) -> Option<NodeId> {
        let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
        for at in equal {
            *counts.entry(self.gpus[*at].gpu.node).or_default() += 1;
        }
        let rack = |node: NodeId| self.snapshot.cluster.nodes[node.index()].rack;
        let nodes: BTreeSet<NodeId> = chosen.iter().map(|at| self.gpus[*at].gpu.node).collect();
        let key = |(node, count): &(NodeId, usize)| {
            let near = nodes.is_empty() || nodes.iter().any(|own| rack(*own) == rack(*node));
            let size = if *count >= missing { *count } else { usize::MAX - *count };
            (!nodes.contains(node), *count < missing, !near, size, *node)
        };
        counts.into_iter().min_by_key(key).map(|(node, _)| node)
    }

    /// Sits a job down on these GPUs.
    pub fn grant(
        &mut self,
        (index, job): (JobIndex, &Job),
        model: ModelIndex,
        chosen: &[usize],
        reason: Reason,
    ) -> Grant {
        let own = self.snapshot.forecast(index).demand[model];
        let shares = job.may_share() && chosen.iter().any(|at| self.gpus[*at].slots > 1);
        let packed = chosen.iter().any(|at| !self.gpus[*at].residents.is_empty());
        let gpus = GpuSet::of(chosen.iter().map(|at| self.gpus[*at].gpu));
        for at in chosen {
            self.gpus[*at].residents.push((job.spec.id, own));
            use_up(&mut self.hosts[self.gpus[*at].gpu.node.index()], job.spec.host);
            if !shares {
                self.gpus[*at].slots = 0;
            }
        }
        let reason = if packed { Reason::Packed } else { reason };
        let grant = Grant::new(job.spec.id, job.spec.gpus.min, Site::Exactly(gpus), reason);
        let beside = Sharing::Beside { slowdown_max: Ratio::UNLIMITED, mode: self.mode };
        if shares { Grant { sharing: beside, ..grant } } else { grant }
    }
}

/// What is left of a node's cores and main memory after one more GPU of a job.
fn use_up(left: &mut Host, each: Host) {
    left.cores_milli = left.cores_milli.saturating_sub(each.cores_milli);
    left.ram = Bytes(left.ram.0.saturating_sub(each.ram.0));
}

/// For how many GPUs of a job the rest of a node is enough. What is not known of a node is no reason to refuse.
fn enough_for(known: Host, left: Host, each: Host) -> usize {
    let times = |known: u64, left: u64, each: u64| {
        if known == 0 || each == 0 { usize::MAX } else { (left / each) as usize }
    };
    let cores = times(known.cores_milli.into(), left.cores_milli.into(), each.cores_milli.into());
    cores.min(times(known.ram.0, left.ram.0, each.ram.0))
}

/// A cost that is no number is a high one: whatever is believed of a job, it has to run somewhere.
fn told(cost: f64) -> f64 {
    if cost.is_finite() { cost } else { 1e12 }
}
