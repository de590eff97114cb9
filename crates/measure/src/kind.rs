//! Kinds: jobs of a tenant that were declared alike.

use evenhand_core::{GpuRange, JobSpec, ModelFilter, ModelIndex, PerModel, Rate, TenantId};
use serde::{Deserialize, Serialize};

/// Jobs of one tenant with the same GPU range, the same GPU models and the same declared speeds.
///
/// What is measured on one of them is believed of all: short jobs then have a measured speed before they start. A tenant
/// cannot hide a lie among true reports, because a kind is one report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// Who submits them.
    pub tenant: TenantId,
    /// GPUs that each takes.
    pub gpus: GpuRange,
    models: ModelFilter,
    speeds: PerModel<u64>,
}

impl Kind {
    /// The kind of a job.
    pub fn of(spec: &JobSpec) -> Self {
        let speeds = PerModel(spec.speed_row().0.map(Rate::key));
        Self { tenant: spec.tenant, gpus: spec.gpus, models: spec.models, speeds }
    }

    /// The declared speed on a GPU model.
    pub fn declared(&self, model: ModelIndex) -> Rate {
        Rate::new(f64::from_bits(self.speeds[model])).unwrap_or_default()
    }

    /// Declared speeds on all GPU models.
    pub fn declared_row(&self) -> PerModel<Rate> {
        PerModel(self.speeds.0.map(|bits| Rate::new(f64::from_bits(bits)).unwrap_or_default()))
    }

    /// Whether two jobs are of one kind; cheaper than to compare their kinds.
    pub fn is_shared(one: &JobSpec, other: &JobSpec) -> bool {
        let same = one.tenant == other.tenant && one.gpus == other.gpus && one.models == other.models;
        same && one.speed_row() == other.speed_row()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::JobId;

    #[test]
    fn a_kind_is_one_report_of_one_tenant() {
        let spec = |id, tenant, gpus| JobSpec::new(JobId(id), TenantId(tenant), gpus, None);
        let (one, other) = (spec(1, 0, 2), spec(2, 0, 2));
        let mut faster = spec(3, 0, 2);
        faster.speeds = Some(PerModel::all(Rate::new(2.0).unwrap()));
        for (job, shared) in [(other, true), (spec(4, 1, 2), false), (spec(5, 0, 1), false), (faster, false)]
        {
            assert_eq!(Kind::is_shared(&one, &job), shared, "{}", job.id);
            assert_eq!(Kind::of(&one) == Kind::of(&job), shared, "{}", job.id);
        }
    }
}
