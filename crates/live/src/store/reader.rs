//! Looks into the store while it is written to.

use super::batch::NO_RECORD;
use super::error::while_doing;
use super::{Origin, STORE_FILE, StoreError, read_origin, rows};
use evenhand_core::{Command, GpuSet, JobId, LeaseId, Record};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// Where a job is, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Waits for GPUs.
    Queued,
    /// Was put on hold.
    Held,
    /// Has GPUs; its processes are being started.
    Starting,
    /// Runs.
    Running,
    /// Was asked to save and leave.
    Stopping,
    /// Ended well.
    Finished,
    /// Ended by crashing too often, or could not be launched.
    Failed,
    /// Ended because somebody wanted it gone.
    Cancelled,
    /// Ended by its tuner.
    Retired,
}

/// All phases, by name.
const PHASES: [(&str, Phase); 9] = [
    ("queued", Phase::Queued),
    ("held", Phase::Held),
    ("starting", Phase::Starting),
    ("running", Phase::Running),
    ("stopping", Phase::Stopping),
    ("finished", Phase::Finished),
    ("failed", Phase::Failed),
    ("cancelled", Phase::Cancelled),
    ("retired", Phase::Retired),
];

impl Phase {
    /// The names of all.
    pub fn names() -> [&'static str; PHASES.len()] {
        PHASES.map(|(name, _)| name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        PHASES.iter().find(|(_, phase)| *phase == self).map_or("", |(name, _)| name)
    }

    /// The phase of this name.
    pub fn parse(name: &str) -> Option<Self> {
        PHASES.iter().find(|(known, _)| *known == name).map(|(_, phase)| *phase)
    }

    /// Whether the job has ended.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Cancelled | Self::Retired)
    }
}

/// A job, as lists show it. Times are milliseconds since the store was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Its number.
    pub id: JobId,
    /// What its submitter calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    pub tenant: String,
    /// More urgent is larger.
    pub priority: i32,
    /// GPUs it takes.
    pub gpus: u32,
    /// Where it is.
    pub phase: Phase,
    /// When it was submitted.
    pub submitted_ms: u64,
    /// When it first ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<u64>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// The lease it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<u64>,
    /// GPUs it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<GpuSet>,
    /// Leases that began.
    pub starts: u32,
    /// How often it crashed.
    pub crashes: u32,
    /// Steps done, as last heard.
    pub steps: f64,
    /// GPU-time of a job that has ended, in GPU-milliseconds.
    pub attained_ms: u64,
    /// Why it runs or waits, as last decided; of one that was cancelled because of another, that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The array that it is one of the jobs of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<JobId>,
    /// Which of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_index: Option<u32>,
    /// The app that it is one of the jobs of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// When it is wanted by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// Jobs that it still waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<JobId>,
}

/// Which jobs to list.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// Only in these phases; empty: in any.
    pub phases: Vec<Phase>,
    /// Only of this tenant.
    pub tenant: Option<String>,
    /// Only with this name.
    pub name: Option<String>,
    /// Only those of this array.
    pub array: Option<JobId>,
    /// Only those of apps of this name.
    pub app: Option<String>,
    /// Only those whose name contains this, or whose number it is.
    pub search: Option<String>,
    /// Only those after this one.
    pub after: Option<JobId>,
    /// Only those before this one, the latest first.
    pub before: Option<JobId>,
}

/// Some jobs, and whether there are more.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    /// The jobs, by number.
    pub jobs: Vec<JobRow>,
    /// The last of them, if more follow: ask for those after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_after: Option<JobId>,
    /// The same where the latest come first: ask for those before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_before: Option<JobId>,
}

/// A change that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Counts from 1.
    pub number: u64,
    /// When, in milliseconds since the store was made.
    pub at_ms: u64,
    /// The first record that came of it; changes of tokens have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<u64>,
    /// The name of the token.
    pub who: String,
    /// The tenant whose it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What was asked for.
    pub what: String,
}

/// A look into the store, on a connection of its own.
#[derive(Debug)]
pub struct Reader {
    pub(super) connection: Connection,
}

const COLUMNS: &str = "job.id, job.name, tenant.name, priority, gpus, phase, submitted, started, ended, lease, held, starts, \
     crashes, steps, attained, why, array, array_index, (SELECT coalesce(app.name, CAST(app.id AS TEXT)) FROM app WHERE app.id = job.app), deadline, \
     (SELECT group_concat(before) FROM after WHERE after.job = job.id), at_once FROM job JOIN tenant ON tenant.id = job.tenant";

impl Reader {
    /// Opens the store in this folder to look at.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let doing = "opening the store to read";
        let connection =
            Connection::open_with_flags(folder.join(STORE_FILE), flags).map_err(while_doing(doing))?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(while_doing(doing))?;
        Ok(Self { connection })
    }

    /// What the store was made with.
    pub fn origin(&self) -> Result<Option<Origin>, StoreError> {
        read_origin(&self.connection)
    }

    /// At most `limit` jobs that pass the filter, by number.
    pub fn jobs(&self, filter: &JobFilter, limit: usize) -> Result<Page, StoreError> {
        let doing = "listing jobs";
        let (mut conditions, mut values) = (vec!["job.id > ?".to_owned()], Vec::new());
        values.push(Value::from(filter.after.map_or(-1, |after| after.0 as i64)));
        if !filter.phases.is_empty() {
            conditions.push(format!("phase IN ({})", vec!["?"; filter.phases.len()].join(", ")));
            values.extend(filter.phases.iter().map(|phase| Value::from(phase.name().to_owned())));
        }
        if let Some(tenant) = &filter.tenant {
            conditions.push("job.tenant = (SELECT id FROM tenant WHERE name = ?)".to_owned());
            values.push(Value::from(tenant.clone()));
        }
        if let Some(name) = &filter.name {
            conditions.push("job.name = ?".to_owned());
            values.push(Value::from(name.clone()));
        }
        if let Some(array) = filter.array {
            conditions.push("job.array = ?".to_owned());
            values.push(Value::from(array.0 as i64));
        }
        if let Some(app) = &filter.app {
            conditions.push("job.app IN (SELECT id FROM app WHERE name = ?)".to_owned());
            values.push(Value::from(app.clone()));
        }
        if let Some(before) = filter.before {
            conditions.push("job.id < ?".to_owned());
            values.push(Value::from(before.0 as i64));
        }
        if let Some(search) = &filter.search {
            conditions.push("(instr(lower(job.name), lower(?)) > 0 OR CAST(job.id AS TEXT) = ?)".to_owned());
            values.extend([Value::from(search.clone()), Value::from(search.clone())]);
        }
        values.push(Value::from(limit as i64 + 1));
        let order = if filter.before.is_some() { "DESC" } else { "ASC" };
        let conditions = conditions.join(" AND ");
        let select = format!("SELECT {COLUMNS} WHERE {conditions} ORDER BY job.id {order} LIMIT ?");
        let mut select = self.connection.prepare_cached(&select).map_err(while_doing(doing))?;
        let rows = select.query_map(params_from_iter(values), job_row).map_err(while_doing(doing))?;
        let mut jobs = rows.collect::<Result<Vec<_>, _>>().map_err(while_doing(doing))?;
        let more = jobs.len() > limit;
        jobs.truncate(limit);
        let last = jobs.last().filter(|_| more).map(|job| job.id);
        let (next_after, next_before) = if filter.before.is_some() { (None, last) } else { (last, None) };
        Ok(Page { jobs, next_after, next_before })
    }

    /// The job of this number.
    pub fn job(&self, id: JobId) -> Result<Option<JobRow>, StoreError> {
        let select = format!("SELECT {COLUMNS} WHERE job.id = ?1");
        let mut select = self.connection.prepare_cached(&select).map_err(while_doing("reading a job"))?;
        select.query_row([id.0], job_row).optional().map_err(while_doing("reading a job"))
    }

    /// Whether a tenant has this job.
    pub fn is_of(&self, job: JobId, tenant: &str) -> Result<bool, StoreError> {
        let Ok(job) = i64::try_from(job.0) else { return Ok(false) };
        let select =
            "SELECT 1 FROM job JOIN tenant ON tenant.id = job.tenant WHERE job.id = ?1 AND tenant.name = ?2";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing("looking a job up"))?;
        select.exists((job, tenant)).map_err(while_doing("looking a job up"))
    }

    /// The leases that a tenant's jobs had up to a record, and have.
    pub fn leases_of(&self, tenant: &str, until: u64) -> Result<BTreeSet<LeaseId>, StoreError> {
        let doing = "looking leases up";
        let select = "SELECT seq, record FROM ledger WHERE seq <= ?2 AND seq IN (SELECT mention.seq FROM mention JOIN job ON job.id = mention.job
             JOIN tenant ON tenant.id = job.tenant WHERE tenant.name = ?1)";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let mut found = select.query((tenant, until)).map_err(while_doing(doing))?;
        let mut leases = BTreeSet::new();
        while let Some(row) = found.next().map_err(while_doing(doing))? {
            let seq = row.get(0).map_err(while_doing(doing))?;
            let text = row.get_ref(1).and_then(|value| Ok(value.as_str()?)).map_err(while_doing(doing))?;
            for command in rows::record(seq, text)?.commands {
                if let Command::Start(lease) = command
                    && self.is_of(lease.job, tenant)?
                {
                    leases.insert(lease.id);
                }
            }
        }
        Ok(leases)
    }

    /// At most `limit` changes that somebody asked for, after a number, oldest first.
    pub fn asked(&self, after: u64, limit: usize) -> Result<Vec<Asked>, StoreError> {
        let doing = "reading who asked";
        let select =
            "SELECT number, at, seq, who, tenant, what FROM asked WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select.query_map((after, limit as u64), |row| {
            let (number, at_ms, record) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let record = Some(record).filter(|record| *record != NO_RECORD);
            Ok(Asked { number, at_ms, record, who: row.get(3)?, tenant: row.get(4)?, what: row.get(5)? })
        });
        rows.map_err(while_doing(doing))?.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// How many jobs there are in each phase.
    pub fn counts(&self) -> Result<Vec<(Phase, u64)>, StoreError> {
        let doing = "counting jobs";
        let select = "SELECT phase, count(*) FROM job GROUP BY phase";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)));
        let rows = rows.map_err(while_doing(doing))?.collect::<Result<Vec<(String, u64)>, _>>();
        let known = |(name, count): (String, u64)| Some((Phase::parse(&name)?, count));
        Ok(rows.map_err(while_doing(doing))?.into_iter().filter_map(known).collect())
    }

    /// At most `limit` records after a number, with their numbers, as the ledger writes them.
    pub fn records(&self, after: u64, limit: usize) -> Result<Vec<(u64, String)>, StoreError> {
        let doing = "reading the ledger";
        let select = "SELECT seq, record FROM ledger WHERE seq > ?1 ORDER BY seq LIMIT ?2";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select.query_map((after, limit as u64), |row| Ok((row.get(0)?, row.get(1)?)));
        rows.map_err(while_doing(doing))?.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// The records that say something about a job, oldest first; of those about everybody only the latest `general_max`.
    pub fn about(&self, job: JobId, general_max: usize) -> Result<Vec<Record>, StoreError> {
        let doing = "reading what there is about a job";
        let select = "SELECT seq, record FROM ledger WHERE seq IN (SELECT seq FROM mention WHERE job = ?1
             UNION SELECT seq FROM (SELECT seq FROM mention WHERE job = ?2 AND seq > (SELECT seq FROM job WHERE id = ?1)
             ORDER BY seq DESC LIMIT ?3)) ORDER BY seq";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let values = (job.0, rows::EVERYBODY, general_max as u64);
        let mut found = select.query(values).map_err(while_doing(doing))?;
        let mut records = Vec::new();
        while let Some(row) = found.next().map_err(while_doing(doing))? {
            let seq = row.get(0).map_err(while_doing(doing))?;
            let text = row.get_ref(1).and_then(|value| Ok(value.as_str()?)).map_err(while_doing(doing))?;
            records.push(rows::record(seq, text)?);
        }
        Ok(records)
    }
}

fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let phase: String = row.get(5)?;
    let held: Option<String> = row.get(10)?;
    let steps: u64 = row.get(13)?;
    let phase = Phase::parse(&phase).unwrap_or(Phase::Queued);
    let after: Option<String> = row.get(20)?;
    let after = after.iter().flat_map(|list| list.split(',')).filter_map(|job| job.parse().ok().map(JobId));
    let (array, after) = (row.get::<_, Option<u64>>(16)?.map(JobId), after.collect::<Vec<_>>());
    let why: Option<String> = row.get(15)?;
    let turn = array.zip(row.get(21)?).filter(|_| why.is_none());
    let waits = waits(&after, turn).filter(|_| phase == Phase::Queued);
    let why = waits.or(why);
    Ok(JobRow {
        id: JobId(row.get(0)?),
        name: row.get(1)?,
        tenant: row.get(2)?,
        priority: row.get(3)?,
        gpus: row.get(4)?,
        phase,
        submitted_ms: row.get(6)?,
        started_ms: row.get(7)?,
        ended_ms: row.get(8)?,
        lease: row.get(9)?,
        held: held.and_then(|held| serde_json::from_str(&held).ok()),
        starts: row.get(11)?,
        crashes: row.get(12)?,
        steps: evenhand_core::Work(steps).steps(),
        attained_ms: row.get(14)?,
        why,
        array,
        array_index: row.get(17)?,
        app: row.get(18)?,
        deadline_ms: row.get(19)?,
        after,
    })
}

/// Why a job waits that no decision is about: for others, or for its turn among those of its array.
fn waits(after: &[JobId], turn: Option<(JobId, u32)>) -> Option<String> {
    match (after, turn) {
        ([], None) => None,
        ([], Some((array, at_once))) => {
            Some(format!("waits for its turn in array {}, {at_once} at a time", array.0))
        }
        (jobs, _) => Some(format!("waits for {}", jobs_in_words(jobs))),
    }
}

/// `job 12`, `jobs 12 and 13`, `jobs 12, 13 and 7 others`.
pub fn jobs_in_words(jobs: &[JobId]) -> String {
    match jobs {
        [] => "no job".to_owned(),
        [only] => only.to_string(),
        [first, second] => format!("jobs {} and {}", first.0, second.0),
        [first, second, third] => format!("jobs {}, {} and {}", first.0, second.0, third.0),
        [first, second, rest @ ..] => {
            format!("jobs {}, {} and {} others", first.0, second.0, rest.len())
        }
    }
}
