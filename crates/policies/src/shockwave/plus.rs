//! Shockwave on one scale: fairness, efficiency and makespan as numbers without a unit, so that one setting serves every trace.
//!
//! ```text
//! maximise  (1 - k) 1/N sum_i [ (1 - a) w_i ln u_i(n_i) + a f_i(n_i) ]  -  k z / Z  +  p sum_i g_i min(n_i, must_i)
//! u_i(n)    = (done_i + min(n tau, R_i)) / (done_i + R_i)          the part of its time that is behind a job; an epoch at least
//! f_i(n)    = min(n tau / R_i, 1)                                 the part of what is left that the window does
//! w_i       = clip(rho_i, 1, 4)^lambda, with a mean of 1          rho_i = (now - a_i + c R_i) / (c (done_i + R_i))
//! c         = max(1, N / M)                                       the contention now
//! z, Z      = the longest remaining time after the window ;  max( max_i R_i , sum_i g_i R_i / M )
//! must_i    = rounds that the horizon asks for (`horizon.rs`) ;  p what the first round of anybody is worth for a GPU, at most
//! ```
//!
//! Differs from `shockwave`: exact logarithms; no constant with a unit; jobs that will soon be done count for their own sake;
//! lateness is measured as reports measure it (against the job's exclusive time and the contention met); a horizon that does not move
//! says which long jobs cannot wait;
//! idle GPUs go to whoever is late, then to whoever needs longest.

use super::ahead::{Objective, Outlook, Pace};
use super::{REPLAN, ROUND, pace};
use crate::registry::{Entry, Promise};
use crate::view::View;
use evenhand_core::{Limits, ParameterSpec, Plan, Policy, PolicyError, Snapshot};
use evenhand_solve::{Window, WindowItem};

const WINDOW: ParameterSpec = ParameterSpec { default: "60", ..super::WINDOW };
const MAKESPAN: ParameterSpec = ParameterSpec {
    name: "makespan",
    default: "0.5",
    summary: "how much the longest remaining time counts against everybody's progress, 0 to 1",
};
const EFFICIENCY: ParameterSpec = ParameterSpec {
    name: "efficiency",
    default: "0.5",
    summary: "how much being done soon counts against even progress, 0 to 1",
};
const LATENESS: ParameterSpec = ParameterSpec {
    name: "lateness",
    default: "8",
    summary: "how steeply the weight of a job grows that is behind its fair finish",
};

/// Whoever is late comes before whoever needs long, however long that is.
const LATE_FIRST: f64 = 1e12;
/// Nobody counts more than somebody who is this late.
const RHO_MAX: f64 = 4.0;

pub(crate) const ENTRY: Entry = Entry {
    name: "shockwave-plus",
    summary: "Plans a window ahead for jobs that change; fairness, efficiency and makespan on one scale.",
    paper: "ours, after Shockwave, NSDI 2023",
    promises: &[Promise::WorkConserving],
    parameters: &[WINDOW, REPLAN, MAKESPAN, EFFICIENCY, LATENESS, ROUND],
    divide: None,
    build: |parameters| {
        Ok(Box::new(Plus {
            pace: pace(parameters, &WINDOW, true)?,
            scaled: Scaled {
                makespan: parameters.number(&MAKESPAN, 0.0, 1.0)?,
                efficiency: parameters.number(&EFFICIENCY, 0.0, 1.0)?,
                lateness: parameters.number(&LATENESS, 0.0, 100.0)?,
            },
        }))
    },
};

struct Plus {
    pace: Pace,
    scaled: Scaled,
}

impl Policy for Plus {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        self.pace.decide(snapshot, &self.scaled)
    }
}

/// The objective on one scale.
struct Scaled {
    makespan: f64,
    efficiency: f64,
    lateness: f64,
}

/// rho: how late a job will be if it runs on its part of the cluster from now on.
fn lateness(outlook: &Outlook<'_>, view: &View<'_>, contention: f64) -> f64 {
    let snapshot = outlook.snapshot;
    let lived_s = snapshot.now.since(view.job.submitted).seconds();
    (lived_s + view.left_s * contention) / ((view.done_s + view.left_s) * contention).max(1e-3)
}

impl Scaled {
    fn weights(&self, outlook: &Outlook<'_>) -> Vec<f64> {
        let late =
            outlook.views.iter().map(|view| lateness(outlook, view, outlook.contention).clamp(1.0, RHO_MAX));
        let weights: Vec<f64> = late.map(|rho| rho.powf(self.lateness)).collect();
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        weights.into_iter().map(|weight| weight / mean).collect()
    }

    fn item(&self, outlook: &Outlook<'_>, view: &View<'_>, weight: f64) -> WindowItem {
        let scale = (1.0 - self.makespan) / outlook.views.len() as f64;
        let whole_s = view.done_s + view.left_s;
        let ran = |rounds: usize| (rounds as f64 * outlook.round_s).min(view.left_s);
        let behind = |rounds: usize| ((view.done_s + ran(rounds)) / whole_s).max(1.0 / view.epochs).ln();
        let value = |rounds: usize| {
            (1.0 - self.efficiency) * weight * behind(rounds) + self.efficiency * ran(rounds) / view.left_s
        };
        let mut gains: Vec<f64> =
            (0..outlook.rounds).map(|round| (scale * (value(round + 1) - value(round))).max(0.0)).collect();
        // Below one epoch nothing is gained; the first rounds share what they bring together.
        pool(&mut gains);
        let progress =
            (0..outlook.rounds).map(|round| (ran(round + 1) - ran(round)) / outlook.round_s).collect();
        let remaining = view.left_s / outlook.round_s;
        WindowItem {
            gang: view.gang,
            gains,
            progress,
            remaining,
            urgency: weight / view.left_s,
            rates: view.rates.clone(),
        }
    }
}

/// Gains that do not grow: wherever later ones are larger, all of them are their mean (the least concave function above).
fn pool(gains: &mut [f64]) {
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(gains.len());
    for gain in gains.iter() {
        let mut block = (*gain, 1);
        while let Some(last) = blocks.pop_if(|last| last.0 * (block.1 as f64) < block.0 * last.1 as f64) {
            block = (block.0 + last.0, block.1 + last.1);
        }
        blocks.push(block);
    }
    let mut at = 0;
    for (sum, count) in blocks {
        gains[at..at + count].fill(sum / count as f64);
        at += count;
    }
}

/// Rounds without which a job would pass the horizon are worth more than anything else.
fn hold_horizon(outlook: &Outlook<'_>, items: &mut [WindowItem]) {
    let first = |item: &WindowItem| item.gains.first().map_or(0.0, |gain| gain / f64::from(item.gang));
    let price = items.iter().map(first).fold(0.0, f64::max);
    for (item, view) in items.iter_mut().zip(outlook.views) {
        let now = outlook.snapshot.now;
        let must = outlook.horizon.must(now, view.left_high_s, outlook.rounds, outlook.round_s);
        for gain in item.gains.iter_mut().take(must) {
            *gain += price * f64::from(item.gang);
        }
    }
}

impl Objective for Scaled {
    fn window(&self, outlook: &Outlook<'_>) -> Window {
        let snapshot = outlook.snapshot;
        let weights = self.weights(outlook);
        let items = outlook.views.iter().zip(weights).map(|(view, weight)| self.item(outlook, view, weight));
        let mut items: Vec<WindowItem> = items.collect();
        hold_horizon(outlook, &mut items);
        let capacity: Vec<u32> =
            snapshot.cluster.model_indices().map(|model| snapshot.cluster.capacity(model).0).collect();
        let gpus = f64::from(capacity.iter().sum::<u32>().max(1));
        let longest = outlook.views.iter().map(|view| view.left_s).fold(0.0, f64::max);
        let spread = outlook.views.iter().map(|view| view.left_s * f64::from(view.gang)).sum::<f64>() / gpus;
        let unit = longest.max(spread).max(outlook.round_s);
        let remaining_cost = self.makespan * outlook.round_s / unit;
        Window { rounds: outlook.rounds, items, capacity, remaining_cost }
    }

    fn backfill(&self, outlook: &Outlook<'_>, at: usize) -> f64 {
        let view = &outlook.views[at];
        let rho = lateness(outlook, view, outlook.contention);
        if rho > 1.0 { LATE_FIRST * rho } else { view.left_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_pooled_until_they_fall() {
        let pooled = |mut gains: Vec<f64>| {
            pool(&mut gains);
            gains
        };
        assert_eq!(pooled(vec![3.0, 2.0, 1.0]), [3.0, 2.0, 1.0]);
        assert_eq!(pooled(vec![0.0, 0.0, 6.0, 1.0]), [2.0, 2.0, 2.0, 1.0]);
        assert_eq!(pooled(vec![1.0, 0.0, 2.0, 5.0]), [2.0, 2.0, 2.0, 2.0]);
        assert_eq!(pooled(vec![]), [0.0; 0]);
    }
}
