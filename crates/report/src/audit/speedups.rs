//! How fast each tenant's jobs are on each GPU model, relative to one model that is the reference for everybody.
//!
//! ```text
//! s_kj   declared speed of job k on model j; 0 = it cannot run there
//! r      the reference: the model that most jobs are slowest on; of equals the last
//! b_k    r, or where k cannot run there the model that k is slowest on
//! v_k    = gang_k work_k / s_kb: the GPU-time that k asks for; gang_k if some job of the tenant does not declare its work
//! w_ij   = sum_k v_k (s_kj / s_kb) / sum_k v_k      over all jobs k of tenant i, whether they ever ran or not
//! ```
//!
//! Nothing in here depends on what a policy did, so runs of the same work have the same speedups. Which model is the
//! reference is known at the end only, so the sums are kept for every model that might be it.

use evenhand_core::{JobSpec, ModelIndex, PerModel};

/// The speedups of all tenants.
#[derive(Debug, Default)]
pub struct Speedups {
    /// Jobs that are slowest on each model.
    votes: PerModel<u64>,
    tenants: Vec<Tastes>,
}

/// The jobs of one tenant.
#[derive(Clone, Debug, Default)]
struct Tastes {
    by_work: Sums,
    by_gang: Sums,
    /// Whether the work of some job is not known.
    undeclared: bool,
    /// Models that its jobs can run on, the fastest first.
    fastest_first: Vec<ModelIndex>,
}

/// For every model as the reference: the sum of weights and the sum of weighted rows.
#[derive(Clone, Debug, Default)]
struct Sums(PerModel<(f64, PerModel<f64>)>);

impl Speedups {
    /// Takes a job in, with its speed on each model.
    pub fn take(&mut self, spec: &JobSpec, speeds: &PerModel<f64>) {
        let Some(slowest) = slowest(speeds) else { return };
        self.votes[slowest] += 1;
        if self.tenants.len() <= spec.tenant.index() {
            self.tenants.resize_with(spec.tenant.index() + 1, Tastes::default);
        }
        let tastes = &mut self.tenants[spec.tenant.index()];
        let gang = f64::from(spec.gpus.min.0);
        tastes.by_gang.add(speeds, slowest, |_| gang);
        match spec.work {
            Some(work) => tastes.by_work.add(speeds, slowest, |speed| gang * work.steps() / speed),
            None => tastes.undeclared = true,
        }
        tastes.rank(slowest);
    }

    /// The models that a tenant's jobs can run on, the fastest first, as far as its jobs are known by now.
    pub fn fastest_first(&self, tenant: usize) -> &[ModelIndex] {
        self.tenants.get(tenant).map_or(&[], |tastes| &tastes.fastest_first)
    }

    /// The reference, one of these models.
    pub fn reference(&self, models: &[ModelIndex]) -> Option<ModelIndex> {
        models.iter().copied().max_by_key(|model| (self.votes[*model], *model))
    }

    /// The row of a tenant, if some job of it can run.
    pub fn row(&self, tenant: usize, reference: ModelIndex) -> Option<PerModel<f64>> {
        let tastes = self.tenants.get(tenant)?;
        let by_work = (!tastes.undeclared).then(|| tastes.by_work.row(reference)).flatten();
        by_work.or_else(|| tastes.by_gang.row(reference))
    }
}

impl Tastes {
    fn rank(&mut self, reference: ModelIndex) {
        let Some(row) = self.by_gang.row(reference) else { return };
        let models = (0..row.0.len() as u16).map(ModelIndex);
        self.fastest_first = models.filter(|model| row[*model] > 0.0).collect();
        self.fastest_first.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    }
}

impl Sums {
    fn add(&mut self, speeds: &PerModel<f64>, slowest: ModelIndex, weight: impl Fn(f64) -> f64) {
        for (reference, (sum, row)) in self.0.0.iter_mut().enumerate() {
            let own = speeds.0[reference];
            let base = if own > 0.0 { own } else { speeds[slowest] };
            let weight = weight(base);
            *sum += weight;
            row.0.iter_mut().zip(speeds.values()).for_each(|(row, speed)| *row += weight * speed / base);
        }
    }

    fn row(&self, reference: ModelIndex) -> Option<PerModel<f64>> {
        let (sum, mut row) = self.0[reference];
        row.0.iter_mut().for_each(|value| *value /= sum);
        (sum > 0.0).then_some(row)
    }
}

/// The model on which a job is slowest, of those on which it can run.
fn slowest(speeds: &PerModel<f64>) -> Option<ModelIndex> {
    let models = (0..speeds.0.len() as u16).map(ModelIndex);
    models.filter(|model| speeds[*model] > 0.0).min_by(|a, b| speeds[*a].total_cmp(&speeds[*b]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, TenantId, Work};

    fn speeds(first: f64, second: f64) -> PerModel<f64> {
        let mut row = PerModel::default();
        (row.0[0], row.0[1]) = (first, second);
        row
    }

    fn job(gang: u32, work: Option<f64>) -> JobSpec {
        JobSpec::new(JobId(0), TenantId(0), gang, work.map(Work::from_steps))
    }

    fn row(speedups: &Speedups) -> Vec<f64> {
        let models = [ModelIndex(0), ModelIndex(1)];
        let reference = speedups.reference(&models).unwrap();
        models.map(|model| speedups.row(0, reference).unwrap()[model]).to_vec()
    }

    #[test]
    fn jobs_count_with_the_gpu_time_that_they_ask_for() {
        let mut speedups = Speedups::default();
        speedups.take(&job(1, Some(100.0)), &speeds(1.0, 2.0));
        assert_eq!(row(&speedups), [1.0, 2.0]);
        // Three times as much: one GPU, 600 steps at 2 a second.
        speedups.take(&job(1, Some(600.0)), &speeds(2.0, 12.0));
        assert_eq!(row(&speedups), [1.0, 5.0]);
        // The same again where the work of one job is not known: gangs count.
        speedups.take(&job(2, None), &speeds(1.0, 6.0));
        assert_eq!(row(&speedups), [1.0, 5.0]);
        assert_eq!(speedups.fastest_first(0), [ModelIndex(1), ModelIndex(0)]);
    }

    #[test]
    fn a_job_that_cannot_run_on_the_reference_is_measured_where_it_can() {
        let mut speedups = Speedups::default();
        speedups.take(&job(1, None), &speeds(1.0, 3.0));
        speedups.take(&job(1, None), &speeds(0.0, 7.0));
        speedups.take(&job(1, None), &speeds(1.0, 3.0));
        speedups.take(&job(1, None), &speeds(0.0, 0.0));
        let found = row(&speedups);
        assert!((found[0] - 2.0 / 3.0).abs() < 1e-12 && (found[1] - 7.0 / 3.0).abs() < 1e-12, "{found:?}");
    }
}
