//! What is really the case: the predictor never sees this.

use evenhand_core::{Bytes, Cluster, Demand, GpuSet, JobSpec, ModelIndex, Rate, SharingMode, Span, Work};
use std::sync::Arc;

/// A job on a GPU, as it really is.
#[derive(Clone, Copy, Debug)]
pub struct Resident<'a> {
    /// What it is.
    pub spec: &'a JobSpec,
    /// The kind of job that it was measured as, if any.
    pub profile: Option<&'a Arc<str>>,
}

impl Resident<'_> {
    /// What it really asks of a GPU: all of it, if nothing is known.
    pub fn demand(&self, model: ModelIndex) -> Demand {
        let all = Demand { duty: 1.0, sm: 1.0, tensor: 1.0, bandwidth: 1.0, ..Demand::default() };
        self.spec.demand.as_ref().map_or(all, |demand| demand[model])
    }

    /// The memory that it really needs.
    pub fn memory(&self, model: ModelIndex) -> Bytes {
        let known = self.spec.demand.as_ref().map(|demand| demand[model].memory.mean);
        known.or(self.spec.memory).unwrap_or_default()
    }
}

/// How much jobs on one GPU really slow each other down.
pub trait TrueInterference: Send + Sync {
    /// The slowdown (at least 1) of `own` beside `others` on a GPU of this model, kept apart in this way.
    fn slowdown(
        &self,
        own: &Resident<'_>,
        others: &[Resident<'_>],
        model: ModelIndex,
        mode: SharingMode,
    ) -> f64;

    /// Whether somebody has measured the two, so that their slowdown is more than a rule.
    fn is_measured(&self, _: &Resident<'_>, _: &Resident<'_>, _: ModelIndex, _: SharingMode) -> bool {
        true
    }

    /// Whether the two fit into the memory of one GPU, for all that is known beyond what each needs.
    fn fits(&self, _: &Resident<'_>, _: &Resident<'_>, _: ModelIndex) -> bool {
        true
    }
}

/// Jobs on one GPU take turns of equal length.
#[derive(Clone, Copy, Debug, Default)]
pub struct EqualTurns;

impl TrueInterference for EqualTurns {
    fn slowdown(&self, _: &Resident<'_>, others: &[Resident<'_>], _: ModelIndex, _: SharingMode) -> f64 {
        1.0 + others.len() as f64
    }
}

/// The true speed of a job on these GPUs when nobody is in its way, before its regime.
pub(crate) fn base_rate(truth: &JobSpec, cluster: &Cluster, gpus: &GpuSet, node_speed: &[f64]) -> Rate {
    let span = cluster.span_of(gpus);
    let factor = truth.scaling.factor(truth.gpus, gpus.count(), span);
    // Workers of a synchronous job wait for the slowest.
    let slowest = gpus.seats().iter().map(|seat| {
        let model = cluster.nodes[seat.node.index()].model;
        truth.speed(model).get() * node_speed.get(seat.node.index()).copied().unwrap_or(1.0)
    });
    let slowest = slowest.fold(f64::INFINITY, f64::min);
    Rate::new(slowest * factor).unwrap_or(Rate::ZERO)
}

/// The regime in force after this much work: its place in the list, its speed, and where it ends.
pub(crate) fn regime_at(truth: &JobSpec, done: Work) -> (Option<usize>, f64, Work) {
    let total = truth.work.unwrap_or(Work(u64::MAX));
    let place = truth.regimes.iter().rposition(|regime| regime.from <= done);
    let next = place.map_or(0, |place| place + 1);
    let end = truth.regimes.get(next).map_or(total, |regime| regime.from.min(total));
    (place, place.map_or(1.0, |place| truth.regimes[place].speed.get()), end)
}

/// What the whole job takes alone, without a break, on the reference GPU model (or, where it cannot run there, on
/// its fastest).
pub fn alone(truth: &JobSpec, models_count: usize) -> Option<Span> {
    let reference = truth.speed(ModelIndex(0));
    let speed = if reference > Rate::ZERO {
        reference
    } else {
        let speeds = (0..models_count as u16).map(|model| truth.speed(ModelIndex(model)));
        speeds.reduce(|a, b| if b > a { b } else { a })?
    };
    let total = truth.work?;
    let (mut done, mut span) = (Work::ZERO, Span::ZERO);
    while done < total {
        let (_, factor, end) = regime_at(truth, done);
        span += end.less(done).span_at(speed.times(factor))?;
        done = end;
    }
    Some(span)
}
