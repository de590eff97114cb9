//! When a job should be done, if a window is carried out as planned.
//!
//! ```text
//! F_i = now + tau t + r_i(t) / rate      t the first round of the window after which nothing is left, r_i(t) the seconds left before it
//!     = now + tau H + r_i(H) / s         if there is none: from then on with its private part of the cluster
//! r_i(t) = R_i - tau (the sum of its rates in its rounds before t)
//! ```

use super::ahead::Outlook;
use crate::view::private_part;
use evenhand_core::{Foreseen, Span, Time, Turns};
use evenhand_solve::WindowPlan;

/// What a plan means for one job.
pub(super) fn foreseen(outlook: &Outlook<'_>, plan: &WindowPlan, item: usize) -> Foreseen {
    let view = &outlook.views[item];
    let turns = Turns::stretches(plan.rounds_of(item).map(|round| round as u32));
    Foreseen { job: view.job.spec.id, finish: finish(outlook, plan, item), turns }
}

fn finish(outlook: &Outlook<'_>, plan: &WindowPlan, item: usize) -> Time {
    let (view, round_s) = (&outlook.views[item], outlook.round_s);
    let mut left_s = view.left_s;
    let after = |seconds: f64| outlook.snapshot.now + Span::from_seconds(seconds);
    for round in plan.rounds_of(item) {
        let at = plan.rounds[round].partition_point(|other| *other < item);
        let rate = view.rates[plan.models[round][at]];
        if rate * round_s >= left_s {
            return after(round as f64 * round_s + left_s / rate);
        }
        left_s -= rate * round_s;
    }
    let part = private_part(outlook.snapshot, outlook.views.len());
    after(outlook.rounds as f64 * round_s + left_s / part)
}
