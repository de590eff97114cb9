//! What part of the cluster a tenant's place in the tree amounts to.

use evenhand_core::{Snapshot, TenantId};
use std::collections::{BTreeMap, BTreeSet};

/// The weight of every tenant with active jobs: the cluster is split by weight among the top tenants that have somebody active
/// below them, each part among their active children, and so on. Fractions of 1.
pub(crate) fn tree_weights(snapshot: &Snapshot, active: &BTreeSet<TenantId>) -> BTreeMap<TenantId, f64> {
    let tenants = &snapshot.tenants;
    // Everybody on the way up from an active tenant takes part among its siblings. A tenant with jobs of its own and
    // children competes with its children.
    let mut members: BTreeMap<Option<TenantId>, BTreeSet<TenantId>> = BTreeMap::new();
    for tenant in active {
        let known = tenants.get(*tenant).is_some();
        if known {
            for member in tenants.lineage(*tenant) {
                members.entry(member.parent).or_default().insert(member.id);
            }
        } else {
            members.entry(None).or_default().insert(*tenant);
        }
    }
    let mut weights = BTreeMap::new();
    let mut below = vec![(None, 1.0)];
    // Each group is met once: a cycle of parents has no way down from the top.
    while let Some((group, part)) = below.pop() {
        let Some(children) = members.get(&group) else { continue };
        let own = group.filter(|group| active.contains(group));
        let weight = |tenant: TenantId| tenants.weight(tenant).get();
        let total: f64 = children.iter().copied().chain(own).map(weight).sum();
        if let Some(own) = own {
            weights.insert(own, part * weight(own) / total);
        }
        for child in children {
            let part = part * weight(*child) / total;
            if members.contains_key(&Some(*child)) {
                below.push((Some(*child), part));
            } else {
                weights.insert(*child, part);
            }
        }
    }
    // Whoever hangs in a cycle of parents still has its own weight.
    let unplaced: Vec<TenantId> =
        active.iter().filter(|tenant| !weights.contains_key(*tenant)).copied().collect();
    for tenant in unplaced {
        weights.insert(tenant, tenants.weight(tenant).get());
    }
    weights
}
