//! GPUs by model, and when they become free: gangs are seated one after the other, each where it can start first.

use evenhand_core::{Estimate, GpuCount, Job, JobIndex, ModelIndex, Snapshot, Span, Time};
use std::collections::BTreeMap;

/// GPU models on which a job can run and of which there are enough for it.
pub(super) fn models(snapshot: &Snapshot, index: JobIndex) -> impl Iterator<Item = ModelIndex> {
    let job = snapshot.jobs.get(index);
    let speed = snapshot.forecast(index).speed;
    let (models, gang) = (job.spec.models, job.spec.gpus.min);
    let room = snapshot.cluster.capacities();
    snapshot
        .cluster
        .model_indices()
        .filter(move |model| models.allows(*model) && speed[*model].mean.get() > 0.0 && gang <= room[*model])
}

/// Seconds that a job that has GPUs needs still, as fast as it is there.
pub(super) fn left(snapshot: &Snapshot, index: JobIndex) -> Option<Estimate<f64>> {
    let job = snapshot.jobs.get(index);
    let model = snapshot.model_of(snapshot.leases.of_job(Some(job))?)?;
    let left = snapshot.remaining_seconds(index, job, model)?;
    // More GPUs than the least, or GPUs apart, make another speed.
    let alone = snapshot.forecast(index).speed[model].mean.get();
    let now = snapshot.rate_now(index, job).get();
    let factor = if now > 0.0 && alone > 0.0 { alone / now } else { 1.0 };
    Some(Estimate { mean: left.mean * factor, low: left.low * factor, high: left.high * factor })
}

/// The GPUs of one model.
struct Lane {
    model: ModelIndex,
    free: GpuCount,
    /// How many become free when; those of jobs whose end nobody knows never do.
    ends: BTreeMap<Time, GpuCount>,
    /// When the last gang was seated.
    at: Time,
}

impl Lane {
    /// When so many are free.
    fn when(&self, gang: GpuCount) -> Option<Time> {
        let (mut free, mut at) = (self.free, self.at);
        let mut ends = self.ends.iter();
        while free < gang {
            let (end, gpus) = ends.next()?;
            free += *gpus;
            at = at.max(*end);
        }
        Some(at)
    }

    /// Seats a gang as soon as there is room, until then.
    fn seat(&mut self, gang: GpuCount, until: Option<Time>) {
        while self.free < gang {
            let Some((end, gpus)) = self.ends.pop_first() else { return };
            self.free += gpus;
            self.at = self.at.max(end);
        }
        self.free = self.free.less(gang);
        if let Some(until) = until {
            *self.ends.entry(until).or_default() += gang;
        }
    }
}

/// All GPUs.
pub(super) struct Lanes<'a> {
    snapshot: &'a Snapshot,
    lanes: Vec<Lane>,
}

impl<'a> Lanes<'a> {
    /// As they are now, each held until its job has ended by this end of what is believed.
    pub fn new(snapshot: &'a Snapshot, end: impl Fn(Estimate<f64>) -> f64) -> Self {
        let free = snapshot.cluster.free.counts();
        let lane = |model| Lane { model, free: free[model], ends: BTreeMap::new(), at: snapshot.now };
        let mut lanes: Vec<Lane> = snapshot.cluster.model_indices().map(lane).collect();
        for lease in snapshot.leases.iter().filter(|lease| lease.is_seated()) {
            let index = snapshot.jobs.index(lease.job);
            let left = index.and_then(|index| left(snapshot, index)).map(&end);
            let left = if lease.is_lasting() { left } else { Some(0.0) };
            let Some(left) = left else { continue };
            for seat in lease.gpus.seats() {
                let node = &snapshot.cluster.nodes[seat.node.index()];
                let gpus = GpuCount(seat.gpus.and(node.usable()).count());
                let lane = &mut lanes[usize::from(node.model.0)];
                *lane.ends.entry(snapshot.now + Span::from_seconds(left)).or_default() += gpus;
            }
        }
        let mut lanes = Self { snapshot, lanes };
        // Who was promised what others have not left yet comes before everybody.
        for lease in snapshot.leases.iter().filter(|lease| !lease.is_seated()) {
            snapshot.jobs.index(lease.job).and_then(|index| lanes.seat(index, &end));
        }
        lanes
    }

    /// Seats a job where it can start first; says when and where. `None` if it cannot be told.
    pub fn seat(
        &mut self,
        index: JobIndex,
        end: impl Fn(Estimate<f64>) -> f64,
    ) -> Option<(Time, ModelIndex)> {
        let job: &Job = self.snapshot.jobs.get(index);
        let gang = job.spec.gpus.min;
        let lanes = models(self.snapshot, index).map(|model| &self.lanes[usize::from(model.0)]);
        let first = lanes.filter_map(|lane| Some((lane.when(gang)?, lane.model))).min()?;
        let (at, model) = first;
        let left = self.snapshot.remaining_seconds(index, job, model).map(end);
        let until = left.map(|left| at + Span::from_seconds(left));
        self.lanes[usize::from(model.0)].seat(gang, until);
        Some((at, model))
    }
}
