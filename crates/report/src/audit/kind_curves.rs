//! What each kind of jobs asked for and held, and what GPUs were within its reach, over time.
//!
//! Whether a division is efficient, and what it could have reached at the most, is asked of each stretch of the run by itself.
//! Over the whole run, means would let jobs use GPUs of hours in which they were not there.

use super::capacity::Capacity;
use crate::book::Book;
use crate::series::{Series, Step, thin};
use evenhand_core::{GpuCount, MODELS_MAX, ModelIndex, Time};

/// Stretches that are looked at, at most.
const STRETCHES_MAX: usize = 24;

/// Tracks of a kind: what it asks for, and what it holds of each model.
const TRACKS: usize = 1 + MODELS_MAX;

/// Curves of all kinds, by number.
#[derive(Clone, Debug, Default)]
pub struct KindCurves {
    /// First the GPUs within reach of each model, then the tracks of each kind.
    tracks: Series,
}

/// One stretch of the run: means over it.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// How long it is, in seconds.
    pub length_s: f64,
    /// GPUs within reach, by model.
    pub within: Vec<f64>,
    /// Of each kind: GPUs it asked for, and GPUs it held by model.
    pub kinds: Vec<(f64, Vec<f64>)>,
}

impl KindCurves {
    /// Time passes with this capacity.
    pub fn elapse(&mut self, book: &Book, now: &Capacity, from: Time, to: Time) {
        let within = book.machines.models_up().map(|(model, _)| (usize::from(model.0), now.within[model]));
        self.tracks.add(from, to, &within);
    }

    /// A kind asked for so much from then until then.
    pub fn ask(&mut self, kind: usize, gpus: u64, from: Time, to: Time) {
        self.tracks.add(from, to, &[(track(kind), gpus as f64)].into_iter());
    }

    /// A lease of a kind held so many GPUs of each model from then until then.
    pub fn hold(&mut self, kind: usize, models: &[(ModelIndex, GpuCount)], from: Time, to: Time) {
        let held =
            models.iter().map(|(model, gpus)| (track(kind) + 1 + usize::from(model.0), f64::from(gpus.0)));
        self.tracks.add(from, to, &held);
    }

    /// The stretches of the run, for these kinds and these models.
    pub fn stretches(&self, kinds: &[usize], models: &[ModelIndex]) -> Vec<Stretch> {
        let steps = |track: usize| thin(&self.tracks.steps(track), STRETCHES_MAX);
        let by_model = |first: usize| -> Vec<Vec<Step>> {
            models.iter().map(|model| steps(first + usize::from(model.0))).collect()
        };
        let within = by_model(0);
        let asked: Vec<Vec<Step>> = kinds.iter().map(|kind| steps(track(*kind))).collect();
        let held: Vec<Vec<Vec<Step>>> = kinds.iter().map(|kind| by_model(track(*kind) + 1)).collect();
        let means = |curves: &[Vec<Step>], at: usize| curves.iter().map(|curve| curve[at].mean).collect();
        let length = |at: usize| within.first().map_or(0.0, |curve| curve[at].to_s - curve[at].from_s);
        let count = within.first().map_or(0, Vec::len);
        let stretch = |at: usize| Stretch {
            length_s: length(at),
            within: means(&within, at),
            kinds: asked.iter().zip(&held).map(|(asked, held)| (asked[at].mean, means(held, at))).collect(),
        };
        (0..count).map(stretch).collect()
    }
}

fn track(kind: usize) -> usize {
    MODELS_MAX + TRACKS * kind
}
