//! Where each tenant stands right now: what its active jobs ask for, and what its leases hold.

use evenhand_core::{GpuCount, JobSpec, Tenant, TenantId, Weight};
use std::collections::BTreeSet;

/// All tenants ever seen, by number.
#[derive(Debug, Default)]
pub struct Standings {
    rows: Vec<Standing>,
    /// Tenants with active jobs or open leases.
    present: BTreeSet<usize>,
    /// How often anything that a fair division depends on has changed.
    pub changes: u64,
    /// How often GPUs have changed hands.
    pub moves: u64,
}

/// One tenant right now.
#[derive(Clone, Debug)]
pub struct Standing {
    /// What people call it.
    pub name: String,
    /// How much it counts against the others.
    pub weight: Weight,
    /// Jobs it ever submitted.
    pub jobs: u64,
    /// Its jobs that have not ended.
    pub active: u64,
    /// The most GPUs that its active jobs can use.
    pub demand: u64,
    /// The most GPUs that those of its active jobs can use that can run at all.
    pub asks: u64,
    /// The most GPUs that it may hold.
    pub limit: u64,
    /// GPUs that its leases hold.
    pub leased: u64,
}

impl Standing {
    /// GPUs that it could use if it were alone.
    pub fn wants(&self) -> f64 {
        self.demand.min(self.limit) as f64
    }
}

impl Standings {
    /// All tenants, by number.
    pub fn rows(&self) -> &[Standing] {
        &self.rows
    }

    /// The places of tenants with active jobs or open leases, in order.
    pub fn present(&self) -> impl Iterator<Item = usize> {
        self.present.iter().copied()
    }

    /// A tenant appears or changes, in a cluster of so many GPU models.
    pub fn change(&mut self, tenant: &Tenant, models_count: usize) {
        let row = self.row(tenant.id);
        let limits =
            tenant.limit.map(|limit| limit.values().take(models_count).map(|gpus| u64::from(gpus.0)).sum());
        row.limit = limits.unwrap_or(u64::MAX);
        row.name.clone_from(&tenant.name);
        row.weight = tenant.weight;
        self.changes += 1;
    }

    /// A job of a tenant was submitted, which can run somewhere or not.
    pub fn arrive(&mut self, spec: &JobSpec, runs: bool) {
        let row = self.row(spec.tenant);
        row.jobs += 1;
        row.active += 1;
        row.demand += u64::from(spec.gpus.max.0);
        row.asks += if runs { u64::from(spec.gpus.max.0) } else { 0 };
        self.changes += 1;
        self.review(spec.tenant);
    }

    /// A job of a tenant has ended.
    pub fn leave(&mut self, spec: &JobSpec, runs: bool) {
        let row = self.row(spec.tenant);
        row.active -= 1;
        row.demand -= u64::from(spec.gpus.max.0);
        row.asks -= if runs { u64::from(spec.gpus.max.0) } else { 0 };
        self.changes += 1;
        self.review(spec.tenant);
    }

    /// A lease of a tenant takes GPUs.
    pub fn hold(&mut self, tenant: TenantId, gpus: GpuCount) {
        self.row(tenant).leased += u64::from(gpus.0);
        self.moves += 1;
        self.review(tenant);
    }

    /// A lease of a tenant gives GPUs back.
    pub fn free(&mut self, tenant: TenantId, gpus: GpuCount) {
        self.row(tenant).leased -= u64::from(gpus.0);
        self.moves += 1;
        self.review(tenant);
    }

    /// Notes that a tenant's jobs or leases have changed, and whether it is still there.
    fn review(&mut self, tenant: TenantId) {
        let (at, row) = (tenant.index(), &self.rows[tenant.index()]);
        let changed =
            if row.active > 0 || row.leased > 0 { self.present.insert(at) } else { self.present.remove(&at) };
        self.changes += u64::from(changed);
    }

    /// The row of a tenant. One never declared has weight 1, as in the engine.
    fn row(&mut self, tenant: TenantId) -> &mut Standing {
        while self.rows.len() <= tenant.index() {
            let name = format!("tenant-{}", self.rows.len());
            let (weight, limit) = (Weight::ONE, u64::MAX);
            let (jobs, active, demand, asks, leased) = (0, 0, 0, 0, 0);
            self.rows.push(Standing { name, weight, jobs, active, demand, asks, limit, leased });
        }
        &mut self.rows[tenant.index()]
    }
}
