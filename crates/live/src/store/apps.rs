//! Apps: jobs with one goal, as lists show them.

use super::batch::Batch;
use super::error::while_doing;
use super::{Reader, StoreError};
use evenhand_core::{AppId, TenantId};
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};

/// An app, as lists show it. Times are milliseconds since the store was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppRow {
    /// Its number.
    pub id: AppId,
    /// What its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    pub tenant: String,
    /// When its first job came.
    pub opened_ms: u64,
    /// When it was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_ms: Option<u64>,
    /// Jobs that have not ended.
    pub active: u64,
    /// Jobs in all.
    pub jobs: u64,
}

const COLUMNS: &str = "app.id, app.name, tenant.name, opened, closed,
    (SELECT count(*) FROM job WHERE app = app.id AND ended IS NULL), (SELECT count(*) FROM job WHERE app = app.id)
    FROM app JOIN tenant ON tenant.id = app.tenant";

fn app_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<AppRow> {
    Ok(AppRow {
        id: AppId(row.get(0)?),
        name: row.get(1)?,
        tenant: row.get(2)?,
        opened_ms: row.get(3)?,
        closed_ms: row.get(4)?,
        active: row.get(5)?,
        jobs: row.get(6)?,
    })
}

impl Reader {
    /// At most `limit` apps, the youngest first: those that are open, or all; of one tenant, if one is named.
    pub fn apps(&self, all: bool, tenant: Option<&str>, limit: usize) -> Result<Vec<AppRow>, StoreError> {
        let doing = "listing apps";
        let select = format!(
            "SELECT {COLUMNS} WHERE (?1 OR closed IS NULL) AND (?2 IS NULL OR tenant.name = ?2) ORDER BY app.id DESC LIMIT ?3"
        );
        let mut select = self.connection.prepare_cached(&select).map_err(while_doing(doing))?;
        let rows = select.query_map((all, tenant, limit as u64), app_row).map_err(while_doing(doing))?;
        rows.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// The youngest app of this name, or else the one of this number; among those of a tenant, if one is named.
    pub fn app(&self, name: &str, tenant: Option<&str>) -> Result<Option<AppRow>, StoreError> {
        let doing = "looking an app up";
        let number: Option<i64> = name.parse().ok();
        let select = format!(
            "SELECT {COLUMNS} WHERE (app.name = ?1 OR app.id = ?2) AND (?3 IS NULL OR tenant.name = ?3)
             ORDER BY app.name IS ?1 DESC, app.closed IS NULL DESC, app.id DESC LIMIT 1"
        );
        let mut select = self.connection.prepare_cached(&select).map_err(while_doing(doing))?;
        select.query_row((name, number, tenant), app_row).optional().map_err(while_doing(doing))
    }
}

impl Batch<'_> {
    /// The open app of this name that a tenant has.
    pub fn open_app(&self, name: &str, tenant: TenantId) -> Result<Option<AppId>, StoreError> {
        let doing = "looking an app up";
        let select = "SELECT max(id) FROM app WHERE name = ?1 AND tenant = ?2 AND closed IS NULL";
        let mut select = self.connection().prepare_cached(select).map_err(while_doing(doing))?;
        let found = select.query_row((name, tenant.0), |row| row.get::<_, Option<u64>>(0));
        Ok(found.map_err(while_doing(doing))?.map(AppId))
    }

    /// The number of the next app.
    pub fn next_app(&self) -> Result<AppId, StoreError> {
        let doing = "counting apps";
        let mut select = self
            .connection()
            .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM app")
            .map_err(while_doing(doing))?;
        select.query_row([], |row| Ok(AppId(row.get(0)?))).map_err(while_doing(doing))
    }
}
