//! Who uses what: leases, tenants, and how long jobs waited.

use super::error::while_doing;
use super::{Phase, Reader, StoreError};
use evenhand_core::{GpuSet, JobId, Tenant};

/// A job that holds GPUs.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Which.
    pub job: JobId,
    /// The name of its tenant.
    pub tenant: String,
    /// Its GPUs.
    pub gpus: GpuSet,
}

/// Jobs of a tenant in one phase.
#[derive(Clone, Debug)]
pub struct Usage {
    /// The name of the tenant.
    pub tenant: String,
    /// The phase.
    pub phase: Phase,
    /// How many jobs.
    pub jobs: u64,
    /// GPUs that they ask for together.
    pub gpus: u64,
    /// GPU-milliseconds of those that have ended.
    pub attained_ms: u64,
}

/// Upper ends of the classes in which waits are counted, in seconds.
pub const WAIT_BOUNDS_S: [u64; 8] = [1, 10, 60, 300, 1_800, 7_200, 43_200, 172_800];

/// How long jobs waited before they first ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many waited at most as long as each bound.
    pub up_to: [u64; WAIT_BOUNDS_S.len()],
    /// How many have run.
    pub count: u64,
    /// How long they waited together.
    pub total_ms: u64,
}

impl Reader {
    /// The jobs that hold GPUs, by number.
    pub fn holders(&self) -> Result<Vec<Holder>, StoreError> {
        let doing = "reading who holds GPUs";
        let select = "SELECT job.id, tenant.name, held FROM job JOIN tenant ON tenant.id = job.tenant
                      WHERE lease IS NOT NULL AND held IS NOT NULL ORDER BY job.id";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select
            .query_map([], |row| {
                let held: String = row.get(2)?;
                let gpus = serde_json::from_str(&held).unwrap_or_default();
                Ok(Holder { job: JobId(row.get(0)?), tenant: row.get(1)?, gpus })
            })
            .map_err(while_doing(doing))?;
        rows.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// All tenants, by number.
    pub fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        let doing = "reading tenants";
        let select = "SELECT tenant FROM tenant ORDER BY id";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select.query_map([], |row| row.get::<_, String>(0)).map_err(while_doing(doing))?;
        let mut tenants = Vec::new();
        for row in rows {
            let text = row.map_err(while_doing(doing))?;
            let damaged = |error| StoreError::Damaged { what: format!("a tenant: {error}") };
            tenants.push(serde_json::from_str(&text).map_err(damaged)?);
        }
        Ok(tenants)
    }

    /// Jobs by tenant and phase.
    pub fn usage(&self) -> Result<Vec<Usage>, StoreError> {
        let doing = "counting jobs of tenants";
        let select = "SELECT tenant.name, phase, count(*), sum(gpus), sum(attained) FROM job
                      JOIN tenant ON tenant.id = job.tenant GROUP BY job.tenant, phase";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select
            .query_map([], |row| {
                let phase: String = row.get(1)?;
                let phase = Phase::parse(&phase).unwrap_or(Phase::Queued);
                let (tenant, jobs, gpus) = (row.get(0)?, row.get(2)?, row.get(3)?);
                Ok(Usage { tenant, phase, jobs, gpus, attained_ms: row.get(4)? })
            })
            .map_err(while_doing(doing))?;
        rows.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// How long jobs waited before they first ran.
    pub fn waits(&self) -> Result<Waits, StoreError> {
        let doing = "counting waits";
        let classes: Vec<String> = WAIT_BOUNDS_S
            .iter()
            .map(|bound| format!("coalesce(sum(started - submitted <= {}), 0)", bound * 1000))
            .collect();
        let select = format!(
            "SELECT count(*), coalesce(sum(started - submitted), 0), {} FROM job WHERE started IS NOT NULL",
            classes.join(", ")
        );
        let mut select = self.connection.prepare_cached(&select).map_err(while_doing(doing))?;
        let found = select.query_row([], |row| {
            let mut waits = Waits { count: row.get(0)?, total_ms: row.get(1)?, ..Waits::default() };
            for (at, up_to) in waits.up_to.iter_mut().enumerate() {
                *up_to = row.get(at + 2)?;
            }
            Ok(waits)
        });
        found.map_err(while_doing(doing))
    }
}
