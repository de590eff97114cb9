//! Kinds of jobs: the jobs of one tenant that gain alike from faster GPU models.
//!
//! ```text
//! s_kj   declared speed of job k on model j; 0 = it cannot run there
//! r      the reference, one model for everybody: the one that most jobs are slowest on; of equals the last
//! w_kj   = s_kj / s_kr, or over the speed on its slowest model if k cannot run on r
//! ```
//!
//! A policy that trades gives each model to those who gain most from it, inside a tenant too; with one row per tenant that
//! could not be seen. A job belongs to the first kind of its tenant whose speeds are within 3 % of its own; when there are
//! [`KINDS_MAX`] kinds, to the one that is nearest. The row of a kind is the mean of its jobs, counted by their gangs.

use super::capacity::add;
use evenhand_core::{JobSpec, ModelIndex, PerModel};

/// Kinds of one tenant, at most: jobs may all differ, and memory must not grow with them.
const KINDS_MAX: usize = 32;

/// Speeds that differ by no more than this part are alike.
const ALIKE: f64 = 0.03;

/// The kinds of all tenants.
#[derive(Debug, Default)]
pub struct Kinds {
    /// Jobs that are slowest on each model.
    votes: PerModel<u64>,
    /// The sum of all rows over the slowest model, each times its gang.
    rows: PerModel<f64>,
    tenants: Vec<Vec<Kind>>,
}

/// One kind.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The speeds of its first job over those on the model that it is slowest on.
    first: PerModel<f64>,
    /// The sum of such rows, each times its gang.
    rows: PerModel<f64>,
    /// The sum of gangs.
    gangs: f64,
    /// GPU-seconds that its jobs ask for on the model that they are slowest on.
    asked_s: f64,
    /// Whether the work of some job is not known.
    undeclared: bool,
}

impl Kinds {
    /// Takes a job in; gives the place of its kind among those of its tenant.
    pub fn take(&mut self, spec: &JobSpec) -> Option<usize> {
        let (row, slowest, speed) = relative(spec)?;
        self.votes[slowest] += 1;
        let tenant = spec.tenant.index();
        if self.tenants.len() <= tenant {
            self.tenants.resize_with(tenant + 1, Vec::new);
        }
        let kinds = &mut self.tenants[tenant];
        let at = kind_of(kinds, &row).unwrap_or_else(|| {
            kinds.push(Kind::of(row));
            kinds.len() - 1
        });
        let (kind, gang) = (&mut kinds[at], f64::from(spec.gpus.min.0));
        kind.gangs += gang;
        add(&mut kind.rows, &row, gang);
        add(&mut self.rows, &row, gang);
        match spec.work {
            Some(work) => kind.asked_s += gang * work.steps() / speed,
            None => kind.undeclared = true,
        }
        Some(at)
    }

    /// The models in the order of how fast jobs are on them, on average.
    pub fn fastest_first(&self) -> Vec<ModelIndex> {
        fastest_first(&self.rows)
    }

    /// The place of a job's kind among those of its tenant.
    pub fn find(&self, spec: &JobSpec) -> Option<usize> {
        kind_of(self.tenants.get(spec.tenant.index())?, &relative(spec)?.0)
    }

    /// The kinds of a tenant.
    pub fn of(&self, tenant: usize) -> &[Kind] {
        self.tenants.get(tenant).map_or(&[], Vec::as_slice)
    }

    /// The models that some kind of a tenant runs on.
    pub fn runs_on(&self, tenant: usize) -> Vec<ModelIndex> {
        let mut sum = PerModel::default();
        self.of(tenant).iter().for_each(|kind| add(&mut sum, &kind.first, 1.0));
        fastest_first(&sum)
    }

    /// The reference, one of these models.
    pub fn reference(&self, models: &[ModelIndex]) -> Option<ModelIndex> {
        models.iter().copied().max_by_key(|model| (self.votes[*model], *model))
    }

    /// The mean row of a tenant: kinds count with the GPU-time that they ask for on the reference, or with their gangs if
    /// some job does not declare its work. Policies change nothing about it.
    pub fn mean(&self, tenant: usize, reference: ModelIndex) -> Option<PerModel<f64>> {
        let kinds = self.of(tenant);
        let by_work =
            kinds.iter().all(|kind| !kind.undeclared) && kinds.iter().any(|kind| kind.asked_s > 0.0);
        let (mut sum, mut weights) = (PerModel::default(), 0.0);
        for kind in kinds {
            let weight = if by_work { kind.asked_s / kind.unit(reference) } else { kind.gangs };
            weights += weight;
            add(&mut sum, &kind.row(reference), weight);
        }
        sum.0.iter_mut().for_each(|value| *value /= weights);
        (weights > 0.0).then_some(sum)
    }
}

impl Kind {
    fn of(first: PerModel<f64>) -> Self {
        Self { first, rows: PerModel::default(), gangs: 0.0, asked_s: 0.0, undeclared: false }
    }

    /// w of its jobs.
    pub fn row(&self, reference: ModelIndex) -> PerModel<f64> {
        let unit = self.unit(reference) * self.gangs;
        PerModel(self.rows.0.map(|value| value / unit))
    }

    /// How much faster than on their slowest model its jobs are on the reference, if they run there.
    fn unit(&self, reference: ModelIndex) -> f64 {
        let unit = self.rows[reference] / self.gangs;
        if unit > 0.0 { unit } else { 1.0 }
    }
}

/// Models that one can run on, the fastest first.
pub fn fastest_first(row: &PerModel<f64>) -> Vec<ModelIndex> {
    let models = (0..row.0.len() as u16).map(ModelIndex);
    let mut order: Vec<ModelIndex> = models.filter(|model| row[*model] > 0.0).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    order
}

/// The first kind that is alike; if there is none and there may be no more, the nearest.
fn kind_of(kinds: &[Kind], row: &PerModel<f64>) -> Option<usize> {
    let pairs = |kind: &Kind| kind.first.0.into_iter().zip(row.0);
    let alike = kinds.iter().position(|kind| pairs(kind).all(|(a, b)| (a - b).abs() <= ALIKE * a.max(b)));
    let differ = |(a, b): (f64, f64)| if a.max(b) > 0.0 { (a - b).abs() / a.max(b) } else { 0.0 };
    let far = |at: &usize| pairs(&kinds[*at]).map(differ).sum::<f64>();
    let nearest = || (0..kinds.len()).min_by(|a, b| far(a).total_cmp(&far(b)));
    alike.or_else(|| (kinds.len() >= KINDS_MAX).then(nearest).flatten())
}

/// A job's speeds over its speed on the model that it is slowest on, that model, and that speed.
fn relative(spec: &JobSpec) -> Option<(PerModel<f64>, ModelIndex, f64)> {
    let speeds = PerModel(spec.speed_row().0.map(f64::from));
    let models = (0..speeds.0.len() as u16).map(ModelIndex).filter(|model| speeds[*model] > 0.0);
    let slowest = models.min_by(|a, b| speeds[*a].total_cmp(&speeds[*b]))?;
    let speed = speeds[slowest];
    Some((PerModel(speeds.0.map(|value| value / speed)), slowest, speed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{JobId, Rate, TenantId, Work};

    fn job(gang: u32, work: Option<f64>, first: f64, second: f64) -> JobSpec {
        let mut speeds = PerModel::all(Rate::ZERO);
        (speeds.0[0], speeds.0[1]) = (Rate::new(first).unwrap(), Rate::new(second).unwrap());
        let spec = JobSpec::new(JobId(0), TenantId(0), gang, work.map(Work::from_steps));
        JobSpec { speeds: Some(speeds), ..spec }
    }

    /// The mean row in thousandths.
    fn mean(kinds: &Kinds) -> [u64; 2] {
        let models = [ModelIndex(0), ModelIndex(1)];
        let reference = kinds.reference(&models).unwrap();
        models.map(|model| (kinds.mean(0, reference).unwrap()[model] * 1e3).round() as u64)
    }

    #[test]
    fn jobs_count_with_the_gpu_time_that_they_ask_for() {
        let mut kinds = Kinds::default();
        kinds.take(&job(1, Some(100.0), 1.0, 2.0));
        assert_eq!(mean(&kinds), [1000, 2000]);
        // Three times as much: one GPU, 600 steps at 2 a second.
        kinds.take(&job(1, Some(600.0), 2.0, 12.0));
        assert_eq!(mean(&kinds), [1000, 5000]);
        // Where the work of one job is not known, gangs count.
        kinds.take(&job(2, None, 1.0, 6.0));
        assert_eq!(mean(&kinds), [1000, 5000]);
        assert_eq!(kinds.of(0).len(), 2);
    }

    #[test]
    fn a_job_that_cannot_run_on_the_reference_is_measured_where_it_can() {
        let mut kinds = Kinds::default();
        for (first, second) in [(1.0, 3.0), (0.0, 7.0), (1.0, 3.01), (0.0, 0.0)] {
            kinds.take(&job(1, None, first, second));
        }
        assert_eq!(mean(&kinds), [667, 2337]);
    }

    #[test]
    fn jobs_that_all_differ_are_put_with_the_nearest_and_found_again() {
        let mut kinds = Kinds::default();
        let jobs: Vec<JobSpec> = (0..200).map(|at| job(1, None, 1.0, 1.0 + f64::from(at))).collect();
        let places: Vec<Option<usize>> = jobs
            .iter()
            .map(|job| {
                kinds.take(job);
                kinds.find(job)
            })
            .collect();
        assert_eq!(kinds.of(0).len(), KINDS_MAX);
        assert!(jobs.iter().zip(&places).all(|(job, place)| place.is_some() && kinds.find(job) == *place));
    }
}
