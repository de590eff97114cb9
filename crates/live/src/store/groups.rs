//! Jobs as people call them: by name, by number, as an array or as one of it.

use super::batch::Batch;
use super::error::while_doing;
use super::{Phase, Reader, StoreError};
use evenhand_core::JobId;
use rusqlite::{Connection, OptionalExtension};
use std::fmt;

/// Whom a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One job.
    Job(JobId),
    /// All jobs of an array, by index.
    Array {
        /// The number of the array.
        array: JobId,
        /// Its jobs, ended ones too.
        members: Vec<JobId>,
    },
}

impl Target {
    /// The number that it is called by.
    pub fn id(&self) -> JobId {
        match self {
            Self::Job(id) | Self::Array { array: id, .. } => *id,
        }
    }

    /// The jobs that it stands for.
    pub fn jobs(&self) -> &[JobId] {
        match self {
            Self::Job(job) => std::slice::from_ref(job),
            Self::Array { members, .. } => members,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(job) => job.fmt(f),
            Self::Array { array, .. } => write!(f, "array {}", array.0),
        }
    }
}

/// The array and the index in a name like `17_3`.
pub(crate) fn member_name(name: &str) -> Option<(i64, u32)> {
    let (array, index) = name.split_once('_')?;
    Some((array.parse().ok()?, index.parse().ok()?))
}

impl Reader {
    /// Whom a name stands for: the youngest job or array of that name, or else the one of that number. Only among those of a tenant, if one
    /// is named.
    pub fn find(&self, name: &str, tenant: Option<&str>) -> Result<Option<Target>, StoreError> {
        find(&self.connection, name, tenant)
    }
}

impl Batch<'_> {
    /// As [`Reader::find`], what was written in this batch included.
    pub fn find(&self, name: &str, tenant: Option<&str>) -> Result<Option<Target>, StoreError> {
        find(self.connection(), name, tenant)
    }

    /// Where a job is.
    pub fn phase(&self, job: JobId) -> Result<Option<Phase>, StoreError> {
        let doing = "looking a job up";
        let mut select = self
            .connection()
            .prepare_cached("SELECT phase FROM job WHERE id = ?1")
            .map_err(while_doing(doing))?;
        let found = select.query_row([job.0], |row| row.get::<_, String>(0)).optional();
        Ok(found.map_err(while_doing(doing))?.and_then(|phase| Phase::parse(&phase)))
    }
}

/// Jobs and arrays have numbers of one sequence, so no number is of both. Jobs that have not ended come first. The index gives the youngest of a name first: a name that thousands of jobs
/// have costs no more than another.
const BY_NAME: &str = "SELECT id, is_array FROM (
    SELECT * FROM (SELECT id, 0 AS is_array FROM job WHERE name = ?1 AND ended IS NULL
        AND (?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2)) ORDER BY id DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT id, 0 FROM job WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE name = ?1 AND ended IS NULL
        AND (?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2)))
        AND (?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2)) ORDER BY id DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT id, 1 FROM array WHERE name = ?1
        AND (?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2)) ORDER BY id DESC LIMIT 1))
    ORDER BY id DESC LIMIT 1";
const BY_NUMBER: &str = "SELECT id, is_array FROM (
    SELECT id, 0 AS is_array, tenant FROM job WHERE id = ?1 UNION ALL SELECT id, 1, tenant FROM array WHERE id = ?1)
    WHERE ?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2)";
const BY_INDEX: &str = "SELECT id, 0 FROM job WHERE array = ?1 AND array_index = ?3
    AND (?2 IS NULL OR tenant = (SELECT id FROM tenant WHERE name = ?2))";

fn find(connection: &Connection, name: &str, tenant: Option<&str>) -> Result<Option<Target>, StoreError> {
    let doing = "looking a job up";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, bool>(1)?));
    let prepare = |sql| connection.prepare_cached(sql).map_err(while_doing(doing));
    let mut found =
        prepare(BY_NAME)?.query_row((name, tenant), row).optional().map_err(while_doing(doing))?;
    // Numbers beyond those of the database belong to no job.
    if let (None, Ok(number)) = (found, name.parse::<i64>()) {
        let by_number = prepare(BY_NUMBER)?.query_row((number, tenant), row).optional();
        found = by_number.map_err(while_doing(doing))?;
    }
    if let (None, Some((array, index))) = (found, member_name(name)) {
        let by_index = prepare(BY_INDEX)?.query_row((array, tenant, index), row).optional();
        found = by_index.map_err(while_doing(doing))?;
    }
    let Some((id, is_array)) = found else { return Ok(None) };
    if !is_array {
        return Ok(Some(Target::Job(JobId(id))));
    }
    let mut members = prepare("SELECT id FROM job WHERE array = ?1 ORDER BY array_index")?;
    let members = members.query_map([id], |row| Ok(JobId(row.get(0)?))).map_err(while_doing(doing))?;
    let members = members.collect::<Result<_, _>>().map_err(while_doing(doing))?;
    Ok(Some(Target::Array { array: JobId(id), members }))
}
