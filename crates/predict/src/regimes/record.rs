//! Records: what earlier jobs did, how well each voice foretold it, and how far off all of them together were.

use super::outlook::{Case, Earlier, VOICES, cases, expected_modes};
use super::track::Track;
use evenhand_core::{Estimate, JobSpec, Time};
use evenhand_measure::Kind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Tracks that are kept of a kind, and of all kinds together: the last ones.
const KIND_TRACKS_MAX: usize = 16;
const ALL_TRACKS_MAX: usize = 96;

/// Kinds that are kept: of more, those heard of longest ago are forgotten.
const KINDS_MAX: usize = 1024;

/// The parts of its work at which a job that has ended is asked about in hindsight.
const ASKED_AT: [f64; 6] = [0.03, 0.1, 0.25, 0.5, 0.7, 0.88];

/// At each of them it makes a difference whether the job is as fast as it is known to get.
const SITUATIONS: usize = 2 * ASKED_AT.len();

/// How much an old error counts after another job, among all jobs and within a kind.
const ALL_FADE: f64 = 0.98;
const KIND_FADE: f64 = 0.9;

/// Jobs that the errors of all are worth within a kind.
const ALL_WORTH: f64 = 8.0;

/// How sharply voices are told apart: one that is twice as far off counts two to this power times less.
const SHARPNESS: f64 = 8.0;

/// How far off each voice is taken to be before anything is known.
const ERRORS_UNKNOWN: [f64; VOICES] = [0.3, 0.15, 0.2, 0.2, 0.3];

/// How far off the best one is at least.
const ERROR_MIN: f64 = 0.01;

/// Within this, as a logarithm, a speed is the highest one.
const TOP_CLOSE: f64 = 0.02;

/// The least that a voice counts.
const VOICE_MIN: f64 = 0.01;

/// Errors that are kept for each point that is asked about.
const ERRORS_MAX: usize = 64;

/// What all voices together are never surer than: the deviation of a logarithm.
const SPREAD_MIN: f64 = 0.03;

/// A sum of errors that fades, and their number.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Off {
    sum: f64,
    count: f64,
}

impl Off {
    fn add(&mut self, off: f64, fade: f64) {
        self.sum = self.sum * fade + off;
        self.count = self.count * fade + 1.0;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

/// What is remembered of one kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Memory {
    tracks: Vec<Track>,
    offs: [[Off; VOICES]; SITUATIONS],
    heard: Time,
}

/// What is remembered of all jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Records {
    kinds: BTreeMap<Kind, Memory>,
    /// The last tracks of all kinds.
    all: Vec<Track>,
    offs: [[Off; VOICES]; SITUATIONS],
    /// Logarithms of what came over what was expected, in deviations, in the order in which they came.
    errors: [VecDeque<f64>; SITUATIONS],
    /// Whether any job ever changed.
    changes: bool,
}

impl Default for Records {
    fn default() -> Self {
        // Until something is known, errors are taken to be normal.
        let normal = VecDeque::from([-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64]);
        Self {
            kinds: BTreeMap::new(),
            all: Vec::new(),
            offs: Default::default(),
            errors: std::array::from_fn(|_| normal.clone()),
            changes: false,
        }
    }
}

/// What may come of a job, every possibility with its weight among all.
pub(super) struct Belief<'a> {
    pub cases: Vec<Case<'a>>,
    /// Units that are left.
    pub units: Estimate<f64>,
    /// How much each voice counts.
    weights: [f64; VOICES],
    /// In which situation.
    asked: usize,
}

impl Belief<'_> {
    /// How far off each voice was.
    fn off(&self, came: f64) -> [Option<f64>; VOICES] {
        let mut means = [0.0; VOICES];
        for case in &self.cases {
            means[case.voice] += case.weight * case.units;
        }
        std::array::from_fn(|voice| {
            let weight = self.weights[voice];
            (weight > 0.0).then(|| (means[voice] / weight / came).ln().abs())
        })
    }
}

impl Records {
    /// Whether there is nothing to be said of a job but what it declared.
    pub fn is_plain(&self, spec: &JobSpec, own: &Track) -> bool {
        spec.modes.len() < 2 && !self.changes && !own.changes()
    }

    /// What is believed of the rest of a job; hands it on, because it looks into the records.
    pub fn believe<R>(
        &self,
        spec: &JobSpec,
        own: &Track,
        done: f64,
        then: impl FnOnce(&Belief<'_>) -> R,
    ) -> R {
        let memory = self.kinds.get(&Kind::of(spec));
        let modes = expected_modes(spec, own, done);
        let kind = memory.map_or(&[][..], |memory| &memory.tracks);
        let mut cases = cases(own, done, &modes, &Earlier { kind, others: &self.all });
        let top = kind.iter().map(|track| track.top).fold(own.top, f64::max);
        let at_top = -own.slowness_at(done).ln() > top - TOP_CLOSE;
        let asked = asked(done / own.total) + if at_top { ASKED_AT.len() } else { 0 };
        let weights = self.weights(memory, asked, &cases);
        for case in &mut cases {
            case.weight *= weights[case.voice];
        }
        // Nothing is slower than all that may come, or faster than all the rest at its highest speed.
        let (rest, now) = (own.total - done, own.slowness_at(done));
        let bounds = cases.iter().fold((rest * (-top).exp(), rest * now.max(1.0)), |(least, most), case| {
            (case.units.min(least), case.units.max(most))
        });
        let units = self.estimate(&cases, asked, bounds);
        then(&Belief { cases, units, weights, asked })
    }

    /// How much each voice counts that says something.
    fn weights(&self, memory: Option<&Memory>, asked: usize, cases: &[Case<'_>]) -> [f64; VOICES] {
        let mut speaks = [false; VOICES];
        for case in cases {
            speaks[case.voice] = true;
        }
        let of_kind = memory.map_or([Off::default(); VOICES], |memory| memory.offs[asked]);
        let merit = |voice: usize| {
            let all = self.offs[asked][voice].mean().unwrap_or(ERRORS_UNKNOWN[voice]);
            let own = of_kind[voice];
            // The logarithm of a Laplace density of this scale, on average, but for a constant.
            -SHARPNESS * ((own.sum + ALL_WORTH * all) / (own.count + ALL_WORTH)).max(ERROR_MIN).ln()
        };
        let merits: [f64; VOICES] = std::array::from_fn(merit);
        let speaking = || (0..VOICES).filter(|voice| speaks[*voice]);
        let best = speaking().map(|voice| merits[voice]).fold(f64::NEG_INFINITY, f64::max);
        let raw: [f64; VOICES] = std::array::from_fn(|voice| {
            if speaks[voice] { (merits[voice] - best).exp().max(VOICE_MIN) } else { 0.0 }
        });
        let sum: f64 = raw.iter().sum();
        raw.map(|weight| weight / sum)
    }

    /// The expected value, and an interval as wide as it had to be for others.
    fn estimate(&self, cases: &[Case<'_>], asked: usize, (least, most): (f64, f64)) -> Estimate<f64> {
        let (mean, spread) = moments(cases);
        let mut errors: Vec<f64> = self.errors[asked].iter().copied().collect();
        errors.sort_by(f64::total_cmp);
        // Of few errors, the next one has the more room outside.
        let tail = (0.1 - 1.0 / (errors.len() + 1) as f64).max(0.0);
        let at = |part: f64| {
            let place = part * (errors.len() - 1) as f64;
            let (low, rest) = (place.floor() as usize, place.fract());
            let high = (low + 1).min(errors.len() - 1);
            (errors[low] * (1.0 - rest) + errors[high] * rest) * spread
        };
        let low = mean * at(tail).min(0.0).exp();
        let high = mean * at(1.0 - tail).max(0.0).exp();
        let (least, most) = (least * (-SPREAD_MIN).exp(), most * SPREAD_MIN.exp());
        Estimate { mean, low: low.max(least.min(mean)), high: high.min(most.max(mean)) }
    }

    /// Takes in how a job really went, having asked everybody about it in hindsight.
    pub fn learn(&mut self, now: Time, spec: &JobSpec, own: Track) {
        self.changes |= own.changes();
        let plain = self.is_plain(spec, &own);
        let kind = Kind::of(spec);
        if !plain {
            for part in ASKED_AT {
                self.ask(&kind, spec, &own, part * own.total);
            }
        }
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&kind) {
            let oldest =
                self.kinds.iter().min_by_key(|(_, memory)| memory.heard).map(|(kind, _)| kind.clone());
            oldest.and_then(|oldest| self.kinds.remove(&oldest));
        }
        keep(&mut self.all, own.clone(), ALL_TRACKS_MAX);
        let memory = self.kinds.entry(kind).or_default();
        memory.heard = now;
        keep(&mut memory.tracks, own, KIND_TRACKS_MAX);
    }

    /// What everybody would have said of a job after `done` steps, against what came.
    fn ask(&mut self, kind: &Kind, spec: &JobSpec, own: &Track, done: f64) {
        let came = own.units(done, own.total).max(1e-9);
        let (offs, error, asked) = self.believe(spec, &own.until(done), done, |belief| {
            let spread = moments(&belief.cases).1;
            (belief.off(came), (came / belief.units.mean).ln() / spread, belief.asked)
        });
        let memory = self.kinds.entry(kind.clone()).or_default();
        for (voice, off) in offs.iter().enumerate() {
            if let Some(off) = off {
                self.offs[asked][voice].add(*off, ALL_FADE);
                memory.offs[asked][voice].add(*off, KIND_FADE);
            }
        }
        let errors = &mut self.errors[asked];
        errors.push_back(error);
        if errors.len() > ERRORS_MAX {
            errors.pop_front();
        }
    }
}

/// The mean of what is left, and the deviation of its logarithm.
fn moments(cases: &[Case<'_>]) -> (f64, f64) {
    let mean: f64 = cases.iter().map(|case| case.weight * case.units).sum();
    let square = |case: &Case<'_>| case.weight * (case.units / mean).ln().powi(2);
    let variance: f64 = cases.iter().map(square).sum();
    (mean, variance.sqrt() + SPREAD_MIN)
}

/// The point in hindsight that is nearest to this part of the work.
fn asked(part: f64) -> usize {
    ASKED_AT.windows(2).filter(|pair| part > f64::midpoint(pair[0], pair[1])).count()
}

fn keep(tracks: &mut Vec<Track>, track: Track, most: usize) {
    if tracks.len() >= most {
        tracks.remove(0);
    }
    tracks.push(track);
}
