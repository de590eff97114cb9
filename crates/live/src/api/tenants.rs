//! Tenants: list with what they hold, change weight, group and quota.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::{Quota, TenantChange, Wish};
use crate::service::Fleet;
use crate::store::{Holder, Phase, Reader, Usage};
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use evenhand_core::{GpuCount, PerModel, Tenant, TenantId, Tenants};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A tenant, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TenantRow {
    /// Its name.
    pub name: String,
    /// The group it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// How much it counts against the others of its group.
    pub weight: f64,
    /// GPUs it may never exceed, of the models that are limited.
    #[serde(default, skip_serializing_if = "Quota::is_empty")]
    pub limit: Quota,
    /// GPUs it can always have back.
    #[serde(default, skip_serializing_if = "Quota::is_empty")]
    pub guaranteed: Quota,
    /// GPUs it holds.
    pub held: Quota,
    /// Its part of all GPUs by weight, among those who have work now: 0 to 1, and 0 if it has none.
    pub share: f64,
    /// Jobs that hold GPUs.
    pub running: u64,
    /// Jobs that wait.
    pub waiting: u64,
    /// GPUs that they ask for.
    pub waiting_gpus: u64,
    /// Jobs that have ended.
    pub ended: u64,
    /// GPU-hours of jobs that have ended.
    pub gpu_hours: f64,
}

/// All tenants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TenantList {
    /// The tenants, by number.
    pub tenants: Vec<TenantRow>,
}

/// `GET /v1/tenants`.
pub(super) async fn list(State(front): State<Arc<Front>>) -> Result<Json<TenantList>, Trouble> {
    Ok(Json(TenantList { tenants: all(&front).await? }))
}

async fn all(front: &Arc<Front>) -> Result<Vec<TenantRow>, Trouble> {
    let look = |reader: &Reader| Ok((reader.tenants()?, reader.usage()?, reader.holders()?));
    let (tenants, usage, holders) = front.look(look).await?;
    let fleet = front.vitals().fleet();
    let shares = shares_of(&tenants, &usage);
    Ok(tenants
        .iter()
        .map(|tenant| row(tenant, &tenants, shares[&tenant.id], &usage, &holders, &fleet))
        .collect())
}

fn row(
    tenant: &Tenant,
    tenants: &[Tenant],
    share: f64,
    usage: &[Usage],
    holders: &[Holder],
    fleet: &Fleet,
) -> TenantRow {
    let own: Vec<&Usage> = usage.iter().filter(|usage| usage.tenant == tenant.name).collect();
    let count =
        |is: fn(Phase) -> bool| own.iter().filter(|usage| is(usage.phase)).map(|usage| usage.jobs).sum();
    let waits = |phase: Phase| matches!(phase, Phase::Queued | Phase::Held);
    let mut held = Quota::new();
    for seat in holders.iter().filter(|holder| holder.tenant == tenant.name).flat_map(|it| it.gpus.seats()) {
        let model = fleet.nodes.get(seat.node.index()).map_or("?", |node| fleet.model_of(node));
        *held.entry(model.to_owned()).or_default() += seat.gpus.count();
    }
    let group = tenant.parent.and_then(|id| tenants.iter().find(|other| other.id == id));
    TenantRow {
        name: tenant.name.clone(),
        group: group.map(|group| group.name.clone()),
        weight: tenant.weight.get(),
        limit: named(tenant.limit, fleet, u32::MAX),
        guaranteed: named(tenant.guaranteed, fleet, 0),
        held,
        share,
        running: count(|phase| !phase.is_end() && !matches!(phase, Phase::Queued | Phase::Held)),
        waiting: count(|phase| matches!(phase, Phase::Queued | Phase::Held)),
        waiting_gpus: own.iter().filter(|usage| waits(usage.phase)).map(|usage| usage.gpus).sum(),
        ended: count(Phase::is_end),
        gpu_hours: own.iter().map(|usage| usage.attained_ms).sum::<u64>() as f64 / 3_600_000.0,
    }
}

/// The part of each tenant by weight among those that have work by this count of jobs.
pub(super) fn shares_of(tenants: &[Tenant], usage: &[Usage]) -> BTreeMap<TenantId, f64> {
    let with_work = usage.iter().filter(|usage| !usage.phase.is_end()).map(|usage| usage.tenant.as_str());
    shares(tenants, &with_work.collect())
}

/// The part of each tenant by weight among those with work.
fn shares(tenants: &[Tenant], with_work: &BTreeSet<&str>) -> BTreeMap<TenantId, f64> {
    let mut table = Tenants::default();
    tenants.iter().cloned().for_each(|tenant| table.put(tenant));
    let busy = tenants.iter().filter(|tenant| with_work.contains(tenant.name.as_str()));
    table.parts(busy.map(|tenant| tenant.id))
}

/// A quota by name, without the models for which it says nothing.
fn named(quota: Option<PerModel<GpuCount>>, fleet: &Fleet, nothing: u32) -> Quota {
    let Some(quota) = quota else { return Quota::new() };
    let models = fleet.models.iter().zip(quota.values());
    let said = models.filter(|(_, count)| count.0 != nothing);
    said.map(|(model, count)| (model.name.clone(), count.0)).collect()
}

/// `POST /v1/tenants/{tenant}`: changes it, or makes it.
pub(super) async fn change(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    body: Result<Json<TenantChange>, JsonRejection>,
) -> Result<Json<TenantRow>, Trouble> {
    let Json(change) = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    front.ask(&who, Wish::ChangeTenant { name: name.clone(), change }).await?;
    let row = all(&front).await?.into_iter().find(|row| row.name == name);
    row.map(Json).ok_or_else(|| Trouble::invalid(format!("tenant {name} did not come to be")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::Weight;

    fn tenant(id: u32, parent: Option<u32>, weight: f64) -> Tenant {
        let name = format!("t{id}");
        let weight = Weight::new(weight).unwrap();
        Tenant { parent: parent.map(TenantId), weight, ..Tenant::new(TenantId(id), &name) }
    }

    #[test]
    fn shares_go_by_weight_among_those_who_have_work() {
        let tenants =
            [tenant(0, None, 1.0), tenant(1, None, 3.0), tenant(2, Some(1), 1.0), tenant(3, Some(1), 2.0)];
        let shares = |with_work: &[&str]| {
            let shares = shares(&tenants, &with_work.iter().copied().collect());
            shares.values().map(|share| (share * 100.0).round() as u32).collect::<Vec<_>>()
        };
        assert_eq!(shares(&["t0", "t2", "t3"]), [25, 75, 25, 50]);
        assert_eq!(shares(&["t0", "t2"]), [25, 75, 75, 0]);
        assert_eq!(shares(&["t0"]), [100, 0, 0, 0]);
    }
}
