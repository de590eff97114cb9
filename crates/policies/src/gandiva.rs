//! Gandiva: jobs take turns in quanta, pairs that get along share a GPU, and spread-out gangs are drawn together.
//!
//! ```text
//! turns:    who has waited longest runs next; who has run for a quantum is the last to stay
//! packing:  1/sigma_a + 1/sigma_b > 1      sigma = believed slowdown of each job of a pair on one GPU
//!           undone when the rates seen, over those alone, sum to 1 or less
//! moving:   a gang spread over nodes that would gain more than its restart on one node, while nobody waits
//! ```
//!
//! Packing needs GPUs with more than one slot, jobs of one GPU that consent, and a belief that a pair gets more done
//! than by taking turns. Where one of these is missing - every GPU has one slot unless its node says otherwise -
//! what is left is time-slicing. Trial and undo are remembered: a pair that disappointed is never packed again, a
//! gang that was moved is not moved again.
//!
//! Differs from the paper: there a job is packed, watched and moved within minutes and without a restart; here
//! everything happens at decisions, and a move is a stop and a start. A job can be joined only if it was started on a
//! GPU that was free, as shareable: one that takes over a GPU from a preempted job holds it alone. No grow-shrink:
//! jobs run on `gpus.min`. Packing looks at the 100 jobs that have waited longest: O(100 H) for H hosts.

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt, Room, candidates};
use crate::registry::{Entry, Promise};
use evenhand_core::{
    Consent, FreeIndex, GpuCount, GpuId, GpuMask, GpuSet, Grant, Job, JobId, JobIndex, JobState, Lease,
    LeaseState, Limits, Locality, Memory, ModelIndex, Others, ParameterSpec, Plan, Policy, PolicyError,
    Ratio, Reason, Sharing, SharingMode, Site, Snapshot, Span, Time, Work,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

const GUESTS_MAX: usize = 100;
const MODE: SharingMode = SharingMode::Mps;

const QUANTUM: ParameterSpec = ParameterSpec {
    name: "quantum",
    default: "60s",
    summary: "how long a job runs at least before it may have to make way",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "gandiva",
    summary: "Jobs take turns; pairs that get along share a GPU; gangs are drawn together. Trial and undo.",
    paper: "Gandiva, OSDI 2018",
    promises: &[Promise::WorkConserving],
    parameters: &[PREEMPT_AT_ROUNDS, QUANTUM],
    build: |parameters| {
        Ok(Box::new(Gandiva {
            preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?,
            quantum: parameters.span(&QUANTUM)?,
        }))
    },
};

struct Gandiva {
    preempt: Preempt,
    quantum: Span,
}

/// Two jobs on one GPU, the one that was there first.
type Pair = (JobId, JobId);

/// Two jobs on one GPU, under observation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Trial {
    pair: Pair,
    since: Time,
    /// How far each was, and when, as soon as both had been heard of together.
    start: Option<[(Time, Work); 2]>,
}

/// What was tried, and what came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Tried {
    /// Pairs that share a GPU.
    trials: Vec<Trial>,
    /// Pairs that got less done together than by taking turns.
    bad: BTreeSet<Pair>,
    /// Gangs that were moved.
    moved: BTreeSet<JobId>,
}

impl Policy for Gandiva {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let known = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Tried>());
        let mut tried = known.map(|known| (*known).clone()).unwrap_or_default();
        tried.review(snapshot, self.quantum);
        let due = self.preempt.is_due(snapshot);
        let mut room = if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        let mut tables = Tables::new(snapshot);
        for (index, job) in self.turns(snapshot) {
            match tables.turn(index, job, &tried, &mut room) {
                Ok(grant) => plan.grants.push(grant),
                Err(why) => plan.refused.push((job.spec.id, why)),
            }
        }
        tables.pack(&mut plan, &mut tried, &mut room, due);
        if due && plan.refused.is_empty() {
            draw_together(snapshot, &mut plan, &mut tried);
        }
        plan.memory = Memory::new(tried);
        Ok(plan)
    }
}

impl Gandiva {
    /// The jobs that are up for decision: in their first quantum, then waiting, the longest first, then the rest.
    fn turns<'a>(&self, snapshot: &'a Snapshot) -> Vec<(JobIndex, &'a Job)> {
        let turn = |job: &Job| match (job.state, snapshot.leases.of_job(Some(job))) {
            (JobState::Queued { since }, _) => (1, since),
            (_, Some(lease)) if snapshot.now.since(lease.taken) < self.quantum => (0, lease.taken),
            (_, lease) => (2, lease.map_or(Time::ZERO, |lease| lease.taken)),
        };
        let mut order: Vec<_> = candidates(snapshot, self.preempt).collect();
        order.sort_unstable_by_key(|(_, job)| (turn(job), job.queue_key()));
        order
    }
}

/// Who shares which GPU, as the plan goes on.
struct Tables<'a> {
    snapshot: &'a Snapshot,
    /// The leases of each shared GPU, those on their way out included.
    sharers: BTreeMap<GpuId, Vec<JobId>>,
    /// Shared GPUs that the plan keeps in use.
    kept: BTreeSet<GpuId>,
    /// GPUs on which a job can be started as shareable: free at this moment, with more than one slot.
    open: FreeIndex,
    shares: bool,
}

impl<'a> Tables<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
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

    /// A job's grant when its turn comes: as it is if it shares a GPU, else as for everybody.
    fn turn(
        &mut self,
        index: JobIndex,
        job: &Job,
        tried: &Tried,
        room: &mut Room<'_>,
    ) -> Result<Grant, Reason> {
        let held = self.snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting());
        if let Some((lease, gpu)) = held.and_then(|lease| Some((lease, shared_gpu(lease)?)))
            && !self.disappoints(job, gpu, tried)
            && let Some(grant) = self.stay(index, job, lease, gpu, room)
        {
            return Ok(grant);
        }
        let grant = self.on_one_node(job, room.grant(index, job, Reason::Turn)?, tried);
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
            room.beside(job, model).ok()?;
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

    /// Puts jobs that got nothing beside jobs they are believed to get along with.
    fn pack(&mut self, plan: &mut Plan, tried: &mut Tried, room: &mut Room<'_>, due: bool) {
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
        room.beside(job, model).ok()?;
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
        let model = &self.snapshot.cluster.models[usize::from(node.model.0)];
        let (a, b) = (demand(guest)?, demand(host)?);
        let slowdown =
            |own, other| self.snapshot.interference.slowdown(own, &[other], model, MODE).mean.get();
        let (slow_a, slow_b) = (slowdown(&a, &b).max(1.0), slowdown(&b, &a).max(1.0));
        (slow_a.max(slow_b) <= slowdown_max().get()).then_some(1.0 / slow_a + 1.0 / slow_b)
    }
}

/// Half speed each is what taking turns would give.
fn slowdown_max() -> Ratio {
    Ratio::new(2.0).unwrap_or_default()
}

fn beside() -> Sharing {
    Sharing::Beside { slowdown_max: slowdown_max(), mode: MODE }
}

/// Whether a job may share a GPU, and takes one only.
fn shares(job: &Job) -> bool {
    job.spec.sharing != Consent::Never && job.spec.gpus.min == GpuCount(1)
}

/// The GPU of a lease that is shared.
fn shared_gpu(lease: &Lease) -> Option<GpuId> {
    if lease.sharing == Sharing::Alone { None } else { lease.gpus.iter().next() }
}

impl Tried {
    /// Forgets who is gone, and judges the pairs that have been watched for long enough.
    fn review(&mut self, snapshot: &Snapshot, quantum: Span) {
        let active = |id: &JobId| snapshot.jobs.by_id(*id).is_some();
        self.bad.retain(|(host, guest)| active(host) && active(guest));
        self.moved.retain(active);
        let trials = std::mem::take(&mut self.trials);
        for trial in trials {
            // Over when one of them has left the GPU, for whatever reason.
            let Some([host, guest]) = together_now(snapshot, trial.pair) else { continue };
            let start = trial.start.or_else(|| {
                // What restoring a checkpoint takes is not the other's fault.
                let settled = |(index, job): (JobIndex, &Job)| {
                    job.heard >= trial.since + snapshot.forecast(index).restart.mean
                };
                (settled(host) && settled(guest))
                    .then_some([(host.1.heard, host.1.done), (guest.1.heard, guest.1.done)])
            });
            match start.and_then(|start| rates(snapshot, [host, guest], start, quantum)) {
                Some(sum) if sum <= 1.0 => {
                    self.bad.insert(trial.pair);
                }
                _ => self.trials.push(Trial { start, ..trial }),
            }
        }
    }
}

/// Both jobs of a pair, if they run on one GPU.
fn together_now(snapshot: &Snapshot, (host, guest): Pair) -> Option<[(JobIndex, &Job); 2]> {
    let find = |id: JobId| {
        let index = snapshot.jobs.index(id)?;
        let job = snapshot.jobs.get(index);
        let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.is_lasting())?;
        Some(((index, job), shared_gpu(lease)?))
    };
    let ((host, a), (guest, b)) = (find(host)?, find(guest)?);
    (a == b).then_some([host, guest])
}

/// The sum of the rates seen, each over the rate alone; `None` until both have been heard of for a quantum.
fn rates(
    snapshot: &Snapshot,
    pair: [(JobIndex, &Job); 2],
    start: [(Time, Work); 2],
    quantum: Span,
) -> Option<f64> {
    let mut sum = 0.0;
    for ((index, job), (heard, done)) in pair.into_iter().zip(start) {
        let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.state == LeaseState::Held)?;
        let model = snapshot.model_of(lease)?;
        let span = job.heard.since(heard);
        let alone = snapshot.forecast(index).speed[model].mean.get();
        if span < quantum || span == Span::ZERO || alone <= 0.0 {
            return None;
        }
        sum += job.done.less(done).steps() / span.seconds() / alone;
    }
    Some(sum)
}

/// Moves the one gang that gains most from being on one node, if it gains more than its restart.
fn draw_together(snapshot: &Snapshot, plan: &mut Plan, tried: &mut Tried) {
    let mut best: Option<(f64, usize)> = None;
    for (at, grant) in plan.grants.iter().enumerate() {
        let Some(gain) = gain_of_moving(snapshot, grant, tried) else { continue };
        if gain > best.map_or(0.0, |(most, _)| most) {
            best = Some((gain, at));
        }
    }
    if let Some((_, at)) = best {
        // The lease is wider than this, so it is stopped, and the placer finds it a node.
        plan.grants[at].locality = Locality::Node;
        tried.moved.insert(plan.grants[at].job);
    }
}

/// Seconds a running gang is believed to gain on one node, less its restart.
fn gain_of_moving(snapshot: &Snapshot, grant: &Grant, tried: &Tried) -> Option<f64> {
    let index = snapshot.jobs.index(grant.job)?;
    let job = snapshot.jobs.get(index);
    let lease = snapshot.leases.of_job(Some(job)).filter(|lease| lease.state == LeaseState::Held)?;
    let span = snapshot.cluster.span_of(&lease.gpus);
    if span <= Locality::Node || tried.moved.contains(&grant.job) || lease.gpus.count() != grant.gpus {
        return None;
    }
    let model: ModelIndex = snapshot.model_of(lease)?;
    let free = &snapshot.cluster.free;
    let own = |seat: &evenhand_core::Seat| {
        let usable = seat.gpus.and(snapshot.cluster.nodes[seat.node.index()].usable());
        (free.on(seat.node).or(usable)).count() >= grant.gpus.0
    };
    if free.at_least(model, grant.gpus.0).next().is_none() && !lease.gpus.seats().iter().any(own) {
        return None;
    }
    let forecast = snapshot.forecast(index);
    let left = snapshot.remaining(index, job)?;
    let seconds =
        |span: Locality| Some(left.span_at(forecast.rate(model, job.spec.gpus, grant.gpus, span))?.seconds());
    Some(seconds(span)? - seconds(Locality::Node)? - forecast.restart.mean.seconds())
}
