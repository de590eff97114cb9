//! Outlooks: what may come of a job, each possibility with its weight.
//!
//! ```text
//! steady       nothing changes any more
//! dirichlet    declared batch sizes share the epochs that are left, as published
//! by part      as each earlier job of the kind went on from the same part of its work
//! by work      as each earlier job of the kind went on from the same amount of work
//! by others    as earlier jobs of other kinds went on from the same part of theirs
//! ```
//!
//! Earlier jobs count by how well what they did until that point agrees with what this one did.

use super::track::Track;
use crate::dirichlet::Expected;
use evenhand_core::{JobSpec, Ratio};

/// Who has an outlook.
pub(super) const VOICES: usize = 5;

/// How much a difference of the logarithm of speed over the past counts against an earlier job.
const PAST_COUNTS: f64 = 6.0;

/// How much such a difference at present does.
const PRESENT_COUNTS: f64 = 2.0;

/// How much other declared batch sizes do.
const MODES_COUNT: f64 = 4.0;

/// How a job may go on.
#[derive(Clone, Copy)]
pub(super) enum Course<'a> {
    /// At this slowness.
    Steady(f64),
    /// Through the rest of these modes.
    Modes(&'a [(f64, f64)]),
    /// Like this track, of which so many steps are one of the job's, and whose slowness is its slowness to this power.
    Like(&'a Track, (f64, f64)),
}

impl Course<'_> {
    /// Steps between two points times their slowness; `done` is where the job is now.
    pub fn units(&self, done: f64, from: f64, end: f64) -> f64 {
        match self {
            Course::Steady(slowness) => (end - from) * slowness,
            Course::Like(track, (scale, power)) => track.units_as(from * scale, end * scale, *power) / scale,
            Course::Modes(stretches) => {
                let (mut at, mut units, mut last) = (done, 0.0, 1.0);
                for (steps, slowness) in *stretches {
                    units += ((at + steps).min(end) - at.max(from)).max(0.0) * slowness;
                    at += steps;
                    last = *slowness;
                }
                units + (end - at.max(from)).max(0.0) * last
            }
        }
    }
}

/// A possibility of one voice, the units that are left if it comes to pass, and its weight among those of the voice.
pub(super) struct Case<'a> {
    pub voice: usize,
    pub course: Course<'a>,
    pub units: f64,
    pub weight: f64,
}

/// What earlier jobs a voice may look at.
pub(super) struct Earlier<'a> {
    pub kind: &'a [Track],
    pub others: &'a [Track],
}

/// The modes that are expected still, as stretches of steps and slowness that fill what is left.
pub(super) fn expected_modes(spec: &JobSpec, own: &Track, done: f64) -> Vec<(f64, f64)> {
    let legs = own.legs().iter().map(|leg| (leg.from, leg.batch));
    let Some(expected) = Expected::of(spec, done, legs) else { return Vec::new() };
    let steps: f64 = expected.stretches(spec).map(|(steps, _)| steps).sum();
    let scale = (own.total - done) / steps.max(1e-9);
    // Only how the modes share the rest counts here, not how the formula rounds it to whole epochs.
    let stretch = |(steps, speed): (f64, Ratio)| (steps * scale, 1.0 / speed.get().max(1e-9));
    expected.stretches(spec).map(stretch).collect()
}

/// All that may come of a job after `done` steps.
pub(super) fn cases<'a>(
    own: &Track,
    done: f64,
    modes: &'a [(f64, f64)],
    earlier: &Earlier<'a>,
) -> Vec<Case<'a>> {
    let now = own.slowness_at(done);
    let mut cases = Vec::with_capacity(2 + 2 * earlier.kind.len() + earlier.others.len());
    let mut add = |voice: usize, course: Course<'a>, weight: f64| {
        let units = course.units(done, done, own.total).max(1e-9);
        cases.push(Case { voice, course, units, weight });
    };
    add(0, Course::Steady(now), 1.0);
    if !modes.is_empty() {
        add(1, Course::Modes(modes), 1.0);
    }
    let mut like = |voice: usize, track: &'a Track, (scale, power): (f64, f64), likeness: f64| {
        let (past, present) = own.distance(track, (scale, power), done);
        let unlike = PAST_COUNTS * past + PRESENT_COUNTS * present + MODES_COUNT * (1.0 - likeness);
        add(voice, Course::Like(track, (scale, power)), (-unlike).exp());
    };
    for track in earlier.kind {
        like(2, track, (track.total / own.total, 1.0), own.likeness(track));
        like(3, track, (1.0, 1.0), own.likeness(track));
    }
    let top = earlier.kind.iter().map(|track| track.top).fold(own.top, f64::max);
    for track in earlier.others {
        // Their speeds on our scale: from the first to the highest is the same way for everybody.
        let power = if top > 0.0 && track.top > 0.0 { top / track.top } else { 1.0 };
        like(4, track, (track.total / own.total, power), own.likeness_in_number(track));
    }
    let mut sums = [0.0; VOICES];
    for case in &cases {
        sums[case.voice] += case.weight;
    }
    for case in &mut cases {
        case.weight /= sums[case.voice].max(1e-300);
    }
    cases
}
