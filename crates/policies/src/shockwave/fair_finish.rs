//! When every job should be done: the finish that its fair part of the cluster would bring, remembered over its life.
//!
//! ```text
//! F_i(r)  = a_i + (time of the epochs done + R_i) / s         worked out whenever a job comes or goes
//! Fbar_i  = momentum (mean of F_i over the rounds) + (1 - momentum) (the last F_i)
//! ```

use crate::view::{View, private_part};
use evenhand_core::{JobId, Snapshot, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The part of the mean in the target.
const MOMENTUM: f64 = 0.9;

/// The finish times of all jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FairFinish {
    jobs: BTreeMap<JobId, Series>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Series {
    /// a: when it was first seen.
    since: Time,
    /// The sum over rounds.
    sum_s: f64,
    rounds: f64,
    last_s: f64,
}

impl FairFinish {
    /// A round has passed.
    pub fn age(&mut self) {
        for series in self.jobs.values_mut() {
            series.sum_s += series.last_s;
            series.rounds += 1.0;
        }
    }

    /// Jobs came or went: everybody's part of the cluster is another.
    pub fn renew(&mut self, snapshot: &Snapshot, views: &[View<'_>]) {
        let part = private_part(snapshot, views.len());
        let mut before = std::mem::take(&mut self.jobs);
        for view in views {
            let id = view.job.spec.id;
            let known = before.remove(&id);
            let since = known.map_or(snapshot.now, |series| series.since);
            let last_s = since.seconds() + (view.done_s + view.left_s) / part;
            let (sum_s, rounds) = known.map_or((0.0, 0.0), |series| (series.sum_s, series.rounds));
            self.jobs.insert(id, Series { since, sum_s, rounds, last_s });
        }
    }

    /// When a job should be done, in seconds since the start of the run.
    pub fn target_s(&self, job: JobId) -> Option<f64> {
        let series = self.jobs.get(&job)?;
        let mean = if series.rounds > 0.0 { series.sum_s / series.rounds } else { series.last_s };
        Some(MOMENTUM * mean + (1.0 - MOMENTUM) * series.last_s)
    }
}
