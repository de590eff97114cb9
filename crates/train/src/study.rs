//! How good predictors are on what they have not seen: utilisation, memory and slowdown, by lot and with whole families left out.

use crate::boost::{Options, Table, boosted, forest};
use crate::dataset::{Dataset, Profile};
use crate::fit;
use crate::folds::{by_lot, by_name, held_out};
use crate::linear::Linear;
use evenhand_core::{Demand, DemandSharing, SharingMode};
use evenhand_predict::learned::{Trees, feature_names, pair_features};

/// What the Horus paper says it looks at.
const PAPER: [&str; 8] = [
    "ln_forward_flop",
    "ln_parameters",
    "ln_batch",
    "ln_activations",
    "ln_gemm",
    "ln_relu",
    "ln_flatten",
    "ln_conv",
];

/// An error by lot, and with whole families left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Of whom.
    pub name: &'static str,
    /// Five parts drawn by lot, each foretold by the rest.
    pub by_lot: f64,
    /// Every family foretold by the others.
    pub by_family: f64,
}

/// Rows, targets and groups.
struct Task {
    rows: Vec<Vec<f64>>,
    targets: Vec<f64>,
    lots: Vec<Vec<usize>>,
    families: Vec<Vec<usize>>,
}

impl Task {
    fn table<'a>(&self, kept: &[usize], rows: &'a mut Vec<Vec<f64>>, targets: &'a mut Vec<f64>) -> Table<'a> {
        *rows = kept.iter().map(|at| self.rows[*at].clone()).collect();
        *targets = kept.iter().map(|at| self.targets[*at]).collect();
        Table { rows, targets }
    }

    /// Held-out values by any way of fitting.
    fn told<P>(
        &self,
        groups: &[Vec<usize>],
        fit: impl Fn(Table<'_>) -> P,
        value: impl Fn(&P, &[f64]) -> f64,
    ) -> Vec<f64> {
        let fit = |kept: &[usize]| {
            let (mut rows, mut targets) = (Vec::new(), Vec::new());
            fit(self.table(kept, &mut rows, &mut targets))
        };
        held_out(groups, fit, |predictor, row| value(predictor, &self.rows[row]))
    }

    fn score<P>(
        &self,
        name: &'static str,
        error: impl Fn(&[f64]) -> f64,
        fit: impl Fn(Table<'_>) -> P + Copy,
        value: impl Fn(&P, &[f64]) -> f64 + Copy,
    ) -> Score {
        let by_lot = error(&self.told(&self.lots, fit, value));
        let by_family = error(&self.told(&self.families, fit, value));
        Score { name, by_lot, by_family }
    }
}

fn root_mean_square(values: &[f64], targets: &[f64]) -> f64 {
    let squares = values.iter().zip(targets).map(|(value, target)| (value - target).powi(2));
    (squares.sum::<f64>() / targets.len().max(1) as f64).sqrt()
}

fn single(groups: Vec<usize>) -> Vec<Vec<usize>> {
    groups.into_iter().map(|group| vec![group]).collect()
}

fn boost(trees: usize, depth: usize) -> Options {
    Options { trees, depth, ..Options::default() }
}

fn of(trees: &Trees, row: &[f64]) -> f64 {
    trees.value(row)
}

/// Root mean squared logarithmic errors of utilisation, of jobs whose host does not wait.
pub fn utilisation(data: &Dataset) -> Vec<Score> {
    let profiles: Vec<&Profile> = data.profiles.iter().filter(|profile| !profile.has_gaps).collect();
    let target = |profile: &&Profile| profile.seen.utilisation.ln_1p();
    let prior = |profile: &&Profile| (100.0 * profile.told.duty).ln_1p();
    let lots = single(by_lot(profiles.len(), 5, 1));
    let families = single(by_name(profiles.iter().map(|profile| profile.family.as_str())));
    let names = feature_names();
    let place = |name: &str| names.iter().position(|other| other == name).unwrap_or(0);
    let paper: Vec<usize> = PAPER.iter().map(|name| place(name)).collect();
    let task = |rows: Vec<Vec<f64>>, targets: Vec<f64>| Task {
        rows,
        targets,
        lots: lots.clone(),
        families: families.clone(),
    };
    let targets: Vec<f64> = profiles.iter().map(target).collect();
    let few =
        profiles.iter().map(|profile| paper.iter().map(|at| profile.told.features[*at]).collect()).collect();
    let few = task(few, targets.clone());
    let all = task(profiles.iter().map(|profile| profile.told.features.clone()).collect(), targets.clone());
    let residuals: Vec<f64> = profiles.iter().map(|profile| target(profile) - prior(profile)).collect();
    let ours = task(all.rows.clone(), residuals.clone());
    let error = |told: &[f64]| root_mean_square(told, &targets);
    let left = |told: &[f64]| root_mean_square(told, &residuals);
    let deep =
        |table: Table<'_>| forest(table, &Options { depth: 8, shrink: 0.0, leaf_min: 2, ..boost(300, 8) });
    let physics = root_mean_square(&profiles.iter().map(prior).collect::<Vec<_>>(), &targets);
    let steps = |table: Table<'_>| boosted(table, &fit::graph_options());
    vec![
        few.score("linear, as in the paper", error, Linear::fit, Linear::value),
        few.score("random forest, as in the paper", error, deep, of),
        few.score("boosted trees, as in the paper", error, steps, of),
        Score { name: "physics alone", by_lot: physics, by_family: physics },
        ours.score("physics times boosted trees", left, steps, of),
        all.score("ours: boosted trees with physics", error, steps, of),
    ]
}

/// What was measured of a job, as a demand.
pub fn demand(profile: &Profile) -> Demand {
    Demand {
        duty: profile.seen.utilisation / 100.0,
        sm: profile.seen.sm / 100.0,
        tensor: profile.seen.tensor / 100.0,
        bandwidth: profile.seen.dram / 100.0,
        ..Demand::default()
    }
}

/// Mean absolute errors of the speed of a job beside another, under one mode of sharing.
pub fn slowdown(data: &Dataset, mode: SharingMode) -> Vec<Score> {
    let demands: Vec<Demand> = data.profiles.iter().map(demand).collect();
    let mut sides = Vec::new();
    for pair in data.pairs.iter().filter(|pair| pair.mode == mode) {
        for side in [0, 1] {
            sides.push((pair.who[side], pair.who[1 - side], pair.slowdown[side]));
        }
    }
    let truth: Vec<f64> = sides.iter().map(|side| 1.0 / side.2.max(1.0)).collect();
    let family = by_name(data.profiles.iter().map(|profile| profile.family.as_str()));
    let families: Vec<Vec<usize>> = sides
        .iter()
        .map(|(own, other, _)| {
            let mut both = vec![family[*own], family[*other]];
            both.dedup();
            both
        })
        .collect();
    // Both sides of a pair, and the same pair again, are never on both sides of a fold.
    let pairs: Vec<String> = sides.iter().map(|(a, b, _)| format!("{}-{}", a.min(b), a.max(b))).collect();
    let pair = by_name(pairs.iter().map(String::as_str));
    let drawn = by_lot(pair.iter().max().map_or(0, |most| most + 1), 5, 1);
    let lots: Vec<Vec<usize>> = pair.iter().map(|pair| vec![drawn[*pair]]).collect();
    let task = |rows: Vec<Vec<f64>>, targets: Vec<f64>| Task {
        rows,
        targets,
        lots: lots.clone(),
        families: families.clone(),
    };
    let prior = |own: usize, other: usize| DemandSharing::rule(&demands[own], &[&demands[other]], mode);
    let sum = sides.iter().map(|(own, other, _)| vec![demands[*own].duty + demands[*other].duty]).collect();
    let both = sides.iter().map(|(own, other, _)| vec![demands[*own].duty, demands[*other].duty]).collect();
    let full: Vec<Vec<f64>> = sides
        .iter()
        .map(|(own, other, _)| pair_features(&demands[*own], &demands[*other], mode).to_vec())
        .collect();
    let vectors: Vec<Vec<f64>> = full.iter().map(|row| row[..8].to_vec()).collect();
    let slow: Vec<f64> = sides.iter().map(|side| side.2.max(1.0).ln()).collect();
    let residual: Vec<f64> =
        sides.iter().map(|(a, b, slow)| slow.max(1.0).ln() - prior(*a, *b).ln()).collect();
    let priors: Vec<f64> = sides.iter().map(|(own, other, _)| prior(*own, *other).ln()).collect();
    let speed_error = |told: &[f64]| {
        let errors =
            told.iter().zip(&truth).map(|(ln_slow, truth)| ((-ln_slow.max(0.0)).exp() - truth).abs());
        errors.sum::<f64>() / truth.len().max(1) as f64
    };
    let with_prior = |told: &[f64]| {
        let whole: Vec<f64> = told.iter().zip(&priors).map(|(told, prior)| told + prior).collect();
        speed_error(&whole)
    };
    let rising = |table: Table<'_>| boosted(table, &fit::pair_options());
    let plain = |table: Table<'_>| boosted(table, &Options { features: 1.0, ..boost(150, 2) });
    let physics = speed_error(&priors);
    let constant = task(vec![vec![0.0]; sides.len()], slow.clone());
    vec![
        constant.score("a constant", speed_error, plain, of),
        task(sum, slow.clone()).score("sum of utilisations", speed_error, plain, of),
        task(both, slow.clone()).score("both utilisations", speed_error, plain, of),
        Score { name: "physics alone", by_lot: physics, by_family: physics },
        task(vectors.clone(), residual).score("physics times trees", with_prior, rising, of),
        task(vectors, slow.clone()).score("trees on demand vectors", speed_error, rising, of),
        task(full, slow).score("ours: the same with physics", speed_error, rising, of),
    ]
}

/// How good an estimate of memory is, with whole families left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Of whom.
    pub name: &'static str,
    /// Root mean square of the logarithm of estimate over truth.
    pub rmsle: f64,
    /// The share of jobs that stay within the bound, if there is one.
    pub covered: Option<f64>,
    /// The bound over the truth, on average.
    pub bound_over_truth: Option<f64>,
}

/// What a way of estimating memory says of a job, and its bound.
fn memory_of(name: &'static str, data: &Dataset, told: &[(f64, Option<f64>)]) -> Memory {
    let truth: Vec<f64> = data.profiles.iter().map(|profile| profile.seen.memory_mb).collect();
    let count = truth.len().max(1) as f64;
    let squares = told.iter().zip(&truth).map(|((told, _), truth)| (told / truth).ln().powi(2));
    let bounds: Option<Vec<f64>> = told.iter().map(|(_, bound)| *bound).collect();
    let over =
        |bounds: &Vec<f64>| bounds.iter().zip(&truth).map(|(bound, truth)| bound / truth).collect::<Vec<_>>();
    let over = bounds.as_ref().map(over);
    Memory {
        name,
        rmsle: (squares.sum::<f64>() / count).sqrt(),
        covered: over.as_ref().map(|over| over.iter().filter(|over| **over >= 1.0).count() as f64 / count),
        bound_over_truth: over.map(|over| over.iter().sum::<f64>() / count),
    }
}

/// Memory as the paper prints it, by physics, and as we learn it.
pub fn memory(data: &Dataset) -> Vec<Memory> {
    let profiles: Vec<&Profile> = data.profiles.iter().collect();
    let families = single(by_name(profiles.iter().map(|profile| profile.family.as_str())));
    // 525 MB of the framework, as in the authors' simulator.
    let printed: Vec<_> = profiles.iter().map(|profile| (profile.told.printed_mb + 525.0, None)).collect();
    let pick = |kept: &[usize]| kept.iter().map(|at| profiles[*at]).collect::<Vec<_>>();
    let fit = |kept: &[usize]| fit::memory(&pick(kept));
    let physics = held_out(&families, fit, |model, at| model.prior_mb(&profiles[at].told));
    let mean = held_out(&families, fit, |model, at| fit::memory_mb(model, &profiles[at].told));
    let bound = held_out(&families, fit, |model, at| model.upper * fit::memory_mb(model, &profiles[at].told));
    let both: Vec<_> = mean.into_iter().zip(bound).map(|(mean, bound)| (mean, Some(bound))).collect();
    vec![
        memory_of("eq. (2) of the paper", data, &printed),
        memory_of("physics alone", data, &physics.into_iter().map(|told| (told, None)).collect::<Vec<_>>()),
        memory_of("ours: physics, trees, bound", data, &both),
    ]
}
