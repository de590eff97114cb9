//! When those who wait are expected to have GPUs.
//!
//! ```text
//! start_i = min( the first moment at which g_i GPUs of a model that will do are free , l_i )       l_i the laxity of i, unless it is at risk already
//! ```
//!
//! Whoever has GPUs keeps them to its end, and the others follow in the order of this decision; but whoever is promised an end is given GPUs of others in time for it.
//! Who will come, and who has to make way then, is not foreseen; nor is anything of those who wait for something else than GPUs.

use super::case::Case;
use super::matching;
use super::order::{Desk, Heard};
use evenhand_core::{ModelIndex, Others, Reason, Snapshot, Span};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is expected of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Seconds until it is at work.
    pub start_s: f64,
    /// How long what is left of it takes there, as a multiple of what it takes on GPUs of average speed.
    pub times: f64,
    /// Jobs that hold the GPUs that it could use, if it waits.
    pub behind: u32,
}

/// For everybody who was granted GPUs, and for whoever waits for GPUs that others hold. `others`: whether leases of those who were not heard go on.
pub(super) fn all(
    snapshot: &Snapshot,
    cases: &[Case<'_>],
    desk: &Desk<'_>,
    heard: &Heard,
    others: Others,
) -> Vec<Option<Expected>> {
    let mut coming = Coming::new(snapshot);
    let mut all = vec![None; cases.len()];
    for (claim, grant) in &heard.granted {
        let case = &cases[claim.at];
        let model = grant.model(snapshot).map(|model| usize::from(model.0));
        coming.take(model, grant.gpus.0, case);
        let start_s = if case.runs { 0.0 } else { case.start_s };
        let times = model.map_or(1.0, |model| case.times(model));
        all[claim.at] = Some(Expected { start_s, times, behind: 0 });
    }
    if others == Others::Keep {
        for (case, _) in cases.iter().zip(&all).filter(|(case, heard)| case.runs && heard.is_none()) {
            let model = matching::held(snapshot, case).map(|model| usize::from(model.0));
            coming.take(model, case.view.gang, case);
        }
    }
    let holders = coming.holders.clone();
    for (claim, _) in heard.refused.iter().filter(|(_, why)| *why == Reason::NoRoom) {
        let case = &cases[claim.at];
        let Some((free_s, model)) = coming.wait_for(case) else { continue };
        let start_s = desk.can_wait_s(claim.at).map_or(free_s, |latest_s| free_s.min(latest_s));
        let could_use = case.view.rates.iter().zip(&holders).filter(|(rate, _)| **rate > 0.0);
        let behind = could_use.map(|(_, jobs)| jobs).sum();
        all[claim.at] = Some(Expected { start_s: start_s + case.start_s, times: case.times(model), behind });
    }
    all
}

/// GPUs that come free, by model.
struct Coming {
    now: Span,
    free: Vec<u32>,
    /// How many jobs hold GPUs.
    holders: Vec<u32>,
    /// When, of which model, and how many.
    ends: BinaryHeap<Reverse<(Span, usize, u32)>>,
}

impl Coming {
    fn new(snapshot: &Snapshot) -> Self {
        let models = || snapshot.cluster.model_indices();
        let capacity = |model: ModelIndex| snapshot.cluster.capacity(model).0;
        Self {
            now: Span::ZERO,
            free: models().map(capacity).collect(),
            holders: models().map(|_| 0).collect(),
            ends: BinaryHeap::new(),
        }
    }

    /// A job has GPUs of a model from now to its end; of several, if it mixes them.
    fn take(&mut self, model: Option<usize>, gpus: u32, case: &Case<'_>) {
        if let Some(model) = model {
            return self.hold(model, gpus, case);
        }
        let mut need = gpus;
        for model in 0..self.free.len() {
            let part = need.min(self.free[model]);
            if part > 0 {
                self.hold(model, part, case);
                need -= part;
            }
        }
    }

    fn hold(&mut self, model: usize, gpus: u32, case: &Case<'_>) {
        self.free[model] = self.free[model].saturating_sub(gpus);
        self.holders[model] += 1;
        let takes = Span::from_seconds(case.left_s * case.times(model));
        self.ends.push(Reverse((self.now + takes, model, gpus)));
    }

    /// Lets a job have GPUs as soon as there are enough of a model, the fastest of those for it; seconds from the beginning until then.
    fn wait_for(&mut self, case: &Case<'_>) -> Option<(f64, usize)> {
        case.view.rates.iter().find(|rate| **rate > 0.0)?;
        loop {
            let rates = case.view.rates.iter().enumerate();
            let fits = rates.filter(|(model, rate)| **rate > 0.0 && self.free[*model] >= case.view.gang);
            if let Some((model, _)) = fits.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0))) {
                self.hold(model, case.view.gang, case);
                return Some((self.now.seconds(), model));
            }
            let Reverse((end, model, gpus)) = self.ends.pop()?;
            (self.now, self.free[model]) = (end, self.free[model] + gpus);
        }
    }
}
