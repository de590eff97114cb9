//! How a job trains: its model, its batch size, and the rule by which the batch size changes.
//!
//! Two published rules change the batch size while a job trains: Accordion keeps the initial batch in critical epochs
//! and uses the largest otherwise (Agarwal et al., MLSys 2021); gradient-noise scaling doubles it when the noise allows
//! (McCandlish et al., 2018). The tables are those with which Shockwave (NSDI 2023) replays both.

use evenhand_core::{Mode, ModelIndex, PerModel, Rate, Ratio, Span, Work};
use std::collections::BTreeMap;

/// The rule by which the batch size changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adaptation {
    /// It never does.
    Static,
    /// Initial in critical epochs, the largest otherwise.
    Accordion,
    /// Doubles as the gradient noise grows.
    Gns,
}

/// How a job trains.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The model's name, without its batch size.
    pub model: String,
    /// The batch size at the start.
    pub batch: u32,
    /// How it changes.
    pub adaptation: Adaptation,
    /// Samples in one epoch.
    pub dataset: u64,
    /// Steps in all, if the batch size never changed.
    pub steps: u64,
    /// GPUs.
    pub gang: u32,
    /// Steps per second for every batch size that the table knows, on the trace's GPU models.
    pub rates: BTreeMap<u32, PerModel<Rate>>,
}

/// Samples in an epoch of each model, and the largest batch to which it adapts.
const MODELS: &[(&str, u64, Option<u32>)] = &[
    ("ResNet-18", 50_000, Some(256)),
    ("ResNet-50", 100_000, Some(128)),
    ("Transformer", 10_000, None),
    ("LM", 59_675, Some(80)),
    ("Recommendation", 117_907, Some(8192)),
    ("CycleGAN", 6_287, None),
    ("A3C", 4, None),
];

/// From which epoch on gradient-noise scaling wants which batch: model, initial batch, gang, steps.
type GnsRow = (&'static str, u32, u32, &'static [(u64, u32)]);
const GNS: &[GnsRow] = &[
    ("ResNet-18", 16, 1, &[(31, 32), (41, 64), (51, 128), (71, 256)]),
    ("ResNet-18", 16, 2, &[(21, 32), (31, 64), (91, 128), (111, 256)]),
    ("ResNet-18", 16, 4, &[(11, 32), (21, 64), (81, 128), (91, 256)]),
    ("ResNet-18", 32, 1, &[(21, 64), (31, 128), (51, 256)]),
    ("ResNet-18", 32, 2, &[(11, 64), (21, 128), (41, 256)]),
    ("ResNet-18", 32, 4, &[(21, 64), (31, 128), (61, 256)]),
    ("ResNet-18", 64, 1, &[(11, 128), (31, 256)]),
    ("ResNet-18", 64, 2, &[(21, 128), (41, 256)]),
    ("ResNet-18", 64, 4, &[(11, 128), (61, 256)]),
    ("ResNet-18", 128, 1, &[(11, 256)]),
    ("ResNet-18", 128, 2, &[(41, 256)]),
    ("ResNet-18", 128, 4, &[(11, 256)]),
    ("ResNet-50", 32, 2, &[(101, 64), (111, 128)]),
    ("ResNet-50", 32, 4, &[(131, 64), (221, 128)]),
    ("ResNet-50", 64, 1, &[(101, 128)]),
    ("ResNet-50", 64, 2, &[(81, 128)]),
    ("ResNet-50", 64, 4, &[(191, 128)]),
    ("LM", 5, 1, &[(31, 10), (41, 20), (61, 40), (71, 80)]),
    ("LM", 5, 2, &[(31, 10), (51, 20), (61, 40), (71, 80)]),
    ("LM", 5, 4, &[(11, 10), (31, 20), (71, 40), (91, 80)]),
    ("LM", 10, 1, &[(11, 20), (21, 40), (41, 80)]),
    ("LM", 10, 2, &[(11, 20), (31, 40), (41, 80)]),
    ("LM", 10, 4, &[(11, 20), (31, 40), (61, 80)]),
    ("LM", 20, 1, &[(11, 40), (41, 80)]),
    ("LM", 20, 2, &[(31, 40), (41, 80)]),
    ("LM", 20, 4, &[(11, 40), (61, 80)]),
    ("LM", 40, 1, &[(11, 80)]),
    ("LM", 40, 2, &[(11, 80)]),
    ("LM", 40, 4, &[(61, 80)]),
    ("Recommendation", 512, 1, &[(21, 1024), (41, 2048), (71, 4096), (91, 8192)]),
    ("Recommendation", 1024, 1, &[(21, 2048), (51, 4096), (91, 8192)]),
    ("Recommendation", 2048, 1, &[(21, 4096), (41, 8192)]),
    ("Recommendation", 4096, 1, &[(41, 8192)]),
];

impl Recipe {
    /// Samples in an epoch of a model, if it is a known one.
    pub fn dataset_of(model: &str) -> Option<u64> {
        MODELS.iter().find(|(name, ..)| *name == model).map(|(_, samples, _)| *samples)
    }

    /// The largest batch to which the model adapts; `None` if it does not.
    pub fn batch_max(&self) -> Option<u32> {
        MODELS.iter().find(|(name, ..)| *name == self.model).and_then(|(.., largest)| *largest)
    }

    /// Steps of one epoch at a batch size.
    pub fn steps_per_epoch(&self, batch: u32) -> u64 {
        self.dataset.div_ceil(u64::from(batch.max(1)))
    }

    /// Epochs in all.
    pub fn epochs(&self) -> u64 {
        self.steps.div_ceil(self.steps_per_epoch(self.batch))
    }

    /// Whether Accordion keeps the initial batch in an epoch.
    pub fn is_critical(&self, epoch: u64) -> bool {
        match (self.model.as_str(), self.batch) {
            ("ResNet-18", batch) => {
                epoch < if batch == 256 { 20 } else { 10 }
                    || (150..160).contains(&epoch)
                    || (250..260).contains(&epoch)
            }
            ("ResNet-50", _) => epoch % 30 < 10,
            ("Recommendation", 512 | 1024) => epoch < 30,
            ("Recommendation", 2048) => epoch < 40,
            ("LM" | "Recommendation", _) => epoch < 10,
            _ => true,
        }
    }

    /// Whether the published planner's profile takes an epoch for critical: more often than the rule itself.
    pub fn is_critical_in_profile(&self, epoch: u64) -> bool {
        let late = self.model == "Recommendation" && ((60..70).contains(&epoch) || (80..90).contains(&epoch));
        self.is_critical(epoch) || late || epoch as f64 <= 0.3 * self.epochs() as f64
    }

    /// The batch that gradient-noise scaling wants in an epoch.
    pub fn gns_batch(&self, epoch: u64) -> u32 {
        let wanted = self.gns_row().iter().rev().find(|(from, _)| epoch >= *from);
        wanted.map_or(self.batch, |(_, batch)| *batch)
    }

    /// What the published planner's profile takes the whole job for, alone on a GPU model.
    ///
    /// Steps of an epoch are not rounded up; where gradient-noise scaling has changed the batch twice or more, the last
    /// epoch falls back to the first batch (an off-by-one of the original that its ratios contain).
    pub fn profile_time(&self, model: ModelIndex) -> Option<Span> {
        let epochs = self.epochs();
        if self.adaptation == Adaptation::Static {
            let rate = self.rates.get(&self.batch)?[model].get();
            let seconds = epochs as f64 * self.dataset as f64 / f64::from(self.batch.max(1)) / rate;
            return seconds.is_finite().then(|| Span::from_seconds(seconds));
        }
        let mut seconds = 0.0;
        for epoch in 0..epochs {
            let (batch, rate) = self.profile_batch(epoch, model)?;
            seconds += self.dataset as f64 / f64::from(batch.max(1)) / rate;
        }
        seconds.is_finite().then(|| Span::from_seconds(seconds))
    }

    /// What the published planner's profile takes the batch size of an epoch for, with its rate on a GPU model.
    fn profile_batch(&self, epoch: u64, model: ModelIndex) -> Option<(u32, f64)> {
        let wanted = match self.adaptation {
            Adaptation::Static => self.batch,
            Adaptation::Gns if epoch + 1 == self.epochs() && self.gns_changes(epoch) > 1 => self.batch,
            Adaptation::Gns => self.gns_batch(epoch),
            Adaptation::Accordion if self.is_critical_in_profile(epoch) => self.batch,
            Adaptation::Accordion => self.batch_max().unwrap_or(self.batch),
        };
        let measured = |batch: u32| self.rates.get(&batch).map(|rates| (batch, rates[model].get()));
        measured(wanted).filter(|(_, rate)| *rate > 0.0).or_else(|| measured(self.batch))
    }

    /// Samples in one epoch of the first batch size: its steps are whole ones.
    pub fn epoch(&self) -> Work {
        Work::from_steps((self.steps_per_epoch(self.batch) * u64::from(self.batch.max(1))) as f64)
    }

    /// The batch sizes that occur in the published planner's profile, in the order in which they first do, with their
    /// speeds in samples: all that the planner knows of them. The first is the one that the job begins with.
    pub fn modes(&self) -> Vec<Mode> {
        let model = ModelIndex(0);
        let epochs = if self.adaptation == Adaptation::Static { 1 } else { self.epochs() };
        let mut found: Vec<(u32, f64)> = Vec::new();
        for (batch, rate) in (0..epochs).filter_map(|epoch| self.profile_batch(epoch, model)) {
            if found.iter().all(|(known, _)| *known != batch) {
                found.push((batch, rate * f64::from(batch)));
            }
        }
        let Some((_, first)) = found.first().copied().filter(|(_, first)| *first > 0.0) else {
            return Vec::new();
        };
        let mode = |(batch, speed)| Some(Mode { batch, speed: Ratio::new(speed / first).ok()? });
        found.into_iter().filter_map(mode).collect()
    }

    /// How often gradient-noise scaling has changed the batch by an epoch.
    fn gns_changes(&self, epoch: u64) -> usize {
        self.gns_row().iter().filter(|(from, _)| epoch >= *from).count()
    }

    fn gns_row(&self) -> &'static [(u64, u32)] {
        let row = GNS.iter().find(|(model, batch, gang, _)| {
            *model == self.model && *batch == self.batch && *gang == self.gang
        });
        row.map_or(&[], |(.., steps)| steps)
    }

    /// The batch size in an epoch, by the rule alone.
    pub fn batch_in(&self, epoch: u64) -> u32 {
        let wanted = match self.adaptation {
            Adaptation::Static => self.batch,
            Adaptation::Gns => self.gns_batch(epoch),
            Adaptation::Accordion if self.is_critical(epoch) => self.batch,
            Adaptation::Accordion => self.batch_max().unwrap_or(self.batch),
        };
        // A batch that was never measured, or a job that begins with the largest, stays as it is.
        let fixed =
            self.batch_max().is_none_or(|largest| self.batch >= largest) || !self.rates.contains_key(&wanted);
        if fixed { self.batch } else { wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(adaptation: Adaptation) -> Recipe {
        let rates = [10, 20, 40, 80].map(|batch| (batch, PerModel::all(Rate::ONE))).into();
        Recipe { model: "LM".into(), batch: 10, adaptation, dataset: 59_675, steps: 134_583, gang: 1, rates }
    }

    #[test]
    fn the_batch_follows_the_rule() {
        assert_eq!(recipe(Adaptation::Static).batch_in(50), 10);
        let gns = recipe(Adaptation::Gns);
        assert_eq!([0, 10, 11, 21, 41].map(|epoch| gns.batch_in(epoch)), [10, 10, 20, 40, 80]);
        let accordion = recipe(Adaptation::Accordion);
        assert_eq!([0, 9, 10, 22].map(|epoch| accordion.batch_in(epoch)), [10, 10, 80, 80]);
        assert_eq!(accordion.epochs(), 23);
    }

    #[test]
    fn modes_are_what_the_published_planner_reads() {
        let modes = |adaptation| -> Vec<(u32, f64)> {
            recipe(adaptation).modes().iter().map(|mode| (mode.batch, mode.speed.get())).collect()
        };
        assert_eq!(modes(Adaptation::Static), [(10, 1.0)]);
        assert_eq!(modes(Adaptation::Accordion), [(10, 1.0), (80, 8.0)]);
        assert_eq!(
            modes(Adaptation::Gns),
            [(10, 1.0), (20, 2.0), (40, 4.0)],
            "the job ends before it gets to 80"
        );
        assert_eq!(recipe(Adaptation::Gns).epoch(), Work::from_steps(59_680.0));
    }
}
