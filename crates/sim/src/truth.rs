//! What is really the case: the predictor never sees this.

use evenhand_core::{Cluster, GpuSet, JobSpec, ModelIndex, Rate, Span, Work};

/// How much jobs on one GPU really slow each other down.
pub trait TrueInterference: Send + Sync {
    /// The slowdown (at least 1) of `own` beside `others` on a GPU of this model.
    fn slowdown(&self, own: &JobSpec, others: &[&JobSpec], model: ModelIndex) -> f64;
}

/// Jobs on one GPU take turns of equal length.
#[derive(Clone, Copy, Debug, Default)]
pub struct EqualTurns;

impl TrueInterference for EqualTurns {
    fn slowdown(&self, _own: &JobSpec, others: &[&JobSpec], _model: ModelIndex) -> f64 {
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
