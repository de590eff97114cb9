//! What jobs train: models, batch sizes, and how fast they run on three GPU models.
//!
//! Measured by Gavel (OSDI 2020) on one GPU: speeds relative to a K80, and samples per second on a V100. A V100 is not
//! always the fastest; no order of GPU models is assumed anywhere.

use crate::Recipe;
use crate::profiles::Profile;
use evenhand_core::{ModelIndex, PerModel, Random, Rate, Work};

/// GPU models that generated traces know; the first is the reference.
pub(super) const MODELS: [&str; 3] = ["v100", "p100", "k80"];

/// One entry of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    family: &'static str,
    /// The batch size; 0 if it has none.
    pub(super) batch: u32,
    p100_over_k80: f64,
    v100_over_k80: f64,
    /// Samples per second on a V100.
    pub(super) samples_per_s: f64,
}

const fn kind(family: &'static str, batch: u32, p100: f64, v100: f64, samples_per_s: f64) -> Kind {
    Kind { family, batch, p100_over_k80: p100, v100_over_k80: v100, samples_per_s }
}

/// Every kind of job, batch sizes of a model in ascending order.
pub(super) const KINDS: &[Kind] = &[
    kind("ResNet-18", 16, 7.480, 6.747, 517.7),
    kind("ResNet-18", 32, 4.993, 4.173, 958.3),
    kind("ResNet-18", 64, 3.163, 3.416, 1542.0),
    kind("ResNet-18", 128, 6.463, 9.961, 2303.3),
    kind("ResNet-18", 256, 8.721, 11.631, 2636.9),
    kind("ResNet-50", 16, 3.935, 4.954, 182.3),
    kind("ResNet-50", 32, 3.953, 6.297, 249.2),
    kind("ResNet-50", 64, 4.232, 7.099, 281.3),
    kind("ResNet-50", 128, 4.563, 7.191, 319.6),
    kind("Transformer", 16, 1.744, 2.024, 177.0),
    kind("Transformer", 32, 2.244, 3.028, 339.9),
    kind("Transformer", 64, 2.906, 4.918, 551.5),
    kind("Transformer", 128, 3.131, 5.548, 697.1),
    kind("Transformer", 256, 3.660, 3.480, 408.4),
    kind("LM", 5, 3.562, 4.283, 545.8),
    kind("LM", 10, 3.240, 3.432, 816.5),
    kind("LM", 20, 3.394, 3.777, 1294.8),
    kind("LM", 40, 3.110, 3.934, 1809.5),
    kind("LM", 80, 3.495, 4.665, 2259.2),
    kind("Recommendation", 512, 1.488, 0.710, 11_938.6),
    kind("Recommendation", 1024, 1.533, 0.662, 13_601.4),
    kind("Recommendation", 2048, 1.590, 0.715, 15_297.8),
    kind("Recommendation", 4096, 1.679, 0.737, 15_999.2),
    kind("Recommendation", 8192, 2.056, 1.053, 23_277.6),
    kind("CycleGAN", 0, 4.760, 8.769, 4.4),
    kind("A3C", 0, 1.652, 2.087, 7.2),
];

impl Kind {
    /// Speeds on the known GPU models, relative to the reference; models unknown here run at its speed.
    pub(super) fn speeds(&self) -> PerModel<Rate> {
        let rate = |speed: f64| Rate::new((speed * 1e3).round() / 1e3).unwrap_or(Rate::ONE);
        let mut row = PerModel::all(Rate::ONE);
        row[ModelIndex(1)] = rate(self.p100_over_k80 / self.v100_over_k80);
        row[ModelIndex(2)] = rate(1.0 / self.v100_over_k80);
        row
    }

    /// An epoch, in seconds of the reference GPU model with this batch size.
    pub(super) fn epoch(&self) -> Option<Work> {
        let samples = Recipe::dataset_of(self.family)? as f64;
        Some(Work::from_steps(samples / self.samples_per_s))
    }

    /// The entries of the same model with larger batches at which it runs faster, in ascending order.
    pub(super) fn larger(&self) -> impl DoubleEndedIterator<Item = &'static Kind> {
        let (family, batch, samples) = (self.family, self.batch, self.samples_per_s);
        KINDS.iter().filter(move |other| {
            other.family == family && other.batch > batch && other.samples_per_s > samples
        })
    }
}

impl Profile {
    /// What a batch of jobs trains.
    pub(super) fn draw_kind(&self, random: &mut Random) -> &'static Kind {
        let weights: [f64; KINDS.len()] = std::array::from_fn(|at| self.kind_weight(&KINDS[at]));
        random.weighted(&weights).map_or(&KINDS[0], |at| &KINDS[at])
    }

    fn kind_weight(&self, kind: &Kind) -> f64 {
        if self.families.is_empty() {
            return 1.0;
        }
        // Jobs that will change their batch size begin with one that leaves room.
        if self.dynamic > 0.0 && kind.larger().next().is_none() {
            return 0.0;
        }
        let family = self.families.iter().find(|(family, _)| *family == kind.family);
        let roomy = |other: &&Kind| other.family == kind.family && other.larger().next().is_some();
        let count = KINDS.iter().filter(roomy).count().max(1);
        family.map_or(0.0, |(_, weight)| weight / count as f64)
    }
}
