//! A gang that was seated far apart when the cluster was full need not stay so for ever.
//!
//! ```text
//! moved when   nobody waits, and  t (s - s')  >  2 (restart + round)
//! t            time that the job is believed to need still, in one place
//! s, s'        how much slower it is as far apart as it is seated, and as it could be seated now
//! ```
//!
//! One lease a round, the one that gains most. A lease whose GPUs the policy named is the policy's business.

use crate::Engine;
use evenhand_core::{GpuSet, Grant, Lease, LeaseId, LeaseState, Plan, Seat, Site, Snapshot};
use std::collections::BTreeSet;

impl Engine {
    /// The lease among those kept that had better be moved, if there is one.
    pub(crate) fn gathered(
        &self,
        plan: &Plan,
        kept: &BTreeSet<LeaseId>,
        snapshot: &Snapshot,
    ) -> Option<LeaseId> {
        if snapshot.jobs.queue_len() > 0 {
            return None;
        }
        let open = plan.grants.iter().filter(|grant| !matches!(grant.site, Site::Exactly(_)));
        let gains = open.filter_map(|grant| {
            let lease = snapshot.leases.of_job(snapshot.jobs.by_id(grant.job))?;
            // One that has not started yet has not been slow yet either.
            if lease.state != LeaseState::Held || !kept.contains(&lease.id) {
                return None;
            }
            Some((self.seconds_gained(grant, lease, snapshot)?, lease.id))
        });
        gains.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, lease)| lease)
    }

    /// What moving a lease saves its job, where that is much more than it costs.
    fn seconds_gained(&self, grant: &Grant, lease: &Lease, snapshot: &Snapshot) -> Option<f64> {
        let index = snapshot.jobs.index(lease.job)?;
        let (job, forecast) = (snapshot.jobs.get(index), snapshot.forecast(index));
        let by_span = forecast.scaling.by_span?;
        let slowdown = |gpus: &GpuSet| by_span[snapshot.cluster.span_of(gpus) as usize].get();
        let model = snapshot.model_of(lease)?;
        let left_s = snapshot.remaining_seconds(index, job, model)?.mean;
        let cost = forecast.restart.mean.seconds() + self.parts.config.round.seconds();
        let gained = |slower: f64| {
            Some(left_s * (slowdown(&lease.gpus) - slower)).filter(|gained| *gained > 2.0 * cost)
        };
        // Looking for room is only worth it if the closest seats were.
        gained(by_span[0].get())?;
        let mut room = snapshot.cluster.free.clone();
        for seat in lease.gpus.seats() {
            // What is left of a node that is being emptied is not to be had again.
            let usable = snapshot.cluster.nodes[seat.node.index()].usable();
            room.give(Seat { gpus: seat.gpus.and(usable), ..*seat });
        }
        let wanted = Grant { site: Site::Model(model), ..grant.clone() };
        let placement = self.parts.placer.place(snapshot, &mut room, &[wanted]);
        let (_, gpus) = placement.seated.first()?;
        gained(slowdown(gpus))
    }
}
