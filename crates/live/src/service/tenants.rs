//! What is to change of a tenant, in names, and the tenant that comes of it.

use super::checks::{check_name, invalid};
use crate::request::{Quota, Refusal, TenantChange};
use evenhand_core::{
    GpuCount, GpuModel, ModelIndex, PerModel, Snapshot, Tenant, TenantId, Tenants, Weight, nearest,
};

/// Weights that may be given: sums and parts of them stay far from where numbers end.
const WEIGHTS: (f64, f64) = (1e-6, 1e6);

/// The tenant of this name as it should be; `known` is its number if there is one.
pub(super) fn changed(
    name: &str,
    change: &TenantChange,
    known: Option<TenantId>,
    snapshot: &Snapshot,
) -> Result<Tenant, Refusal> {
    check_name("tenant", name)?;
    let tenants = &*snapshot.tenants;
    let before = known.and_then(|id| tenants.get(id)).cloned();
    let mut tenant = before.unwrap_or_else(|| Tenant::new(TenantId(tenants.len() as u32), name));
    if let Some(weight) = change.weight {
        let fits = Some(weight).filter(|weight| (WEIGHTS.0..=WEIGHTS.1).contains(weight));
        let Some(fits) = fits.and_then(|weight| Weight::new(weight).ok()) else {
            return invalid(format!("weight is {weight}: {} to {} are allowed", WEIGHTS.0, WEIGHTS.1));
        };
        tenant.weight = fits;
    }
    if let Some(group) = &change.group {
        tenant.parent = group.as_ref().map(|group| parent(&tenant, group, tenants)).transpose()?;
    }
    let models = &snapshot.cluster.models;
    if let Some(limit) = &change.limit {
        tenant.limit = limit.as_ref().map(|limit| quota("limit", limit, u32::MAX, models)).transpose()?;
    }
    if let Some(guaranteed) = &change.guaranteed {
        let read = |guaranteed| quota("guaranteed", guaranteed, 0, models);
        tenant.guaranteed = guaranteed.as_ref().map(read).transpose()?;
    }
    // Whoever was given both before may still be given another weight.
    if let (Some(guaranteed), Some(limit)) = (&tenant.guaranteed, &tenant.limit)
        && (change.limit.is_some() || change.guaranteed.is_some())
    {
        let beyond = models
            .iter()
            .zip(guaranteed.values().zip(limit.values()))
            .find(|(_, (most, limit))| most > limit);
        if let Some((model, (GpuCount(guaranteed), GpuCount(limit)))) = beyond {
            let model = &model.name;
            return invalid(format!(
                "guaranteed is {guaranteed} of {model}: the limit of {name} is {limit}, which is the most that can be guaranteed"
            ));
        }
    }
    Ok(tenant)
}

fn parent(tenant: &Tenant, group: &str, tenants: &Tenants) -> Result<TenantId, Refusal> {
    let Some(found) = tenants.iter().find(|other| other.name == group) else {
        let known: Vec<&str> = tenants.iter().map(|other| other.name.as_str()).collect();
        let near = nearest(group, &known).map_or_else(
            || "; make it first, like a tenant".to_owned(),
            |near| format!("; did you mean {near}?"),
        );
        return invalid(format!("group is {group}: there is no such tenant{near}"));
    };
    if tenants.lineage(found.id).any(|member| member.id == tenant.id) {
        return invalid(format!("group is {group}: a group cannot contain itself"));
    }
    Ok(found.id)
}

fn quota(
    field: &str,
    quota: &Quota,
    otherwise: u32,
    models: &[GpuModel],
) -> Result<PerModel<GpuCount>, Refusal> {
    let mut counts = PerModel::all(GpuCount(otherwise));
    for (name, count) in quota {
        let Some(at) = models.iter().position(|model| model.name == *name) else {
            let known: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
            return invalid(format!("{field} has {name}: this cluster has {}", known.join(", ")));
        };
        counts[ModelIndex(at as u16)] = GpuCount(*count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_would_contain_itself_is_refused() {
        let mut table = Tenants::default();
        let tenant = |id: u32, parent: Option<u32>| {
            let name = format!("t{id}");
            Tenant { parent: parent.map(TenantId), ..Tenant::new(TenantId(id), &name) }
        };
        let (first, second) = (tenant(0, None), tenant(1, Some(0)));
        [&first, &second].into_iter().cloned().for_each(|tenant| table.put(tenant));
        assert!(parent(&first, "t1", &table).is_err());
        assert!(parent(&first, "t0", &table).is_err());
        assert!(parent(&second, "t0", &table).is_ok());
    }
}
