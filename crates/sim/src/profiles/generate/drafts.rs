//! Jobs as they are drawn, before they are written down: batches open at their time and give their jobs one by one.

use super::Plan;
use super::arrivals::BatchClock;
use super::kinds::Kind;
use evenhand_core::{Outcome, Random, TenantId};
use std::collections::BTreeMap;

/// A job before it is written down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft {
    /// In whole seconds, as published traces have them.
    pub submit_s: f64,
    pub gpus: u32,
    pub duration_s: f64,
    pub tenant: TenantId,
    pub outcome: Outcome,
    pub kind: &'static Kind,
}

/// Jobs of a batch that have not been submitted yet.
struct Batch {
    gpus: u32,
    tenant: TenantId,
    kind: &'static Kind,
    durations: std::vec::IntoIter<f64>,
}

/// The jobs of a plan, in the order of submission.
pub(super) struct Drafts<'a> {
    plan: &'a Plan,
    clock: BatchClock,
    next_batch_s: f64,
    batch_count: u64,
    /// By the time of their next job in milliseconds; of equals, by their number.
    open: BTreeMap<(u64, u64), Batch>,
    left: u64,
    bodies: Random,
    gaps: Random,
    ends: Random,
}

impl Plan {
    /// The jobs before they are written down.
    pub(super) fn drafts(&self) -> Drafts<'_> {
        let seed = self.wanted.seed;
        let arrivals = &self.profile.arrivals;
        let mut clock = BatchClock::new(arrivals, self.jobs_per_hour / arrivals.batches.mean(), seed);
        Drafts {
            plan: self,
            next_batch_s: clock.next(),
            clock,
            batch_count: 0,
            open: BTreeMap::new(),
            left: self.wanted.jobs.unwrap_or(u64::MAX),
            bodies: Random::stream(seed, "bodies"),
            gaps: Random::stream(seed, "gaps"),
            ends: Random::stream(seed, "outcomes"),
        }
    }
}

impl Drafts<'_> {
    /// A batch has come.
    fn open_batch(&mut self) {
        let (plan, random) = (self.plan, &mut self.bodies);
        let size = plan.profile.arrivals.batches.draw(random);
        let gpus = plan.draw_gpus(random);
        let durations: Vec<f64> = (0..size).map(|_| plan.profile.durations.draw(gpus, random)).collect();
        let mean_s = durations.iter().sum::<f64>() / f64::from(size);
        let tenant = plan.draw_tenant(plan.is_heavy(gpus, mean_s), random);
        let kind = plan.profile.draw_kind(random);
        let batch = Batch { gpus, tenant, kind, durations: durations.into_iter() };
        self.open.insert(((self.next_batch_s * 1e3) as u64, self.batch_count), batch);
        self.batch_count += 1;
        self.next_batch_s = self.clock.next();
    }
}

impl Iterator for Drafts<'_> {
    type Item = Draft;

    fn next(&mut self) -> Option<Draft> {
        self.left = self.left.checked_sub(1)?;
        while self
            .open
            .first_key_value()
            .is_none_or(|((at_ms, _), _)| *at_ms as f64 > self.next_batch_s * 1e3)
        {
            self.open_batch();
        }
        let ((at_ms, number), mut batch) = self.open.pop_first().expect("a batch was opened if none was");
        let submit_s = (at_ms / 1000) as f64;
        if self.plan.has_only_days() && submit_s >= self.plan.wanted.days.unwrap_or(f64::MAX) * 86_400.0 {
            self.left = 0;
            return None;
        }
        let duration_s = batch.durations.next().expect("an open batch has jobs left");
        let (gpus, tenant, kind) = (batch.gpus, batch.tenant, batch.kind);
        if batch.durations.len() > 0 {
            let gap_ms = (self.plan.profile.arrivals.batches.gap(&mut self.gaps) * 1e3) as u64;
            self.open.insert((at_ms + gap_ms, number), batch);
        }
        let outcome = self.plan.draw_outcome(self.plan.is_heavy(gpus, duration_s), &mut self.ends);
        Some(Draft { submit_s, gpus, duration_s, tenant, outcome, kind })
    }
}
