//! How long a job may have to wait until it is looked at again, and when that has to be.
//!
//! ```text
//! tau_i = tau                                                                              at rounds alone
//! tau_i = min( tau , h tau + b_i + (1 - min_j r_ij / r_i) tau / 2 )    where somebody may be interrupted at any time
//! b_i   = restart_i if job i has run before, min( restart_i , h tau ) if not
//! ```
//!
//! tau is the length of a round, r_ij the speed of job i on GPU model j and r_i that on the GPUs of the cluster on average. Where only rounds count, whoever would be late by
//! waiting for the next one has to start now: up to a round too early. Otherwise the policy asks to be heard again when the first of those who wait is about to
//! be at risk; what remains is how often it asks, the start itself, and that a job may find itself on its slowest GPU model, from which it moves at rounds only. Half
//! a round of that is enough, of 0, a half and 1 tried. Whoever never ran starts at once, but where decisions crowd it is as well to look a little sooner: 1 % of the
//! mean with 1,000 GPUs.
//!
//! While somebody asks for more than a third of all GPUs, h is 1: when its time has come, it takes them from many who run with nothing to lose.

use super::case::Case;
use evenhand_core::{Snapshot, Span};

/// h: how far ahead is looked, as a part of a round, if one can ask to decide again.
const LOOKS_AHEAD: f64 = 0.05;
/// Not less.
const LOOKS_AHEAD_S: f64 = 5.0;
/// Of more than one in so many GPUs nobody can be out of the way.
const HUGE_PART: f64 = 3.0;
/// How much of a round a job is expected to spend on its slowest GPU model.
const ON_THE_SLOWEST: f64 = 0.5;

/// How far ahead is looked.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    /// tau.
    round_s: f64,
    /// h tau; nothing if rounds are all there is.
    look_s: Option<f64>,
    /// Whether there are several GPU models.
    several: bool,
}

impl Ahead {
    /// `anytime`: whether jobs may be interrupted between rounds. Where the world ends rounds itself, there is nothing in between.
    pub fn new(snapshot: &Snapshot, cases: &[Case<'_>], round: Span, anytime: bool) -> Self {
        let round_s = round.seconds();
        let gpus = f64::from(snapshot.cluster.capacity_total().0);
        let is_huge = |case: &Case<'_>| f64::from(case.view.gang) > gpus / HUGE_PART;
        let look_s =
            if cases.iter().any(is_huge) { round_s } else { (LOOKS_AHEAD * round_s).max(LOOKS_AHEAD_S) };
        let asks = anytime && snapshot.next_round > snapshot.now;
        Self {
            round_s,
            look_s: asks.then(|| look_s.min(round_s)),
            several: snapshot.cluster.models.len() > 1,
        }
    }

    /// Whether any GPU will do for any job.
    pub fn is_one_model(self) -> bool {
        !self.several
    }

    /// Before this many seconds nobody looks at anything.
    pub fn look_s(self) -> f64 {
        self.look_s.unwrap_or(self.round_s)
    }

    /// Whoever takes no longer than this is in nobody's way: h tau, however far is looked ahead for huge gangs.
    pub fn short_s(self) -> f64 {
        LOOKS_AHEAD * self.round_s
    }

    /// tau_i: what a job that does not start now may lose.
    pub fn wait_s(self, case: &Case<'_>) -> f64 {
        let Some(look_s) = self.look_s else { return self.round_s };
        let runs_on = case.view.rates.iter().copied().filter(|rate| *rate > 0.0);
        let slowest = runs_on.fold(case.pace, f64::min);
        let slow_s = ON_THE_SLOWEST * self.round_s * (1.0 - slowest / case.pace);
        let start_s = case.start_s.max(case.restart_s.min(look_s));
        (look_s + start_s + slow_s).min(self.round_s)
    }

    /// For how long GPUs are lent to a job that starts now: until somebody else can have them. On several models that is the next round, since only then whoever needs them
    /// can be given those that suit it.
    pub fn lent_s(self, case: &Case<'_>) -> f64 {
        if self.several { self.round_s } else { self.wait_s(case) }
    }

    /// When to decide again, if somebody comes to be at risk in so many seconds: not so soon that decisions crowd, since whoever it is has been
    /// given as much time as it is looked ahead.
    pub fn again_in(self, seconds: f64) -> Option<Span> {
        let look_s = self.look_s?;
        (seconds < self.round_s).then(|| Span::from_seconds(seconds.max(look_s / 2.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_when_somebody_is_at_risk_but_not_all_the_time_and_not_where_it_would_not_be_heard() {
        let asks = Ahead { round_s: 360.0, look_s: Some(18.0), several: false };
        let again = |seconds: f64| asks.again_in(seconds).map(Span::seconds);
        assert_eq!([again(100.0), again(2.0), again(-5.0)], [Some(100.0), Some(9.0), Some(9.0)]);
        // The next round comes first.
        assert_eq!([again(360.0), again(f64::INFINITY)], [None, None]);
        let rounds = Ahead { look_s: None, ..asks };
        assert_eq!((rounds.again_in(100.0), rounds.look_s()), (None, 360.0));
    }
}
