//! How often jobs ended where they could have: a curve that counts those that go on as well as those that are over.
//!
//! ```text
//! bin       sizes within a factor of 2^(1/4)
//! h_b       of the jobs that came as far as bin b, the part that ended in it          (ended + w h'_b) / (ended + passed + w)
//! odds_b    h_b prod_{a<b} (1 - h_a)
//! ```
//!
//! A mean over jobs that are over would forget the long ones that still run; here they count in every bin they have passed. h' is what is
//! believed without these jobs: what holds for more of them, or a prior. What is old fades.

use evenhand_core::EndPoint;
use serde::{Deserialize, Serialize};

/// Bins for every doubling.
const PER_DOUBLING: f64 = 4.0;
/// Bins below and above one unit.
const BELOW: usize = 40;
pub(super) const BINS: usize = BELOW + 100;
/// How much an old count is worth after another one in its bin.
const FADE: f64 = 0.99;
/// Odds that are not worth telling.
const ODDS_MIN: f64 = 1e-5;
/// Within this, jobs end where they were said to.
const EXACT: f64 = 1e-9;

/// The bin of a size, in units.
pub(super) fn bin(size: f64) -> usize {
    let place = (size.max(1e-9).log2() * PER_DOUBLING).round() + BELOW as f64;
    place.clamp(0.0, (BINS - 1) as f64) as usize
}

/// The size in the middle of a bin, in units.
fn middle(bin: usize) -> f64 {
    ((bin as f64 - BELOW as f64) / PER_DOUBLING).exp2()
}

/// What is believed of jobs that nothing was seen of yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Prior {
    /// They end where they were said to, as four jobs would have shown.
    AsDeclared,
    /// A job that has come so far comes twice as far in one of two cases, whatever its size.
    Unknown,
}

/// The hazard of a prior and how many jobs it is worth.
fn prior(prior: Prior, bin: usize) -> (f64, f64) {
    /// 1 - 2^(-1/4).
    const HALVES: f64 = 0.159_103_584_746_285_5;
    match prior {
        Prior::AsDeclared if bin == BELOW => (1.0, 4.0),
        Prior::AsDeclared if bin < BELOW => (0.0, 4.0),
        Prior::AsDeclared | Prior::Unknown => (HALVES, 1.0),
    }
}

/// Jobs that came as far as a bin.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Count {
    ended: f64,
    passed: f64,
    /// The sum of the sizes of those that ended.
    sizes: f64,
}

/// What was seen of some jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hazards {
    counts: Vec<Count>,
    /// Jobs that ended, faded.
    pub ended: f64,
    /// The curve that was last told.
    told: Vec<f64>,
}

impl Default for Hazards {
    fn default() -> Self {
        Self { counts: vec![Count::default(); BINS], ended: 0.0, told: Vec::new() }
    }
}

impl Hazards {
    /// A job went through these bins.
    pub fn pass(&mut self, bins: std::ops::Range<usize>) {
        for count in &mut self.counts[bins] {
            *count = count.faded();
            count.passed += 1.0;
        }
    }

    /// A job of this size is over.
    pub fn end(&mut self, size: f64) {
        let count = &mut self.counts[bin(size)];
        *count = count.faded();
        count.ended += 1.0;
        count.sizes += size;
        self.ended = FADE * self.ended + 1.0;
    }

    /// Hazards of these jobs, where `wider` is believed without them and is worth so many.
    pub fn hazards(&self, wider: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let hazard = |(count, (hazard, worth)): (&Count, &(f64, f64))| {
            (count.ended + worth * hazard) / (count.ended + count.passed + worth)
        };
        let worth = |count: &Count, worth: f64| count.ended + count.passed + worth;
        let both = self.counts.iter().zip(wider);
        both.map(|both| (hazard(both), worth(both.0, both.1.1))).collect()
    }

    /// Where those who ended in a bin did so, on average.
    fn place(&self, bin: usize) -> Option<f64> {
        let count = &self.counts[bin];
        (count.ended > 0.0).then(|| count.sizes / count.ended)
    }

    /// Whether the curve has moved by more than this since it was last told; then it counts as told.
    pub fn has_moved(&mut self, hazards: &[(f64, f64)], most: f64) -> bool {
        let odds = odds(hazards);
        let (mut sum, mut apart) = (0.0, f64::from(u8::from(self.told.is_empty())));
        for (new, old) in odds.iter().zip(&self.told) {
            sum += new - old;
            apart = f64::max(apart, f64::abs(sum));
        }
        let moved = apart > most;
        if moved {
            self.told = odds;
        }
        moved
    }
}

impl Count {
    fn faded(self) -> Self {
        Self { ended: FADE * self.ended, passed: FADE * self.passed, sizes: FADE * self.sizes }
    }
}

/// The hazards of a prior, and what they are worth. Of sizes that nobody declares none is expected below all that were seen: of all that is possible, the
/// least would be believed first.
pub(super) fn priors(which: Prior, seen: &Hazards) -> Vec<(f64, f64)> {
    let first = seen.counts.iter().position(|count| count.ended > 0.0).unwrap_or(0);
    let prior = |bin: usize| {
        let (hazard, worth) = prior(which, bin);
        let is_below = which == Prior::Unknown && bin < first;
        (if is_below { 0.0 } else { hazard }, worth)
    };
    (0..BINS).map(prior).collect()
}

fn odds(hazards: &[(f64, f64)]) -> Vec<f64> {
    let mut left = 1.0;
    let odds = |(hazard, _): &(f64, f64)| {
        let odds = left * hazard;
        left -= odds;
        odds
    };
    hazards.iter().map(odds).collect()
}

/// The ends that these hazards mean; `all` says where within their bins jobs ended.
pub(super) fn points(hazards: &[(f64, f64)], all: &Hazards) -> Vec<EndPoint> {
    let place = |bin: usize| {
        let place = all.place(bin).unwrap_or_else(|| middle(bin));
        if (place - 1.0).abs() < EXACT { 1.0 } else { place }
    };
    let told = odds(hazards).into_iter().enumerate().filter(|(_, odds)| *odds > ODDS_MIN);
    told.map(|(bin, odds)| EndPoint { at: place(bin), odds }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_go_on_count_where_they_have_been() {
        let mut hazards = Hazards::default();
        for _ in 0..200 {
            // Half of them end after one unit; the others have come to four and are still there.
            hazards.pass(0..bin(1.0));
            hazards.end(1.0);
            hazards.pass(0..bin(4.0));
        }
        let (hazard, _) = hazards.hazards(&priors(Prior::Unknown, &hazards))[bin(1.0)];
        assert!((hazard - 0.5).abs() < 0.01, "{hazard}");
        let found = points(&hazards.hazards(&priors(Prior::Unknown, &hazards)), &hazards);
        let later: f64 = found.iter().filter(|point| point.at > 1.5).map(|point| point.odds).sum();
        assert!((later - 0.5).abs() < 0.05, "{later}");
    }

    #[test]
    fn declarations_that_hold_are_certain_and_those_that_do_not_are_not() {
        let mut hazards = Hazards::default();
        let told = |hazards: &Hazards| points(&hazards.hazards(&priors(Prior::AsDeclared, hazards)), hazards);
        assert_eq!(told(&hazards), [EndPoint { at: 1.0, odds: 1.0 }]);
        for _ in 0..50 {
            hazards.pass(0..bin(1.0));
            hazards.end(1.0);
        }
        assert_eq!(told(&hazards), [EndPoint { at: 1.0, odds: 1.0 }]);
        hazards.pass(0..bin(0.5));
        hazards.end(0.5);
        assert!(told(&hazards).len() > 1);
    }
}
