//! A trained model: one file of trees for one GPU model, with what it was trained on.
//!
//! ```text
//! step       ln step = ln prior + T(features)
//! percent    ln(1 + p) = T(features)                       utilisation, multiprocessors, tensor cores, bandwidth; physics is among the features
//! memory     ln MB = ln(alpha saved + state + delta) + T(features) ;   upper = mean x the quantile that covered 95 % of what was held out
//! slowdown   ln s = T(own, others, ln prior), never below 0, monotone in what others ask ;   high = s x the quantile that covered 90 %
//!            of more than one other: of the one that slows most, times what physics says of all over what it says of that one
//! ```
//!
//! Of slowdowns, physics is one of the features instead of a factor: on the profiles that is an eighth to a third better, families left out or not.

use super::told::{Told, feature_names};
use super::trees::Trees;
use evenhand_core::{Bytes, Demand, DemandSharing, Estimate, GpuModel, Interference, Ratio, SharingMode};
use serde::{Deserialize, Serialize};

/// The form of the file.
pub const VERSION: u32 = 1;

/// What trees see of two jobs, in this order: own and the other's duty, multiprocessors, tensor cores, bandwidth, and what physics says.
pub const PAIR_FEATURES: usize = 9;

/// What is wrong with a model file.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It is no model.
    #[error("not a model file: {0}")]
    Form(#[from] serde_json::Error),
    /// Written by another version.
    #[error("a model of version {found}; this is for version {VERSION}")]
    Version {
        /// What it says.
        found: u32,
    },
    /// Trained on other features.
    #[error("the model knows {found:?} where this program has {expected:?}: train it again")]
    Feature {
        /// In the file.
        found: String,
        /// In this program.
        expected: String,
    },
    /// Its trees cannot be walked.
    #[error("the trees of {0} lead nowhere")]
    Trees(&'static str),
}

/// How much memory a job needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryModel {
    /// Of what is saved for the backward pass.
    pub alpha: f64,
    /// Besides, in megabytes.
    pub delta_mb: f64,
    /// What is learned.
    pub trees: Trees,
    /// The upper bound over the mean.
    pub upper: f64,
}

/// How much jobs slow each other down under one mode of sharing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownModel {
    /// What is learned.
    pub trees: Trees,
    /// What one in ten exceeds, over the mean.
    pub high: f64,
}

/// A trained model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// [`VERSION`].
    pub version: u32,
    /// For which GPU model.
    pub gpu: String,
    /// A digest of the profiles.
    pub trained_on: String,
    /// Names of what trees see.
    pub features: Vec<String>,
    /// The middle of each among the profiles.
    pub usual: Vec<f64>,
    /// Milliseconds of a step.
    pub step: Trees,
    /// Utilisation as the driver tells it.
    pub utilisation: Trees,
    /// Multiprocessors in use.
    pub sm: Trees,
    /// Tensor cores in use.
    pub tensor: Trees,
    /// Memory bandwidth in use.
    pub bandwidth: Trees,
    /// Memory.
    pub memory: MemoryModel,
    /// Beside others, by turns.
    pub time_slicing: SlowdownModel,
    /// Beside others, under MPS.
    pub mps: SlowdownModel,
}

/// What is foretold of a job alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foretold {
    /// Milliseconds of a step.
    pub step_ms: f64,
    /// What it asks of the GPU; `memory.high` is the bound that 95 % keep.
    pub demand: Demand,
}

impl MemoryModel {
    /// Before anything is learned.
    pub fn prior_mb(&self, told: &Told) -> f64 {
        self.alpha * told.saved_mb + told.state_mb + self.delta_mb
    }
}

/// The model that comes along, fitted by `evenhand train` to the profiles under `experiments/horus/data`.
const SHIPPED: &str = include_str!("../../models/h200.json");

impl Learned {
    /// The model that comes along.
    pub fn shipped() -> Self {
        Self::read(SHIPPED).expect("a test reads the model that comes along")
    }

    /// Reads a model and checks that it is for this program.
    pub fn read(text: &str) -> Result<Self, ModelError> {
        let model: Self = serde_json::from_str(text)?;
        if model.version != VERSION {
            return Err(ModelError::Version { found: model.version });
        }
        let names = feature_names();
        for at in 0..names.len().max(model.features.len()) {
            let name = |list: &[String]| list.get(at).cloned().unwrap_or_default();
            let (found, expected) = (name(&model.features), name(&names));
            if found != expected {
                return Err(ModelError::Feature { found, expected });
            }
        }
        let trees = [
            ("the step", &model.step, names.len()),
            ("utilisation", &model.utilisation, names.len()),
            ("multiprocessors", &model.sm, names.len()),
            ("tensor cores", &model.tensor, names.len()),
            ("bandwidth", &model.bandwidth, names.len()),
            ("memory", &model.memory.trees, names.len()),
            ("time-slicing", &model.time_slicing.trees, PAIR_FEATURES),
            ("MPS", &model.mps.trees, PAIR_FEATURES),
        ];
        match trees.iter().find(|(_, trees, features)| !trees.is_sound(*features)) {
            Some((name, ..)) => Err(ModelError::Trees(name)),
            None => Ok(model),
        }
    }

    /// What a job asks of the GPU, from its graph.
    pub fn foretell(&self, told: &Told) -> Foretold {
        let percent = |trees: &Trees| (trees.value(&told.features).exp_m1() / 100.0).clamp(0.0, 1.0);
        let step_ms = told.step_ms * self.step.value(&told.features).exp();
        let mb = self.memory.prior_mb(told) * self.memory.trees.value(&told.features).exp();
        let bytes = |mb: f64| Bytes((mb.max(0.0) * f64::from(1 << 20)) as u64);
        let duty = percent(&self.utilisation);
        let demand = Demand {
            duty,
            sm: percent(&self.sm).min(duty),
            tensor: percent(&self.tensor),
            bandwidth: percent(&self.bandwidth),
            memory: Estimate { mean: bytes(mb), low: bytes(mb), high: bytes(mb * self.memory.upper) },
            ..Demand::default()
        };
        Foretold { step_ms, demand }
    }

    /// Which features move a prediction of utilisation most, with how much each moves it, in percent of the GPU.
    pub fn drivers(&self, told: &Told) -> Vec<(&str, f64)> {
        let whole = self.utilisation.value(&told.features).exp_m1();
        let moves = self.utilisation.drivers(&told.features, &self.usual);
        let mut named: Vec<(&str, f64)> = self
            .features
            .iter()
            .zip(moves)
            .map(|(name, moved)| (name.as_str(), whole - ((1.0 + whole).ln() - moved).exp_m1()))
            .collect();
        named.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        named
    }
}

/// What trees see of a job beside another.
pub fn pair_features(own: &Demand, other: &Demand, mode: SharingMode) -> [f64; PAIR_FEATURES] {
    let prior = DemandSharing::rule(own, &[other], mode).ln();
    [own.duty, own.sm, own.tensor, own.bandwidth, other.duty, other.sm, other.tensor, other.bandwidth, prior]
}

impl Learned {
    fn slowdowns(&self, mode: SharingMode) -> &SlowdownModel {
        match mode {
            SharingMode::TimeSlicing => &self.time_slicing,
            SharingMode::Mps => &self.mps,
        }
    }

    /// How much a job is slowed down beside one other.
    pub fn beside(&self, own: &Demand, other: &Demand, mode: SharingMode) -> f64 {
        self.slowdowns(mode).trees.value(&pair_features(own, other, mode)).exp().max(1.0)
    }

    /// How much a job is slowed down among others.
    pub fn among(&self, own: &Demand, others: &[&Demand], mode: SharingMode) -> Estimate<Ratio> {
        self.among_by(own, others, mode, |other| self.beside(own, other, mode))
    }

    /// The same, where `beside` says how much the job is slowed down beside each of them.
    pub fn among_by(
        &self,
        own: &Demand,
        others: &[&Demand],
        mode: SharingMode,
        beside: impl Fn(&Demand) -> f64,
    ) -> Estimate<Ratio> {
        let both = |other: &&Demand| (beside(other), DemandSharing::rule(own, &[other], mode));
        let worst = others.iter().map(both).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((slow, alone)) = worst else { return Estimate::exact(Ratio::ONE) };
        let slow = slow * DemandSharing::rule(own, others, mode) / alone;
        let ratio = |value: f64| Ratio::new(value.max(1.0)).unwrap_or(Ratio::ONE);
        let high = ratio(slow * self.slowdowns(mode).high);
        Estimate { mean: ratio(slow), low: Ratio::ONE, high }
    }
}

impl Interference for Learned {
    fn slowdown(
        &self,
        own: &Demand,
        others: &[&Demand],
        _model: &GpuModel,
        mode: SharingMode,
    ) -> Estimate<Ratio> {
        self.among(own, others, mode)
    }

    fn version(&self) -> &str {
        &self.trained_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(duty: f64, sm: f64) -> Demand {
        Demand { duty, sm, tensor: 0.1, bandwidth: 0.2, ..Demand::default() }
    }

    #[test]
    fn the_model_that_comes_along_is_for_this_program() {
        let model = Learned::shipped();
        assert_eq!((model.version, model.gpu.as_str()), (VERSION, "h200"));
        assert!(model.memory.upper >= 1.0 && model.time_slicing.high >= 1.0 && model.mps.high >= 1.0);
    }

    #[test]
    fn nobody_is_faster_because_the_other_asks_for_more() {
        let (model, gpu) = (Learned::shipped(), GpuModel { name: "h200".into() });
        for mode in [SharingMode::TimeSlicing, SharingMode::Mps] {
            let slow = |own: &Demand, other: &Demand| model.slowdown(own, &[other], &gpu, mode).mean.get();
            for own in [demand(0.2, 0.1), demand(0.6, 0.4), demand(1.0, 0.9)] {
                let mut last = 1.0;
                for step in 0..=20 {
                    let asked = f64::from(step) / 20.0;
                    let found = slow(&own, &demand(asked, 0.9 * asked));
                    assert!(found >= last - 1e-12, "{mode:?}: {last} then {found}");
                    last = found;
                }
            }
            assert!(slow(&demand(1.0, 0.9), &demand(1.0, 0.9)) > 1.2);
            assert!((slow(&demand(0.1, 0.05), &demand(0.1, 0.05)) - 1.0).abs() < 0.15);
            let three =
                model.slowdown(&demand(1.0, 0.9), &[&demand(1.0, 0.9), &demand(1.0, 0.9)], &gpu, mode);
            assert!(
                three.mean.get() > slow(&demand(1.0, 0.9), &demand(1.0, 0.9)) && three.high >= three.mean
            );
            assert_eq!(model.slowdown(&demand(1.0, 0.9), &[], &gpu, mode), Estimate::exact(Ratio::ONE));
        }
    }

    #[test]
    fn models_of_others_are_refused_by_name() {
        let told =
            |model: &Learned| Learned::read(&serde_json::to_string(model).unwrap()).unwrap_err().to_string();
        let shipped = Learned::shipped();
        assert!(told(&Learned { version: 9, ..shipped.clone() }).contains("version 9"));
        let mut other = shipped.clone();
        other.features[3] = "ln_luck".into();
        assert!(told(&other).contains("ln_luck") && told(&other).contains("ln_activations"));
        let mut broken = shipped.clone();
        broken.utilisation.trees[0].0.truncate(1);
        assert!(told(&broken).contains("the trees of utilisation"), "{}", told(&broken));
        let mut unfounded = shipped.clone();
        unfounded.mps.trees.base = f64::NAN;
        assert!(told(&unfounded).contains("not a model file"), "{}", told(&unfounded));
        assert!(Learned::read("{}").is_err() && Learned::read("").is_err());
    }
}
