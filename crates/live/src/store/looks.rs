//! What pages look at: who sits where, and decisions, the latest first.

use super::error::while_doing;
use super::{Phase, Reader, StoreError, rows};
use evenhand_core::{GpuSet, JobId, LeaseId, Record};
use rusqlite::OptionalExtension;

/// A job that holds GPUs.
#[derive(Clone, Debug)]
pub struct Seated {
    /// Which.
    pub job: JobId,
    /// What its submitter calls it.
    pub name: Option<String>,
    /// The name of its tenant.
    pub tenant: String,
    /// Where it is.
    pub phase: Phase,
    /// Its GPUs.
    pub gpus: GpuSet,
}

/// Records with decisions and their numbers, and from where to go on if there may be more.
pub type Decided = (Vec<(u64, Record)>, Option<u64>);

/// Records that are looked through for decisions at a time.
const SCANNED_MAX: u64 = 20_000;

/// Records that are looked through for the beginning of a lease.
const LEASE_SCANNED_MAX: u64 = 50_000;

impl Reader {
    /// The jobs that hold GPUs, by number.
    pub fn seated(&self) -> Result<Vec<Seated>, StoreError> {
        let doing = "reading who sits where";
        let select =
            "SELECT job.id, job.name, tenant.name, phase, held FROM job JOIN tenant ON tenant.id = job.tenant
                      WHERE lease IS NOT NULL AND held IS NOT NULL ORDER BY job.id";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let rows = select.query_map([], |row| {
            let phase = Phase::parse(row.get_ref(3)?.as_str()?).unwrap_or(Phase::Running);
            let gpus = serde_json::from_str(row.get_ref(4)?.as_str()?).unwrap_or_default();
            Ok(Seated { job: JobId(row.get(0)?), name: row.get(1)?, tenant: row.get(2)?, phase, gpus })
        });
        rows.map_err(while_doing(doing))?.collect::<Result<_, _>>().map_err(while_doing(doing))
    }

    /// At most `limit` records with a decision before a number, the latest first, and from where to go on if there may be more.
    pub fn decisions(&self, before: u64, limit: usize) -> Result<Decided, StoreError> {
        let doing = "reading decisions";
        let floor = before.saturating_sub(SCANNED_MAX);
        // The first field of a decision is its round.
        let select = r#"SELECT seq, record FROM ledger WHERE seq < ?1 AND seq >= ?2 AND instr(record, '"d":{"round"') > 0
                        ORDER BY seq DESC LIMIT ?3"#;
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let mut found = select.query((before, floor, limit as u64)).map_err(while_doing(doing))?;
        let mut records: Vec<(u64, Record)> = Vec::new();
        while let Some(row) = found.next().map_err(while_doing(doing))? {
            let seq = row.get(0).map_err(while_doing(doing))?;
            let text = row.get_ref(1).and_then(|value| Ok(value.as_str()?)).map_err(while_doing(doing))?;
            records.push((seq, rows::record(seq, text)?));
        }
        records.retain(|(_, record)| record.decision.is_some());
        let next = if records.len() == limit { records.last().map_or(floor, |(seq, _)| *seq) } else { floor };
        Ok((records, Some(next).filter(|next| *next > 1)))
    }

    /// The first decision after a number.
    pub fn next_decision(&self, after: u64) -> Result<Option<u64>, StoreError> {
        let doing = "reading decisions";
        let select = r#"SELECT seq FROM ledger WHERE seq > ?1 AND seq <= ?2 AND instr(record, '"d":{"round"') > 0 ORDER BY seq LIMIT 1"#;
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let ceiling = after.saturating_add(SCANNED_MAX);
        select.query_row((after, ceiling), |row| row.get(0)).optional().map_err(while_doing(doing))
    }

    /// The record of this number.
    pub fn record(&self, seq: u64) -> Result<Option<Record>, StoreError> {
        let doing = "reading a record";
        let select = "SELECT record FROM ledger WHERE seq = ?1";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let text: Option<String> =
            select.query_row([seq], |row| row.get(0)).optional().map_err(while_doing(doing))?;
        text.map(|text| rows::record(seq, &text)).transpose()
    }

    /// Whose lease it is or was, if it began not too long before a record.
    pub fn job_of_lease(&self, lease: LeaseId, before: u64) -> Result<Option<JobId>, StoreError> {
        let doing = "looking a lease up";
        let select = "SELECT id FROM job WHERE lease = ?1";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let now: Option<u64> =
            select.query_row([lease.0], |row| row.get(0)).optional().map_err(while_doing(doing))?;
        if let Some(job) = now {
            return Ok(Some(JobId(job)));
        }
        let select = "SELECT seq FROM ledger WHERE seq <= ?1 AND seq >= ?2 AND instr(record, ?3) > 0 ORDER BY seq DESC LIMIT 1";
        let mut select = self.connection.prepare_cached(select).map_err(while_doing(doing))?;
        let begins = format!(r#""start":{{"id":{},"#, lease.0);
        let floor = before.saturating_sub(LEASE_SCANNED_MAX);
        let seq: Option<u64> = select
            .query_row((before, floor, begins), |row| row.get(0))
            .optional()
            .map_err(while_doing(doing))?;
        let Some(record) = seq.map(|seq| self.record(seq)).transpose()?.flatten() else { return Ok(None) };
        Ok(record.commands.iter().find_map(|command| match command {
            evenhand_core::Command::Start(begun) if begun.id == lease => Some(begun.job),
            _ => None,
        }))
    }
}
