//! Fits a model file to profiles.

use crate::boost::{Options, Table, boosted};
use crate::dataset::{Dataset, Profile};
use crate::folds::{by_name, held_out};
use crate::study::demand;
use evenhand_core::SharingMode;
use evenhand_predict::learned::{
    Learned, MemoryModel, SlowdownModel, Told, Trees, VERSION, feature_names, pair_features,
};

/// The share of jobs that the bound of memory covers.
const MEMORY_COVERED: f64 = 0.95;
/// The share of jobs that the bound of slowdown covers.
const SLOWDOWN_COVERED: f64 = 0.9;

/// Ratios of memory beyond this logarithm are somebody's workspace, which nothing in a graph foretells.
const FAR_OFF: f64 = 0.5;

/// How trees over graphs are grown.
pub fn graph_options() -> Options {
    Options { trees: 150, depth: 3, ..Options::default() }
}

/// How trees over what physics misses of memory are grown: few and shallow.
fn memory_options() -> Options {
    Options { trees: 60, depth: 2, leaf_min: 6, ..Options::default() }
}

/// How trees over pairs are grown: nobody is faster because others ask for more.
pub fn pair_options() -> Options {
    let monotone = vec![0, 0, 0, 0, 1, 1, 1, 1, 1];
    Options { trees: 150, depth: 3, features: 0.8, monotone, ..Options::default() }
}

/// Fits everything.
pub fn fit(data: &Dataset, gpu: &str) -> Learned {
    let time_slicing = slowdown(data, SharingMode::TimeSlicing);
    Learned { time_slicing, mps: slowdown(data, SharingMode::Mps), ..alone(data, gpu) }
}

/// Fits what is foretold of a job alone.
pub fn alone(data: &Dataset, gpu: &str) -> Learned {
    let told: Vec<&Profile> = data.profiles.iter().filter(|profile| !profile.has_gaps).collect();
    let grown = |target: &dyn Fn(&Profile) -> f64| trees_of(&told, target, &graph_options());
    Learned {
        version: VERSION,
        gpu: gpu.to_owned(),
        trained_on: data.digest.clone(),
        features: feature_names(),
        usual: usual(&told),
        step: grown(&|profile| (profile.seen.step_ms / profile.told.step_ms).ln()),
        utilisation: grown(&|profile| profile.seen.utilisation.ln_1p()),
        sm: grown(&|profile| profile.seen.sm.ln_1p()),
        tensor: grown(&|profile| profile.seen.tensor.ln_1p()),
        bandwidth: grown(&|profile| profile.seen.dram.ln_1p()),
        memory: memory(&data.profiles.iter().collect::<Vec<_>>()),
        ..Learned::default()
    }
}

fn trees_of(profiles: &[&Profile], target: &dyn Fn(&Profile) -> f64, options: &Options) -> Trees {
    let rows: Vec<Vec<f64>> = profiles.iter().map(|profile| profile.told.features.clone()).collect();
    let targets: Vec<f64> = profiles.iter().map(|profile| target(profile)).collect();
    boosted(Table { rows: &rows, targets: &targets }, options)
}

/// The middle of every feature.
fn usual(profiles: &[&Profile]) -> Vec<f64> {
    let middle = |at: usize| {
        let mut values: Vec<f64> = profiles.iter().map(|profile| profile.told.features[at]).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    (0..feature_names().len()).map(middle).collect()
}

/// Memory without its bound.
fn memory_mean(profiles: &[&Profile]) -> MemoryModel {
    let (alpha, delta_mb) = saved_and_besides(profiles);
    let prior = MemoryModel { alpha, delta_mb, trees: Trees::default(), upper: 1.0 };
    let off = |profile: &Profile| {
        let ratio = profile.seen.memory_mb / prior.prior_mb(&profile.told);
        ratio.ln().clamp(-FAR_OFF, FAR_OFF)
    };
    let trees = trees_of(profiles, &off, &memory_options());
    MemoryModel { trees, ..prior }
}

/// Memory, with the bound that what is held out keeps: whole families at a time, as unknown ones will come.
pub fn memory(profiles: &[&Profile]) -> MemoryModel {
    let families = by_name(profiles.iter().map(|profile| profile.family.as_str()));
    let groups: Vec<Vec<usize>> = families.into_iter().map(|family| vec![family]).collect();
    let fit = |kept: &[usize]| memory_mean(&kept.iter().map(|at| profiles[*at]).collect::<Vec<_>>());
    let told = held_out(&groups, fit, |model, at| memory_mb(model, &profiles[at].told));
    let over = profiles.iter().zip(told).map(|(profile, told)| profile.seen.memory_mb / told);
    MemoryModel { upper: covering(over, MEMORY_COVERED).max(1.0), ..memory_mean(profiles) }
}

/// What a model says of memory.
pub fn memory_mb(model: &MemoryModel, told: &Told) -> f64 {
    model.prior_mb(told) * model.trees.value(&told.features).exp()
}

/// alpha and delta by the least error of logarithms, on a grid.
fn saved_and_besides(profiles: &[&Profile]) -> (f64, f64) {
    let error = |alpha: f64, delta_mb: f64| {
        let model = MemoryModel { alpha, delta_mb, ..MemoryModel::default() };
        let off = |profile: &&Profile| (profile.seen.memory_mb / model.prior_mb(&profile.told)).ln().abs();
        profiles.iter().map(off).sum::<f64>()
    };
    let grid = (2..=40)
        .flat_map(|alpha| (0..=40).map(move |delta| (f64::from(alpha) * 0.05, f64::from(delta) * 25.0)));
    grid.min_by(|a, b| error(a.0, a.1).total_cmp(&error(b.0, b.1))).unwrap_or((1.0, 0.0))
}

/// The quantile that covers this part of what is to come (split conformal: one more than there are).
pub fn covering(values: impl Iterator<Item = f64>, part: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rank = ((values.len() as f64 + 1.0) * part).ceil() as usize;
    values.get(rank.clamp(1, values.len().max(1)) - 1).copied().unwrap_or(1.0)
}

/// Rows, targets and families of both sides of all pairs of a mode.
fn sides(data: &Dataset, mode: SharingMode) -> (Vec<Vec<f64>>, Vec<f64>, Vec<Vec<usize>>) {
    let family = by_name(data.profiles.iter().map(|profile| profile.family.as_str()));
    let (mut rows, mut targets, mut families) = (Vec::new(), Vec::new(), Vec::new());
    for pair in data.pairs.iter().filter(|pair| pair.mode == mode) {
        for side in [0, 1] {
            let (own, other) = (pair.who[side], pair.who[1 - side]);
            let demands = [demand(&data.profiles[own]), demand(&data.profiles[other])];
            rows.push(pair_features(&demands[0], &demands[1], mode).to_vec());
            targets.push(pair.slowdown[side].max(1.0).ln());
            families.push(vec![family[own], family[other]]);
        }
    }
    (rows, targets, families)
}

fn slowdown(data: &Dataset, mode: SharingMode) -> SlowdownModel {
    let (rows, targets, families) = sides(data, mode);
    let fit = |kept: &[usize]| {
        let rows: Vec<Vec<f64>> = kept.iter().map(|at| rows[*at].clone()).collect();
        let targets: Vec<f64> = kept.iter().map(|at| targets[*at]).collect();
        boosted(Table { rows: &rows, targets: &targets }, &pair_options())
    };
    let told = held_out(&families, fit, |trees, at| trees.value(&rows[at]));
    let over = targets.iter().zip(told).map(|(target, told)| (target - told).exp());
    let high = covering(over, SLOWDOWN_COVERED).max(1.0);
    SlowdownModel { trees: boosted(Table { rows: &rows, targets: &targets }, &pair_options()), high }
}
