//! Which jobs may share a GPU, and how much time everybody should have alone and with others.
//!
//! Jobs that need not be told apart, also not as neighbours, are one class. A pair of classes is a combination on every model where
//! both run, there are GPUs with more than one slot, and they are believed to get more done together than by taking turns.

use super::relative;
use crate::division::Parties;
use crate::gandiva::{rates, shares};
use evenhand_core::{Demand, Job, JobIndex, ModelIndex, PolicyError, Snapshot};
use evenhand_solve::{Division, Market, Matrix, Pair, max_min_paired};
use std::collections::BTreeMap;

/// The GPUs of each model that every job should be on, alone or beside another.
pub(super) fn divide(snapshot: &Snapshot, jobs: &Parties<'_>) -> Result<Division, PolicyError> {
    if jobs.rows.is_empty() {
        return Ok(Division::empty(&jobs.market));
    }
    let failed = |step: String| PolicyError::Numerical { step };
    let relative = relative(&jobs.market);
    relative.check().map_err(|error| failed(error.to_string()))?;
    let classes = Classes::of(snapshot, jobs, &relative);
    let shareable = shareable(snapshot);
    let (division, _) = max_min_paired(&classes.market, &classes.pairs(snapshot, jobs), &shareable)
        .map_err(|error| failed(error.to_string()))?;
    // Members of a class have the same demand and weight, so each has an equal part.
    let rows: Vec<Vec<f64>> = (classes.of.iter())
        .map(|class| division.shares.row(*class).iter().map(|gpus| gpus / classes.count[*class]).collect())
        .collect();
    Ok(Division { shares: Matrix::from_rows(&rows), ..division })
}

/// GPUs of each model with more than one slot.
fn shareable(snapshot: &Snapshot) -> Vec<f64> {
    let nodes = &snapshot.cluster.nodes;
    let on = |model: ModelIndex| nodes.iter().filter(move |node| node.model == model && node.slots > 1);
    let gpus = |model| on(model).map(|node| f64::from(node.usable().count())).sum();
    snapshot.cluster.model_indices().map(gpus).collect()
}

/// Whether some GPU of a model can be shared by jobs that need this much memory together; one that says nothing has enough.
fn has_room(snapshot: &Snapshot, model: ModelIndex, memory: u64) -> bool {
    let nodes = snapshot.cluster.nodes.iter().filter(|node| node.model == model && node.slots > 1);
    let mut usable = nodes.filter(|node| !node.usable().is_empty());
    usable.any(|node| node.memory.0 == 0 || memory <= node.memory.0)
}

/// Jobs that need not be told apart, also not as neighbours.
struct Classes {
    market: Market,
    /// The class of each job.
    of: Vec<usize>,
    /// The first job of each class, and how many there are.
    first: Vec<usize>,
    count: Vec<f64>,
}

impl Classes {
    fn of(snapshot: &Snapshot, jobs: &Parties<'_>, relative: &Market) -> Self {
        let mut known: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        let (mut of, mut first, mut count) = (Vec::new(), Vec::new(), Vec::<f64>::new());
        for (at, row) in jobs.rows.iter().enumerate() {
            let (index, job) = row.jobs[0];
            let class = *known.entry(key(snapshot, (index, job), relative, at)).or_insert(first.len());
            if class == first.len() {
                first.push(at);
                count.push(0.0);
            }
            count[class] += 1.0;
            of.push(class);
        }
        let rows: Vec<&[f64]> = first.iter().map(|at| relative.speedups.row(*at)).collect();
        let sums = |values: &[f64]| first.iter().zip(&count).map(|(at, count)| values[*at] * count).collect();
        let market = Market::new(Matrix::from_rows(&rows), relative.capacity.clone());
        let market = market.weighing(sums(&relative.weights)).demanding(sums(&relative.demands));
        Self { market, of, first, count }
    }

    /// The pairs of classes that gain by sharing a GPU.
    fn pairs(&self, snapshot: &Snapshot, jobs: &Parties<'_>) -> Vec<Pair> {
        let mut pairs = Vec::new();
        let job = |class: usize| jobs.rows[self.first[class]].jobs[0];
        for a in (0..self.first.len()).filter(|class| shares(job(*class).1)) {
            for b in (a..self.first.len()).filter(|class| shares(job(*class).1)) {
                if a == b && self.count[a] < 2.0 {
                    continue;
                }
                for (model, at) in snapshot.cluster.model_indices().zip(0..) {
                    let speeds = [a, b].map(|class| self.market.speedups.row(class)[at]);
                    let demands = [a, b].map(|class| demand(snapshot, job(class).0, model));
                    let memory =
                        [a, b].map(|class| job(class).1.spec.memory.unwrap_or_default().0).iter().sum();
                    let runs = speeds.iter().all(|speed| *speed > 0.0) && has_room(snapshot, model, memory);
                    if let Some([rate_a, rate_b]) = rates(snapshot, demands, model).filter(|_| runs)
                        && rate_a + rate_b > 1.0 + 1e-9
                    {
                        let throughputs = [speeds[0] * rate_a, speeds[1] * rate_b];
                        pairs.push(Pair { parties: [a, b], model: at, throughputs });
                    }
                }
            }
        }
        pairs
    }
}

fn demand(snapshot: &Snapshot, index: JobIndex, model: ModelIndex) -> &Demand {
    &snapshot.forecast(index).demand[model]
}

/// What makes two jobs the same: speeds, weight, gang, consent, and what they ask of a GPU.
fn key(snapshot: &Snapshot, (index, job): (JobIndex, &Job), market: &Market, at: usize) -> Vec<u64> {
    let mut key = vec![u64::from(job.spec.gpus.min.0), u64::from(shares(job)), market.weights[at].to_bits()];
    key.push(job.spec.memory.unwrap_or_default().0);
    key.extend(market.speedups.row(at).iter().map(|speed| speed.to_bits()));
    for model in snapshot.cluster.model_indices() {
        let Demand { duty, sm, tensor, bandwidth, memory, class } = *demand(snapshot, index, model);
        key.extend([duty, sm, tensor, bandwidth].map(f64::to_bits));
        key.extend([memory.high.0, u64::from(class.0)]);
    }
    key
}
