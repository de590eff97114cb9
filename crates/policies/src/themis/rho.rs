//! The ratio that an app would come to with some GPUs: `T_sh / T_id` of [`evenhand_fairness`], with `T_sh` foretold.
//!
//! ```text
//! outlook = lease     T_sh(G) = elapsed + lease + T_left'(M / N)     G for one lease, then a private part of the cluster;
//!                                                                    left' = what is left after a lease on G
//! outlook = held      T_sh(G) = elapsed + T_left(|G|)                G for ever, as printed
//!                     T_sh(0) = elapsed + lease + T_left(M / N)      nothing for a lease, then a private part
//! ```
//!
//! As printed, an app that holds nothing has no ratio at all, and one that is offered less than its part of the cluster
//! does better to wait for it than to take what there is. The other outlook has neither defect: a GPU more is never worse.

use super::Rules;
use super::contention::Contention;
use super::standing::Standing;
use evenhand_core::{Goal, Ratio, Snapshot, Span};
use evenhand_fairness::{AppJob, app_seconds, ideal_seconds};

/// Ratios beyond this say nothing more.
const RHO_MAX: f64 = 1e6;

/// A ratio within the bounds of what is told apart; what is no number counts as the worst.
pub(super) fn bounded(rho: f64) -> Ratio {
    let rho = if rho.is_nan() { RHO_MAX } else { rho.clamp(1.0 / RHO_MAX, RHO_MAX) };
    Ratio::new(rho).unwrap_or_default()
}

/// How an app looks ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// It has the GPUs for one lease, and its part of the cluster afterwards.
    Lease,
    /// It has the GPUs for ever.
    Held,
}

/// How an app is measured that is done with the first job to reach its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// As though all its jobs had to be done: nobody knows beforehand which it will be.
    Tried,
    /// By the job that is foretold to be the first.
    Foretold,
}

impl First {
    /// The goal that an app is measured by.
    pub fn measured(self, goal: Goal) -> Goal {
        if self == Self::Foretold { goal } else { Goal::AllJobs }
    }
}

/// What an app is measured by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Yardstick {
    pub goal: Goal,
    pub outlook: Outlook,
    pub elapsed_s: f64,
    pub ideal_s: f64,
    pub lease_s: f64,
    /// Its private part of the cluster, in GPUs.
    pub part: f64,
}

impl Yardstick {
    pub fn new(
        snapshot: &Snapshot,
        contention: &Contention,
        standing: &Standing<'_>,
        rules: &Rules,
        lease: Span,
    ) -> Self {
        let gpus = f64::from(snapshot.cluster.capacity_total().0);
        let goal = rules.first.measured(standing.goal);
        let (jobs, apps) =
            (contention.jobs(standing.party, rules.ended), contention.apps_mean(standing.party));
        Self {
            goal,
            outlook: rules.outlook,
            elapsed_s: contention.lived_s(standing.party),
            // An app of no work at all would have no ratio.
            ideal_s: ideal_seconds(rules.ideal, goal, &jobs, gpus, apps).max(1e-3),
            lease_s: lease.seconds(),
            part: gpus / contention.apps_now(),
        }
    }

    /// The ratio with jobs at these paces, one for each: against their mean speed in one place, 0 if they wait.
    pub fn rho(&self, left: &[AppJob], paces: &[f64]) -> Ratio {
        let shared_s = self.elapsed_s + self.seconds_left(left, paces);
        bounded(shared_s / self.ideal_s)
    }

    fn seconds_left(&self, left: &[AppJob], paces: &[f64]) -> f64 {
        let effective: f64 = left.iter().zip(paces).map(|(job, pace)| job.gang * pace).sum();
        if self.outlook == Outlook::Held && effective > 0.0 {
            return app_seconds(self.goal, left, effective);
        }
        if let Some(seconds) = self.seconds_within_lease(left, paces) {
            return seconds;
        }
        let after: Vec<AppJob> = left
            .iter()
            .zip(paces)
            .map(|(job, pace)| AppJob { alone_s: (job.alone_s - pace * self.lease_s).max(0.0), ..*job })
            .collect();
        self.lease_s + app_seconds(self.goal, &after, self.part)
    }

    /// When the goal is met, if that is before the lease is over.
    fn seconds_within_lease(&self, left: &[AppJob], paces: &[f64]) -> Option<f64> {
        let ends = left
            .iter()
            .zip(paces)
            .map(|(job, pace)| if job.alone_s > 0.0 { job.alone_s / pace } else { 0.0 });
        let seconds = match self.goal {
            Goal::AllJobs => ends.fold(0.0, f64::max),
            Goal::FirstToTarget => ends.fold(f64::INFINITY, f64::min),
        };
        (seconds <= self.lease_s).then_some(seconds)
    }
}
