//! Who fairness is between.

use crate::{GpuCount, PerModel, TenantId, Weight};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Whom fairness is between. Tenants form a tree: a group is a tenant with children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its number.
    pub id: TenantId,
    /// What people call it.
    pub name: String,
    /// The group it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TenantId>,
    /// How much it counts against the others of its group.
    #[serde(default)]
    pub weight: Weight,
    /// GPUs it can always have back, per model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guaranteed: Option<PerModel<GpuCount>>,
    /// GPUs it may never exceed, per model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<PerModel<GpuCount>>,
}

impl Tenant {
    /// A tenant of weight 1 without group or quota.
    pub fn new(id: TenantId, name: &str) -> Self {
        Self { id, name: name.to_owned(), parent: None, weight: Weight::ONE, guaranteed: None, limit: None }
    }
}

/// All tenants, by number.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tenants {
    rows: Vec<Tenant>,
}

impl Tenants {
    /// Adds a tenant or replaces the one of the same number.
    ///
    /// Numbers are dense; tenants skipped on the way are made, with no quota and weight 1.
    pub fn put(&mut self, tenant: Tenant) {
        let at = tenant.id.index();
        while self.rows.len() <= at {
            let id = TenantId(self.rows.len() as u32);
            self.rows.push(Tenant::new(id, &format!("tenant-{}", id.0)));
        }
        self.rows[at] = tenant;
    }

    /// The part of everything that is each tenant's by weight, among those who have work: 0 to 1, and 0 for one who has none.
    pub fn parts(&self, with_work: impl IntoIterator<Item = TenantId>) -> BTreeMap<TenantId, f64> {
        let busy: BTreeSet<TenantId> =
            with_work.into_iter().flat_map(|id| self.lineage(id).map(|member| member.id)).collect();
        let part = |tenant: &Tenant| {
            let rivals =
                self.rows.iter().filter(|other| other.parent == tenant.parent && busy.contains(&other.id));
            tenant.weight.get() / rivals.map(|other| other.weight.get()).sum::<f64>()
        };
        let whole = |tenant: &Tenant| {
            if busy.contains(&tenant.id) { self.lineage(tenant.id).map(part).product() } else { 0.0 }
        };
        self.rows.iter().map(|tenant| (tenant.id, whole(tenant))).collect()
    }

    /// The tenant of this number.
    pub fn get(&self, id: TenantId) -> Option<&Tenant> {
        self.rows.get(id.index())
    }

    /// The weight of a tenant: 1 for one never declared.
    pub fn weight(&self, id: TenantId) -> Weight {
        self.get(id).map_or(Weight::ONE, |tenant| tenant.weight)
    }

    /// All tenants, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Tenant> {
        self.rows.iter()
    }

    /// One more than the largest number of a tenant.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The tenant itself, its group, the group's group, and so on.
    pub fn lineage(&self, id: TenantId) -> impl Iterator<Item = &Tenant> {
        // A cycle of parents would never end, so the walk takes at most as many steps as there are tenants.
        std::iter::successors(self.get(id), |tenant| self.get(tenant.parent?)).take(self.rows.len())
    }
}
