//! Who takes part in a division: a row for every tenant and class of jobs, or for every job.

use super::weights::tree_weights;
use evenhand_core::{ClassIndex, GpuCount, Job, JobIndex, JobState, ModelIndex, Party, Snapshot, TenantId};
use evenhand_fairness::packable;
use evenhand_solve::{Market, Matrix};
use std::collections::{BTreeMap, BTreeSet};

/// One party: the jobs of one class of one tenant, or a single job.
pub(crate) struct Row<'a> {
    pub party: Party,
    /// Every job of the class takes the same number of GPUs.
    pub gang: GpuCount,
    /// In the order they are served: those that hold GPUs, then those that wait longest.
    pub jobs: Vec<(JobIndex, &'a Job)>,
}

/// All parties, and the market they are in.
pub(crate) struct Parties<'a> {
    pub rows: Vec<Row<'a>>,
    pub market: Market,
    /// Jobs that can run on no GPU model that there is.
    pub nowhere: Vec<&'a Job>,
}

impl<'a> Parties<'a> {
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let mut groups: BTreeMap<(TenantId, ClassIndex), Vec<(JobIndex, &'a Job)>> = BTreeMap::new();
        let mut nowhere = Vec::new();
        for (index, job) in snapshot.jobs.iter().filter(|(_, job)| job.state != JobState::Held) {
            if speeds(snapshot, index, job).iter().any(|speed| *speed > 0.0) {
                groups.entry((job.spec.tenant, job.class)).or_default().push((index, job));
            } else {
                nowhere.push(job);
            }
        }
        nowhere.sort_unstable_by_key(|job| job.spec.id);
        let mut rows: Vec<Row<'a>> = Vec::with_capacity(groups.len());
        for ((tenant, class), mut jobs) in groups {
            jobs.sort_unstable_by_key(|(_, job)| (job.is_queued(), job.queue_key()));
            let gang = jobs[0].1.spec.gpus.min;
            rows.push(Row { party: Party::TenantClass(tenant, class), gang, jobs });
        }
        // Places in tables mean nothing, so the order is that of tenants and of their oldest jobs.
        rows.sort_by_key(|row| {
            let oldest = row.jobs.iter().map(|(_, job)| job.queue_key()).min();
            (row.tenant(), oldest)
        });
        let market = market(snapshot, &rows);
        Self { rows, market, nowhere }
    }

    /// Every job a party of its own, in the order of the queue.
    ///
    /// ```text
    /// w_ij = r_ij / max_l r_il      D_i = g_i      pi_i = weight of the tenant, over the largest
    /// ```
    pub fn of_jobs(snapshot: &'a Snapshot) -> Self {
        let mut jobs: Vec<_> = snapshot.jobs.iter().filter(|(_, job)| job.state != JobState::Held).collect();
        jobs.sort_unstable_by_key(|(_, job)| job.queue_key());
        let (mut rows, mut speedups, mut nowhere) = (Vec::new(), Vec::new(), Vec::new());
        for (index, job) in jobs {
            let speeds = speeds(snapshot, index, job);
            let fastest = speeds.iter().copied().fold(0.0, f64::max);
            if fastest > 0.0 {
                speedups.push(speeds.iter().map(|speed| speed / fastest).collect::<Vec<f64>>());
                let party = Party::Job(job.spec.id);
                rows.push(Row { party, gang: job.spec.gpus.min, jobs: vec![(index, job)] });
            } else {
                nowhere.push(job);
            }
        }
        let weight = |row: &Row<'_>| snapshot.tenants.weight(row.tenant()).get();
        let largest = rows.iter().map(weight).fold(0.0, f64::max);
        let weights = rows.iter().map(|row| weight(row) / largest).collect();
        let demands = rows.iter().map(|row| f64::from(row.gang.0)).collect();
        let market = Market::new(Matrix::from_rows(&speedups), capacity(snapshot));
        Self { rows, market: market.weighing(weights).demanding(demands), nowhere }
    }
}

fn capacity(snapshot: &Snapshot) -> Vec<f64> {
    let models = snapshot.cluster.model_indices();
    models.map(|model| f64::from(snapshot.cluster.capacity(model).0)).collect()
}

impl Row<'_> {
    pub fn tenant(&self) -> TenantId {
        self.jobs[0].1.spec.tenant
    }

    /// What its jobs take at a time, and how often: the gangs, and what elastic jobs can take beyond.
    fn gangs(&self) -> [(u32, u32); 2] {
        let more = self.jobs.iter().map(|(_, job)| job.spec.gpus.max.less(job.spec.gpus.min).0).sum();
        [(self.gang.0, self.jobs.len() as u32), (1, more)]
    }
}

fn market(snapshot: &Snapshot, rows: &[Row<'_>]) -> Market {
    let all: Vec<Vec<f64>> = rows.iter().map(|row| speeds(snapshot, row.jobs[0].0, row.jobs[0].1)).collect();
    let capacity: Vec<f64> = snapshot
        .cluster
        .model_indices()
        .map(|model| {
            let runs = rows.iter().zip(&all).filter(|(_, speeds)| speeds[usize::from(model.0)] > 0.0);
            let gangs: Vec<(u32, u32)> = runs.flat_map(|(row, _)| row.gangs()).collect();
            f64::from(packable(snapshot.cluster.capacity(model).0, &gangs))
        })
        .collect();
    let reference = reference(rows, &all);
    let scaled: Vec<Vec<f64>> = all.iter().map(|speeds| relative_to(reference, speeds)).collect();
    let active: BTreeSet<TenantId> = rows.iter().map(Row::tenant).collect();
    let weights = tree_weights(snapshot, &active);
    let mut classes: BTreeMap<TenantId, f64> = BTreeMap::new();
    for row in rows {
        *classes.entry(row.tenant()).or_default() += 1.0;
    }
    let weight = |row: &Row<'_>| weights[&row.tenant()] / classes[&row.tenant()];
    let demand = |row: &Row<'_>| row.jobs.iter().map(|(_, job)| f64::from(job.spec.gpus.max.0)).sum();
    Market::new(Matrix::from_rows(&scaled), capacity)
        .weighing(rows.iter().map(weight).collect())
        .demanding(rows.iter().map(demand).collect())
}

/// The speed of a job on each model that there are GPUs of.
fn speeds(snapshot: &Snapshot, index: JobIndex, job: &Job) -> Vec<f64> {
    let speed = |model: ModelIndex| {
        let runs = job.spec.models.allows(model) && job.spec.gpus.min <= snapshot.cluster.capacity(model);
        if runs { snapshot.forecast(index).speed[model].mean.get() } else { 0.0 }
    };
    snapshot.cluster.model_indices().map(speed).collect()
}

/// The model on which most jobs are slowest; of equals the last. One for all, because the scale of a row matters to some rules.
fn reference(rows: &[Row<'_>], speeds: &[Vec<f64>]) -> usize {
    let models = speeds.first().map_or(0, Vec::len);
    let mut votes = vec![0_usize; models];
    for (row, speeds) in rows.iter().zip(speeds) {
        if let Some(slowest) = slowest(speeds) {
            votes[slowest] += row.jobs.len();
        }
    }
    (0..models).max_by_key(|model| (votes[*model], *model)).unwrap_or(0)
}

fn slowest(speeds: &[f64]) -> Option<usize> {
    let runs = (0..speeds.len()).filter(|model| speeds[*model] > 0.0);
    runs.min_by(|a, b| speeds[*a].total_cmp(&speeds[*b]))
}

/// A party that cannot run on the reference model is measured against the slowest on which it can.
fn relative_to(reference: usize, speeds: &[f64]) -> Vec<f64> {
    let base = if speeds[reference] > 0.0 { Some(reference) } else { slowest(speeds) };
    let unit = base.map_or(1.0, |model| speeds[model]);
    speeds.iter().map(|speed| speed / unit).collect()
}
