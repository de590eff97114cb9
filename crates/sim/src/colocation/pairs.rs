//! What pairs of jobs really do to each other.

use crate::ClusterSpec;
use crate::traces::Throughputs;
use crate::truth::{Resident, TrueInterference};
use evenhand_core::{Demand, ModelIndex, Random, SharingMode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a pair was measured, and the sum of what came out.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

/// The key of a measurement: where, how, whose slowdown, beside whom.
type Key = (ModelIndex, bool, Arc<str>, Arc<str>);

/// Measured slowdowns of pairs, and what follows from their demands where nobody measured.
#[derive(Clone, Debug, Default)]
pub struct PairTruth {
    measured: BTreeMap<Key, Mean>,
    /// Pairs that do not fit into the memory of a GPU together.
    unfit: BTreeSet<(ModelIndex, Arc<str>, Arc<str>)>,
    /// By which factor measured pairs were off their rule.
    pub(super) off: BTreeMap<(ModelIndex, bool), Vec<f64>>,
}

impl PairTruth {
    pub(super) fn add(
        &mut self,
        model: ModelIndex,
        mode: SharingMode,
        (own, other): (&str, &str),
        slowdown: f64,
    ) {
        let mean =
            self.measured.entry((model, mode == SharingMode::Mps, own.into(), other.into())).or_default();
        mean.sum += slowdown.max(1.0);
        mean.count += 1;
    }

    /// The pairs of a table of throughputs, on the models that the cluster has too. They were measured under MPS; a pair of zeros on one
    /// GPU does not fit.
    pub(crate) fn of_throughputs(table: &Throughputs, cluster: &ClusterSpec) -> Self {
        let mut truth = Self::default();
        for ((own, other), row) in table.pairs() {
            let (Some(alone), true) = (table.alone(&own.0, own.1), own.1 == 1 && other.1 == 1) else {
                continue;
            };
            for (at, name) in table.models.iter().enumerate() {
                let Some(model) = cluster.model_index(name) else { continue };
                let [mine, theirs] = row.0[at];
                if mine > 0.0 && alone.0[at] > 0.0 {
                    truth.add(model, SharingMode::Mps, (&own.0, &other.0), alone.0[at] / mine);
                } else if mine + theirs <= 0.0 {
                    truth.unfit.insert((model, own.0.as_str().into(), other.0.as_str().into()));
                }
            }
        }
        truth
    }

    fn of(
        &self,
        own: &Resident<'_>,
        other: &Resident<'_>,
        model: ModelIndex,
        mode: SharingMode,
    ) -> Option<f64> {
        let (own, other) = (own.profile?.clone(), other.profile?.clone());
        let mean = self.measured.get(&(model, mode == SharingMode::Mps, own, other))?;
        Some(mean.sum / f64::from(mean.count))
    }
}

impl PairTruth {
    /// What becomes of a job beside another with which nobody has measured it.
    fn by_rule(&self, own: &Resident<'_>, other: &Resident<'_>, model: ModelIndex, mode: SharingMode) -> f64 {
        let rule = by_demand(&own.demand(model), &other.demand(model), mode);
        let (Some(off), Some(one), Some(two)) =
            (self.off.get(&(model, mode == SharingMode::Mps)), own.profile, other.profile)
        else {
            return rule;
        };
        let mut lot = Random::stream(0, &format!("{one} beside {two}"));
        (rule * lot.pick(off).copied().unwrap_or(1.0)).max(1.0)
    }
}

impl TrueInterference for PairTruth {
    fn slowdown(
        &self,
        own: &Resident<'_>,
        others: &[Resident<'_>],
        model: ModelIndex,
        mode: SharingMode,
    ) -> f64 {
        let beside = |other: &Resident<'_>| {
            let known = self.of(own, other, model, mode);
            known.unwrap_or_else(|| self.by_rule(own, other, model, mode)) - 1.0
        };
        1.0 + others.iter().map(beside).sum::<f64>()
    }

    fn is_measured(
        &self,
        own: &Resident<'_>,
        other: &Resident<'_>,
        model: ModelIndex,
        mode: SharingMode,
    ) -> bool {
        self.of(own, other, model, mode).is_some()
    }

    fn fits(&self, own: &Resident<'_>, other: &Resident<'_>, model: ModelIndex) -> bool {
        let (Some(own), Some(other)) = (own.profile, other.profile) else { return true };
        !self.unfit.contains(&(model, own.clone(), other.clone()))
    }
}

/// What becomes of a job beside another when nobody has measured the two.
pub(super) fn by_demand(own: &Demand, other: &Demand, mode: SharingMode) -> f64 {
    match mode {
        SharingMode::TimeSlicing => 1.0 + own.duty * other.duty,
        SharingMode::Mps => {
            let worst = (own.sm + other.sm).max(own.tensor + other.tensor);
            worst.max(own.bandwidth + other.bandwidth).max(1.0)
        }
    }
}
