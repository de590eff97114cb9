//! Gangs spread over nodes are drawn together, one at a time, while nobody waits.

use super::trials::Tried;
use evenhand_core::{Grant, LeaseState, Locality, ModelIndex, Plan, Snapshot};

/// Moves the one gang that gains most from being on one node, if it gains more than its restart.
pub(super) fn draw_together(snapshot: &Snapshot, plan: &mut Plan, tried: &mut Tried) {
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
