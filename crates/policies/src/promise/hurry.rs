//! Whose speed counts how much when GPU models are given out.
//!
//! ```text
//! rho_i   = (now + tau + Rfast_i - a_i) / (P_i - a_i)           what part of its fair time job i takes if from the next round on it has its fastest GPU model
//! T       = min( max( t : a fifth of the GPUs go to jobs with rho_i >= t ) , T1 ) , but no less than T0
//! omega_i = min( max( 1 , e^(30 (rho_i - T)) ) , Omega ) ;  at least 20 if job i is about to pass the horizon and is no large gang
//! ```
//!
//! It is the fastest model that tells whether a job can still catch up: whoever has time to do so later gives way now, and may never have to, because promises move when others
//! come. T0 is the operator's wish (`hurry`). Where GPUs are short most jobs are beyond it, and if all were in a hurry nobody would be: then it is a fifth of them, but from T1 on
//! a promise is in danger, and everybody counts. Omega only keeps numbers finite: of two in a hurry, the one that is later counts more.

use super::case::Case;
use evenhand_core::{Snapshot, Span};

/// How fast omega grows: 20 times for a tenth of the fair time.
const GROWS: f64 = 30.0;
/// No more than this part of the GPUs is in a hurry.
const HURRIES_PART: f64 = 0.2;
/// T1, unless the operator wishes for more.
const HURRY_MOST: f64 = 0.95;
/// omega of a job that is about to pass the horizon: it is to be fast, but whoever is well behind its promise counts more.
const OMEGA_HORIZON: f64 = 20.0;
/// Omega.
const OMEGA_MOST: f64 = 1e4;

/// What is looked at to tell who is in a hurry.
pub(super) struct Hurry<'a> {
    cases: &'a [Case<'a>],
    /// now + tau.
    next_s: f64,
    /// T.
    from: f64,
}

impl<'a> Hurry<'a> {
    /// Of those who are to run; `least` is T0.
    pub fn new(
        snapshot: &Snapshot,
        cases: &'a [Case<'a>],
        round: Span,
        run: impl Iterator<Item = usize>,
        least: f64,
    ) -> Self {
        let mut hurry = Self { cases, next_s: (snapshot.now + round).seconds(), from: least };
        let ratio = |at: usize| (hurry.ratio(at), cases[at].view.gang);
        let most = HURRIES_PART * f64::from(snapshot.cluster.capacity_total().0);
        hurry.from = exceeded_by(most, run.map(ratio).collect()).min(HURRY_MOST).max(least);
        hurry
    }

    /// omega, of a job that is about to pass the horizon or is not.
    pub fn omega(&self, at: usize, is_pressed: bool) -> f64 {
        let least = if is_pressed { OMEGA_HORIZON } else { 1.0 };
        if self.cases[at].sized { grown(self.ratio(at) - self.from, least) } else { least }
    }

    /// rho.
    fn ratio(&self, at: usize) -> f64 {
        let case = &self.cases[at];
        (self.next_s - case.since_s + case.fastest_s()) / (case.promise_s - case.since_s).max(1.0)
    }
}

/// omega of a job that is so far beyond T.
fn grown(beyond: f64, least: f64) -> f64 {
    (GROWS * beyond).exp().clamp(least, OMEGA_MOST)
}

/// The largest ratio that jobs with so many GPUs, or a little more, have or exceed; the least of all if there are fewer.
fn exceeded_by(most: f64, mut ratios: Vec<(f64, u32)>) -> f64 {
    ratios.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut gpus = 0.0;
    let mut least = 0.0;
    for (ratio, gang) in ratios {
        gpus += f64::from(gang);
        least = ratio;
        if gpus > most {
            break;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_about_to_pass_the_horizon_still_counts_more_the_further_it_is_behind_its_promise() {
        assert!(grown(-0.1, 1.0) < grown(0.05, 1.0) && grown(0.05, 1.0) < grown(-0.1, OMEGA_HORIZON));
        assert!(grown(0.05, OMEGA_HORIZON) < grown(0.2, OMEGA_HORIZON));
        assert!(grown(0.2, 1.0) >= grown(0.2, OMEGA_HORIZON) && grown(9.0, 1.0) <= OMEGA_MOST);
    }

    #[test]
    fn it_is_told_by_gpus_what_is_exceeded() {
        let found = |most: &[f64], ratios: &[(f64, u32)]| -> Vec<f64> {
            most.iter().map(|most| exceeded_by(*most, ratios.to_vec())).collect()
        };
        let ratios = [(0.7, 1), (0.9, 2), (1.2, 1), (0.8, 4)];
        assert_eq!(found(&[0.0, 1.0, 3.0, 6.0, 7.0, 9.0], &ratios), [1.2, 0.9, 0.8, 0.8, 0.7, 0.7]);
        assert_eq!(found(&[1.0], &[]), [0.0]);
    }
}
