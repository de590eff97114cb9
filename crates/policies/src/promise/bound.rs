//! Who is on its way to another GPU model.
//!
//! Jobs that change places between models have to leave before they can come. Whatever happens meanwhile, such as the end of the first of them, is decided about while the
//! others still hold what they leave. If that were looked at afresh, the first would find nothing free but the place that it has just left, and all would go back
//! where they were, each for the price of a start. So the last plan holds for those who have no lasting lease, as far as it
//! names them: where jobs are interrupted at rounds only, plans between rounds name none who is still leaving.

use evenhand_core::{Grant, Job, JobId, Lease, ModelIndex, Site, Snapshot};
use std::collections::BTreeMap;

/// The models for which jobs are bound.
#[derive(Default)]
pub(super) struct Bound(BTreeMap<JobId, ModelIndex>);

impl Bound {
    pub fn new(snapshot: &Snapshot) -> Self {
        let before = snapshot.previous.iter().flat_map(|plan| &plan.grants);
        let to = |grant: &Grant| match grant.site {
            Site::Model(model) => Some(model),
            Site::Anywhere | Site::Exactly(_) => None,
        };
        let stays = |job: &Job| snapshot.leases.of_job(Some(job)).is_some_and(Lease::is_lasting);
        let bound = before.filter_map(|grant| {
            let job = snapshot.jobs.by_id(grant.job)?;
            // Whoever never ran is on its way from nowhere.
            (job.starts > 0 && !stays(job)).then_some((grant.job, to(grant)?))
        });
        Self(bound.collect())
    }

    /// For which model a job is bound.
    pub fn of(&self, job: JobId) -> Option<ModelIndex> {
        self.0.get(&job).copied()
    }
}
