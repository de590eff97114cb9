//! Shockwave: a market that plans a window of rounds ahead for jobs whose speed changes, as published (Zheng et al., NSDI 2023).
//!
//! ```text
//! maximise  1/(N H) sum_i w_i U( (e_i + p_i) / E_i )  -  beta max_i max(0, R_i - d_i p_i)
//! subject to  d_i p_i <= tau sum_t x_it ,   sum_i g_i x_it <= M  for every round t ,   x_it in {0, 1}
//! U          ln, piecewise linear on 0, .2, .4, .6, .8, 1, with ln 1e-6 at 0
//! w_i        1 if rho_i <= 1 ;  else rho_i^100 if R_i < tau ;  else rho_i^lambda          rho_i = (now + R_i / s) / Fbar_i
//! order      minimise sum_i (w_i / n_i) sum_t t x_it ;   idle GPUs go to whoever needs longest
//! ```
//!
//! e_i of E_i epochs done, p_i planned, d_i the mean duration of an epoch, R_i the predicted seconds left, s = min(1, M/N), Fbar_i the fair finish
//! (`fair_finish.rs`). The program that holds every job to its fair finish is left out: it has no solution in practice (a job whose
//! fair finish is inside the window rules one out; 123 of 123 times on the canonical trace). What is left is not solved as an integer
//! program but by [`evenhand_solve::plan_window`], with a bound.

mod ahead;
mod fair_finish;
mod foresight;
mod plus;

pub(crate) use plus::ENTRY as PLUS;

use crate::registry::{Entry, Promise};
use crate::view::{View, private_part};
use ahead::{Objective, Outlook, Pace};
use evenhand_core::{Limits, ParameterError, ParameterSpec, Parameters, Plan, Policy, PolicyError, Snapshot};
use evenhand_solve::{PublishedJob, Window, WindowItem};

const ROUND: ParameterSpec = ParameterSpec {
    name: "round",
    default: "120s",
    summary: "the length of a round where the world ends rounds itself (that of the run under --semantics original)",
};
const WINDOW: ParameterSpec =
    ParameterSpec { name: "window", default: "20", summary: "rounds that are planned ahead" };
const REPLAN: ParameterSpec = ParameterSpec {
    name: "replan",
    default: "8",
    summary: "rounds after which is planned anew, if nothing happened before",
};
const BETA: ParameterSpec = ParameterSpec {
    name: "beta",
    default: "0.001",
    summary: "what a second of the longest remaining time costs; published runs have 0.001 to 100000",
};
const LAMBDA: ParameterSpec = ParameterSpec {
    name: "lambda",
    default: "12",
    summary: "how steeply the weight of a late job grows; published runs have 5 to 15",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "shockwave",
    summary: "Plans a window ahead for jobs that change: log progress, late jobs first, short makespan.",
    paper: "Shockwave, NSDI 2023",
    promises: &[Promise::WorkConserving],
    parameters: &[WINDOW, REPLAN, BETA, LAMBDA, ROUND],
    divide: None,
    build: |parameters| {
        let (beta, lambda) = (parameters.number(&BETA, 0.0, 1e9)?, parameters.number(&LAMBDA, 0.0, 100.0)?);
        Ok(Box::new(Shockwave {
            pace: pace(parameters, &WINDOW, false)?,
            published: Published { beta, lambda },
        }))
    },
};

/// How far is planned, and how often anew.
fn pace(parameters: &Parameters, window: &ParameterSpec, follows: bool) -> Result<Pace, ParameterError> {
    Ok(Pace {
        rounds: parameters.number(window, 1.0, 1000.0)? as usize,
        round: parameters.span(&ROUND)?,
        replan: parameters.number(&REPLAN, 1.0, 1000.0)? as u64,
        follows,
    })
}

struct Shockwave {
    pace: Pace,
    published: Published,
}

impl Policy for Shockwave {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        self.pace.decide(snapshot, &self.published)
    }
}

/// The objective as published.
struct Published {
    beta: f64,
    lambda: f64,
}

/// The exponent of a late job that is nearly done.
const NEARLY_DONE: f64 = 100.0;
/// Weights beyond this are all the same to the arithmetic.
const WEIGHT_MAX: f64 = 1e30;

impl Published {
    /// w: how much the progress of a job counts.
    fn weight(&self, outlook: &Outlook<'_>, view: &View<'_>, part: f64) -> f64 {
        let finish = outlook.snapshot.now.seconds() + view.left_s / part;
        let target = outlook.fair.target_s(view.job.spec.id).unwrap_or(finish).max(1e-3);
        let rho = finish / target;
        let exponent = if view.left_s < outlook.round_s { NEARLY_DONE } else { self.lambda };
        if rho <= 1.0 { 1.0 } else { rho.powf(exponent).min(WEIGHT_MAX) }
    }

    fn item(&self, outlook: &Outlook<'_>, view: &View<'_>, part: f64) -> WindowItem {
        let job = PublishedJob {
            gang: view.gang,
            epochs_done: view.done,
            epochs: view.epochs,
            rounds_per_epoch: view.epoch_s().max(1e-3) / outlook.round_s,
            remaining: view.left_s / outlook.round_s,
            priority: self.weight(outlook, view, part),
        };
        WindowItem { rates: view.rates.clone(), ..job.item(outlook.rounds, outlook.views.len()) }
    }
}

impl Objective for Published {
    fn window(&self, outlook: &Outlook<'_>) -> Window {
        let snapshot = outlook.snapshot;
        let part = private_part(snapshot, outlook.views.len());
        Window {
            rounds: outlook.rounds,
            capacity: snapshot
                .cluster
                .model_indices()
                .map(|model| snapshot.cluster.capacity(model).0)
                .collect(),
            items: outlook.views.iter().map(|view| self.item(outlook, view, part)).collect(),
            remaining_cost: self.beta * outlook.round_s,
        }
    }

    fn backfill(&self, outlook: &Outlook<'_>, at: usize) -> f64 {
        outlook.views[at].left_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_takes_some_time() {
        for entry in [ENTRY, PLUS] {
            let built = |round: &str| {
                (entry.build)(&Parameters([("round".to_owned(), round.to_owned())].into())).is_ok()
            };
            assert!(built("1s") && !built("0s"), "{}", entry.name);
        }
    }
}
