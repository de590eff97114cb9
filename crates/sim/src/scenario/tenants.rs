//! The `[[tenant]]` tables of a scenario: weights, groups, quotas.

use super::Scenario;
use crate::{ClusterSpec, InputError, SimJob, Workload};
use evenhand_core::{GpuCount, ModelIndex, PerModel, Tenant, TenantId, Tenants, Weight};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TenantTable {
    pub(super) name: String,
    weight: Option<f64>,
    parent: Option<String>,
    limit: Option<BTreeMap<String, u32>>,
    guaranteed: Option<BTreeMap<String, u32>>,
    #[serde(default)]
    pub(super) reports: BTreeMap<String, f64>,
}

impl Scenario {
    /// Gives tenants their weights, groups and quotas.
    pub(super) fn name_tenants(
        &self,
        workload: &mut Workload,
        cluster: &ClusterSpec,
    ) -> Result<(), InputError> {
        for table in &self.tenant {
            if !workload.tenants.iter().any(|tenant| tenant.name == table.name) {
                let id = TenantId(workload.tenants.len() as u32);
                workload.tenants.push(Tenant::new(id, &table.name));
            }
        }
        let numbers: BTreeMap<String, TenantId> =
            workload.tenants.iter().map(|tenant| (tenant.name.clone(), tenant.id)).collect();
        for table in &self.tenant {
            let tenant = &mut workload.tenants[numbers[&table.name].index()];
            if let Some(weight) = table.weight {
                let wrong = |_| InputError::field(0, "weight", weight, "a weight is a positive number");
                tenant.weight =
                    Weight::new(weight).map_err(wrong).map_err(|error| error.within(&self.path))?;
            }
            if let Some(parent) = &table.parent {
                let known = numbers.get(parent).copied();
                let wrong =
                    || InputError::field(0, "parent", parent, "there is no such tenant").within(&self.path);
                tenant.parent = Some(known.ok_or_else(wrong)?);
            }
            tenant.limit = self.quota(table.limit.as_ref(), cluster, u32::MAX)?;
            tenant.guaranteed = self.quota(table.guaranteed.as_ref(), cluster, 0)?;
        }
        Ok(())
    }

    /// Refuses groups that contain themselves, tenants without jobs or members, and limits that some job can never meet.
    pub(super) fn check_tenants(&self, workload: &Workload, cluster: &ClusterSpec) -> Result<(), InputError> {
        let wrong = |field: &str, value: &str, allowed: String| {
            Err(InputError::field(0, field, value, allowed).within(&self.path))
        };
        let mut tenants = Tenants::default();
        workload.tenants.iter().cloned().for_each(|tenant| tenants.put(tenant));
        for (at, table) in self.tenant.iter().enumerate() {
            if self.tenant[..at].iter().any(|other| other.name == table.name) {
                return wrong("a tenant", &table.name, "it stands there twice".into());
            }
        }
        for tenant in &workload.tenants {
            // A walk that does not end within as many steps as there are tenants goes round in circles.
            let steps = std::iter::successors(Some(tenant), |tenant| tenants.get(tenant.parent?));
            if steps.take(workload.tenants.len() + 1).count() > workload.tenants.len() {
                return wrong("the parent of a tenant", &tenant.name, "a group cannot contain itself".into());
            }
            let has_jobs = || workload.jobs.iter().any(|job| job.truth.tenant == tenant.id);
            let has_members = || workload.tenants.iter().any(|other| other.parent == Some(tenant.id));
            // A made-up workload may know more tenants than happen to come up in it.
            let is_named = self.tenant.iter().any(|table| table.name == tenant.name);
            if is_named && !has_jobs() && !has_members() {
                return wrong("a tenant", &tenant.name, "no job of the workload belongs to it".into());
            }
        }
        let fits = |job: &SimJob, model: ModelIndex| {
            let within =
                |tenant: &Tenant| tenant.limit.is_none_or(|limit| job.truth.gpus.min <= limit[model]);
            job.truth.speed(model).get() > 0.0
                && job.truth.gpus.min.0 <= cluster.gpus_of(model)
                && tenants.lineage(job.truth.tenant).all(within)
        };
        let models = || (0..cluster.models.len() as u16).map(ModelIndex);
        let stuck = workload
            .jobs
            .iter()
            .find(|job| !job.truth.mixes_models && !models().any(|model| fits(job, model)));
        stuck.map_or(Ok(()), |job| {
            let tenant = tenants.get(job.truth.tenant).map_or("", |tenant| tenant.name.as_str());
            let (name, gpus) = (job.truth.name(), job.truth.gpus.min.0);
            wrong(
                "the limit of tenant",
                tenant,
                format!("its job {name} needs {gpus} GPUs at once and could never start"),
            )
        })
    }

    fn quota(
        &self,
        table: Option<&BTreeMap<String, u32>>,
        cluster: &ClusterSpec,
        otherwise: u32,
    ) -> Result<Option<PerModel<GpuCount>>, InputError> {
        let Some(table) = table else { return Ok(None) };
        let mut quota = PerModel::all(GpuCount(otherwise));
        for (name, gpus) in table {
            let model = cluster.model_index(name);
            let wrong = || {
                InputError::field(0, "a GPU model", name, "the cluster has no such model").within(&self.path)
            };
            quota[model.ok_or_else(wrong)?] = GpuCount(*gpus);
        }
        Ok(Some(quota))
    }
}
