//! By how much measured slowdowns were off, class by class.

use crate::learned::Learned;
use evenhand_core::{
    Demand, DemandClass, Estimate, GpuModel, Interference, Ratio, SaveError, Saved, SharingMode,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// After so many measurements older ones begin to fade.
const REMEMBERED: f64 = 20.0;
/// So many measurements of a class beside anybody weigh as much as the belief that nothing is off.
const DOUBT_OWN: f64 = 2.0;
/// So many measurements of two classes weigh as much as what one of them was off beside anybody.
const DOUBT_PAIR: f64 = 0.5;
/// A belief is told anew when it has moved by more than this.
const TOLERANCE: f64 = 0.01;

/// As many pairs are remembered; then all are forgotten.
const PAIRS_MAX: usize = 100_000;

/// Whose slowdown, and whether side by side.
type Own = (DemandClass, bool);
/// Whose slowdown, beside whom, and whether side by side.
type Pair = (DemandClass, DemandClass, bool);

/// The mean of logarithms of measured over believed.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Off {
    count: f64,
    mean: f64,
}

impl Off {
    fn take(&mut self, off: f64) {
        self.count = (self.count + 1.0).min(REMEMBERED);
        self.mean += (off - self.mean) / self.count;
    }

    /// Shrunk towards what is believed without it.
    fn shrunk(&self, towards: f64, doubt: f64) -> f64 {
        (self.count * self.mean + doubt * towards) / (self.count + doubt)
    }
}

/// Everything that was measured.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Offs {
    own: BTreeMap<Own, Off>,
    pairs: BTreeMap<Pair, Off>,
}

impl Offs {
    /// Takes a measurement in; says whether something else is told now.
    pub(super) fn take(
        &mut self,
        off: f64,
        own: DemandClass,
        others: &[DemandClass],
        mode: SharingMode,
        told: &mut Arc<Corrected>,
    ) -> bool {
        let mps = mode == SharingMode::Mps;
        if own == DemandClass::default() || !off.is_finite() {
            return false;
        }
        let beside_any = self.own.entry((own, mps)).or_default();
        beside_any.take(off);
        let usual = beside_any.shrunk(0.0, DOUBT_OWN);
        let mut moved = false;
        if is_moved(told.own.get(&(own, mps)).copied(), usual) {
            Arc::make_mut(told).own.insert((own, mps), usual);
            moved = true;
        }
        // Of several others nobody can tell whose fault it is.
        if let [other] = others {
            let pair = (own, *other, mps);
            let beside = self.pairs.entry(pair).or_default();
            beside.take(off);
            let found = beside.shrunk(usual, DOUBT_PAIR);
            if is_moved(told.pairs.get(&pair).map(|told| told.off), found) {
                Arc::make_mut(told).pairs.insert(pair, Told { off: found, count: beside.count });
                moved = true;
            }
        }
        moved
    }
}

fn is_moved(told: Option<f64>, found: f64) -> bool {
    told.is_none_or(|told| (told - found).abs() > TOLERANCE)
}

/// What is told of a pair: by how much trees are off, and after how many measurements.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Told {
    off: f64,
    count: f64,
}

/// What trees see of a pair, and whether side by side.
type Seen = ([u64; 4], [u64; 4], bool);

/// A trained model, and by how much it is off.
#[derive(Clone)]
pub(super) struct Corrected {
    model: Arc<Learned>,
    /// What trees said, because they are asked the same at every decision.
    said: Arc<Mutex<BTreeMap<Seen, f64>>>,
    own: BTreeMap<Own, f64>,
    pairs: BTreeMap<Pair, Told>,
}

impl Corrected {
    /// Of which nothing is known to be off.
    pub(super) fn of(model: Arc<Learned>) -> Self {
        Self { model, said: Arc::default(), own: BTreeMap::new(), pairs: BTreeMap::new() }
    }

    /// All that was found to be off, to be told to another one of the same model.
    pub(super) fn save(&self) -> Result<Saved, SaveError> {
        Saved::of(&(&self.own, &self.pairs))
    }

    /// Takes over what another one has found.
    pub(super) fn load(&mut self, saved: &Saved) -> Result<(), SaveError> {
        (self.own, self.pairs) = saved.read()?;
        Ok(())
    }

    /// The slowdown that trees say.
    pub(super) fn uncorrected(&self, own: &Demand, others: &[&Demand], mode: SharingMode) -> Estimate<Ratio> {
        self.model.among_by(own, others, mode, |other| self.beside(own, other, mode))
    }

    fn beside(&self, own: &Demand, other: &Demand, mode: SharingMode) -> f64 {
        let shares =
            |demand: &Demand| [demand.duty, demand.sm, demand.tensor, demand.bandwidth].map(f64::to_bits);
        let seen = (shares(own), shares(other), mode == SharingMode::Mps);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() >= PAIRS_MAX {
            said.clear();
        }
        *said.entry(seen).or_insert_with(|| self.model.beside(own, other, mode))
    }

    /// What is known of a job beside another: the pair, the job beside anybody, or nothing.
    fn told(&self, own: &Demand, other: &Demand, mps: bool) -> Told {
        let beside_any = || self.own.get(&(own.class, mps)).copied().unwrap_or(0.0);
        let pair = self.pairs.get(&(own.class, other.class, mps)).copied();
        pair.unwrap_or_else(|| Told { off: beside_any(), count: 0.0 })
    }
}

impl Interference for Corrected {
    fn slowdown(
        &self,
        own: &Demand,
        others: &[&Demand],
        _model: &GpuModel,
        mode: SharingMode,
    ) -> Estimate<Ratio> {
        let learned = self.uncorrected(own, others, mode);
        let mps = mode == SharingMode::Mps;
        let told: Vec<Told> = others.iter().map(|other| self.told(own, other, mps)).collect();
        let Some(count) = told.iter().map(|told| told.count).reduce(f64::min) else { return learned };
        let off = told.iter().map(|told| told.off).sum::<f64>() / told.len() as f64;
        let mean = (learned.mean.get() * off.exp()).max(1.0);
        // The more often they were measured together, the surer.
        let spread = (learned.high.get() / learned.mean.get()).powf(1.0 / (1.0 + count).sqrt());
        let ratio = |value: f64| Ratio::new(value).unwrap_or(Ratio::UNLIMITED);
        Estimate { mean: ratio(mean), low: Ratio::ONE, high: ratio(mean * spread) }
    }

    fn version(&self) -> &str {
        self.model.version()
    }
}
