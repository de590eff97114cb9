//! Tracks: how fast a job was over its work, as far as it is known.

use evenhand_core::{Job, JobSpec, Regime};
use serde::{Deserialize, Serialize};

/// Changes that are kept of a track; later ones count as the last.
const CHANGES_MAX: usize = 24;

/// A regime of a track.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Leg {
    /// Steps done when it began.
    pub from: f64,
    /// One over its speed, relative to the declared one.
    pub slowness: f64,
    pub batch: u32,
}

/// The regimes of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Track {
    /// In the order of work, the first from the start.
    legs: Vec<Leg>,
    /// Steps in all, as declared.
    pub total: f64,
    /// Declared batch sizes, one bit for each place in a hash.
    modes: u64,
    /// The logarithm of the highest speed, relative to the declared one, that was declared or seen.
    pub top: f64,
}

impl Track {
    /// What a job has shown until now; `None` if its work is unknown.
    pub fn of(job: &Job) -> Option<Self> {
        let total = job.spec.work?.steps();
        let seen = job.past.iter().map(|span| span.regime).chain([job.regime]);
        let mut legs: Vec<Leg> = Vec::with_capacity(job.past.len() + 1);
        for Regime { batch, from, speed } in seen.take(CHANGES_MAX) {
            let slowness = if speed.get() > 0.0 { 1.0 / speed.get() } else { 1.0 };
            let from = if legs.is_empty() { 0.0 } else { from.steps() };
            legs.push(Leg { from, slowness, batch });
        }
        let declared = job.spec.modes.iter().map(|mode| mode.speed.get());
        let seen = legs.iter().map(|leg| 1.0 / leg.slowness);
        let top = declared.chain(seen).fold(1.0, f64::max).ln();
        (total > 0.0).then(|| Self { legs, total, modes: modes(&job.spec), top })
    }

    /// The regimes.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Whether the regime ever changed.
    pub fn changes(&self) -> bool {
        self.legs.len() > 1
    }

    /// What was known of it after so many steps.
    pub fn until(&self, done: f64) -> Self {
        let known = self.legs.iter().filter(|leg| leg.from <= done).copied();
        Self { legs: known.collect(), ..*self }
    }

    /// The slowness after so many steps.
    pub fn slowness_at(&self, at: f64) -> f64 {
        self.legs.iter().rev().find(|leg| leg.from <= at).map_or(1.0, |leg| leg.slowness)
    }

    /// Steps between two points, each times its slowness. After the last regime that is known, it goes on.
    pub fn units(&self, from: f64, end: f64) -> f64 {
        self.units_as(from, end, 1.0)
    }

    /// The same with every slowness to this power: for a job whose speeds differ more, or less.
    pub fn units_as(&self, from: f64, end: f64, power: f64) -> f64 {
        let ends = self.legs.iter().skip(1).map(|leg| leg.from).chain([f64::INFINITY]);
        let part = |(leg, until): (&Leg, f64)| match (until.min(end) - leg.from.max(from)).max(0.0) {
            steps if steps > 0.0 => steps * raised(leg.slowness, power),
            _ => 0.0,
        };
        self.legs.iter().zip(ends).map(part).sum()
    }

    /// How unlike another track this one was until `done`, where `scale` steps there are one here and slowness is that to a
    /// power: the mean difference of the logarithms of speed until now, and that at present.
    pub fn distance(&self, other: &Self, (scale, power): (f64, f64), done: f64) -> (f64, f64) {
        let difference = |one: f64, other: f64| (one.ln() - power * other.ln()).abs();
        let (mut sum, mut at) = (0.0, 0.0);
        while at < done {
            let next = |legs: &[Leg], scale: f64| {
                let edges = legs.iter().map(|leg| leg.from / scale);
                edges.filter(|edge| *edge > at + 1e-9).fold(done, f64::min)
            };
            let end = next(&self.legs, 1.0).min(next(&other.legs, scale));
            sum += (end - at) * difference(self.slowness_at(at), other.slowness_at(at * scale));
            at = end;
        }
        let now = difference(self.slowness_at(done), other.slowness_at(done * scale));
        (if done > 0.0 { sum / done } else { 0.0 }, now)
    }

    /// How alike the numbers of declared batch sizes of two jobs are; 1 if one declares nothing.
    pub fn likeness_in_number(&self, other: &Self) -> f64 {
        let (own, theirs) = (self.modes.count_ones(), other.modes.count_ones());
        if own == 0 || theirs == 0 { 1.0 } else { f64::from(own.min(theirs)) / f64::from(own.max(theirs)) }
    }

    /// The part of declared batch sizes that two jobs have in common; 1 if one declares nothing.
    pub fn likeness(&self, other: &Self) -> f64 {
        if self.modes == 0 || other.modes == 0 {
            return 1.0;
        }
        f64::from((self.modes & other.modes).count_ones())
            / f64::from((self.modes | other.modes).count_ones())
    }
}

fn raised(slowness: f64, power: f64) -> f64 {
    if (power - 1.0).abs() < 1e-9 { slowness } else { slowness.powf(power) }
}

fn modes(spec: &JobSpec) -> u64 {
    let bit = |batch: u32| 1 << (u64::from(batch).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
    spec.modes.iter().fold(0, |bits, mode| bits | bit(mode.batch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(legs: &[(f64, f64)]) -> Track {
        let leg = |(from, speed): &(f64, f64)| Leg { from: *from, slowness: 1.0 / speed, batch: 0 };
        Track { legs: legs.iter().map(leg).collect(), total: 100.0, modes: 0, top: 2.0_f64.ln() }
    }

    #[test]
    fn a_track_adds_up_and_is_compared_at_the_same_point() {
        let (one, other) = (track(&[(0.0, 1.0), (50.0, 2.0)]), track(&[(0.0, 1.0), (20.0, 2.0)]));
        assert!((one.units(0.0, 100.0) - 75.0).abs() < 1e-9 && (one.units(60.0, 100.0) - 20.0).abs() < 1e-9);
        assert_eq!(one.until(40.0).legs().len(), 1);
        let (mean, now) = one.distance(&other, (1.0, 1.0), 40.0);
        assert!((mean - 0.5 * 2.0_f64.ln()).abs() < 1e-9 && (now - 2.0_f64.ln()).abs() < 1e-9);
        let (mean, now) = one.distance(&other, (0.4, 1.0), 100.0);
        assert!(mean.abs() < 1e-9 && now.abs() < 1e-9, "at the same part of their work");
    }
}
