//! Records, and what follows from them, written together.

use super::StoreError;
use super::error::while_doing;
use super::rows::{is_crash, lease_of, mentioned};
use crate::request::Asker;
use evenhand_core::{
    App, Command, Event, JobId, JobSpec, LeaseId, Note, Outcome, Record, StopReason, Tenant, TenantId, Time,
    Work,
};
use rusqlite::{Connection, OptionalExtension, Params, Transaction};
use std::collections::BTreeMap;

/// Stands for no record: they count from 1.
pub(super) const NO_RECORD: u64 = 0;

/// What is stored of a submission besides its record.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The job.
    pub job: JobId,
    /// The client's key, if it gave one.
    pub key: Option<String>,
    /// What was submitted, to tell a repetition from another submission under the same key.
    pub content: String,
    /// What the job runs, as JSON.
    pub program: String,
    /// The system user as whom it runs. Not part of the program: whoever submits does not choose.
    pub user: Option<String>,
}

/// Records that will be on disk together, or not at all. Dropping it undoes them; the store must be opened again then.
#[derive(Debug)]
pub struct Batch<'a> {
    transaction: Transaction<'a>,
    last: &'a mut u64,
    leases: &'a mut BTreeMap<LeaseId, JobId>,
    tenants: &'a mut BTreeMap<String, TenantId>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        transaction: Transaction<'a>,
        last: &'a mut u64,
        leases: &'a mut BTreeMap<LeaseId, JobId>,
        tenants: &'a mut BTreeMap<String, TenantId>,
    ) -> Self {
        Self { transaction, last, leases, tenants }
    }

    /// Appends a record; gives its number.
    pub fn append(&mut self, record: &Record) -> Result<u64, StoreError> {
        let seq = *self.last + 1;
        let text = serde_json::to_string(record).expect("a record can be written as JSON");
        self.write("INSERT INTO ledger (seq, record) VALUES (?1, ?2)", (seq, text))?;
        self.take_event(seq, record)?;
        for command in &record.commands {
            self.take_command(seq, record.now, command)?;
        }
        for note in &record.notes {
            match note {
                // Why it would wait is no news of a job on hold.
                Note::Waits { job, reason } => self.write(
                    "UPDATE job SET why = ?2 WHERE id = ?1 AND NOT on_hold",
                    (job.0, reason.sentence()),
                )?,
                Note::Forsaken { job, by, outcome } => {
                    let why = forsaken(*by, *outcome);
                    self.write("UPDATE job SET why = ?2 WHERE id = ?1", (job.0, why))?;
                }
                _ => {}
            }
        }
        for job in mentioned(record, self.leases) {
            self.write("INSERT OR IGNORE INTO mention (job, seq) VALUES (?1, ?2)", (job, seq))?;
        }
        self.forget_lease(&record.event);
        *self.last = seq;
        Ok(seq)
    }

    /// Adds what is stored of a submission besides its record.
    pub fn submit(&mut self, submission: &Submission) -> Result<(), StoreError> {
        let Submission { job, key, content, program, user } = submission;
        let insert = "INSERT INTO submission (job, key, content, program, user) VALUES (?1, ?2, ?3, ?4, ?5)";
        self.write(insert, (job.0, key, content, program, user))
    }

    /// Notes who asked for what comes next; a change of which the ledger says nothing has no record.
    pub fn asked(
        &mut self,
        now: Time,
        asker: &Asker,
        what: &str,
        has_record: bool,
    ) -> Result<(), StoreError> {
        let insert = "INSERT INTO asked (at, seq, who, tenant, what) VALUES (?1, ?2, ?3, ?4, ?5)";
        let record = if has_record { *self.last + 1 } else { NO_RECORD };
        self.write(insert, (now.0, record, &asker.name, &asker.tenant, what))
    }

    /// What was submitted under a client key, in this batch or before: the job, the content it was submitted with, and
    /// the system user as whom it runs.
    pub fn by_key(&self, key: &str) -> Result<Option<(JobId, String, Option<String>)>, StoreError> {
        let doing = "looking a key up";
        let select = "SELECT job, content, user FROM submission WHERE key = ?1";
        let mut select = self.transaction.prepare_cached(select).map_err(while_doing(doing))?;
        let found = select.query_row([key], |row| Ok((JobId(row.get(0)?), row.get(1)?, row.get(2)?)));
        found.optional().map_err(while_doing(doing))
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.transaction
    }

    /// The number of a tenant.
    pub fn tenant(&self, name: &str) -> Option<TenantId> {
        self.tenants.get(name).copied()
    }

    /// Puts everything on disk. When this returns, it is there.
    pub fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().map_err(while_doing("writing the ledger"))
    }

    fn write<P: Params>(&self, sql: &str, values: P) -> Result<(), StoreError> {
        let doing = "writing the ledger";
        let mut statement = self.transaction.prepare_cached(sql).map_err(while_doing(doing))?;
        statement.execute(values).map_err(while_doing(doing))?;
        Ok(())
    }

    fn take_event(&mut self, seq: u64, record: &Record) -> Result<(), StoreError> {
        let now = record.now.0;
        match &record.event {
            Event::TenantChanged(tenant) => self.take_tenant(tenant),
            Event::Submitted(spec) => self.take_job(seq, record.now, spec),
            Event::AppOpened(app) => self.take_app(record.now, app),
            Event::AppClosed { app, .. } => {
                self.write("UPDATE app SET closed = ?2 WHERE id = ?1 AND closed IS NULL", (app.0, now))
            }
            Event::Held(job) => self.hold(*job, true),
            Event::Released(job) => self.hold(*job, false),
            Event::LeaseStarted(lease) => self.write(
                // One that was asked to stop meanwhile has begun all the same.
                "UPDATE job SET phase = iif(phase = 'starting', 'running', phase), started = coalesce(started, ?2), starts = starts + 1
                 WHERE lease = ?1",
                (lease.0, now),
            ),
            Event::Progress { lease, done, .. } => {
                self.write("UPDATE job SET steps = ?2 WHERE lease = ?1", (lease.0, kept(*done)))
            }
            Event::LeaseEnded { lease, saved, .. } => {
                self.write("UPDATE job SET steps = ?2 WHERE lease = ?1", (lease.0, kept(*saved)))?;
                self.end_lease(*lease, is_crash(&record.event))
            }
            Event::LaunchFailed { lease, .. } => self.end_lease(*lease, true),
            _ => Ok(()),
        }
    }

    fn take_tenant(&mut self, tenant: &Tenant) -> Result<(), StoreError> {
        self.tenants.insert(tenant.name.clone(), tenant.id);
        let text = serde_json::to_string(tenant).expect("a tenant can be written as JSON");
        let put = "INSERT INTO tenant (id, name, tenant) VALUES (?1, ?2, ?3)
                   ON CONFLICT (id) DO UPDATE SET name = excluded.name, tenant = excluded.tenant";
        self.write(put, (tenant.id.0, &tenant.name, text))
    }

    fn take_app(&self, now: Time, app: &App) -> Result<(), StoreError> {
        let insert = "INSERT OR IGNORE INTO app (id, name, tenant, opened) VALUES (?1, ?2, ?3, ?4)";
        self.write(insert, (app.id.0, app.label.as_deref(), app.tenant.0, now.0))
    }

    fn take_job(&self, seq: u64, now: Time, spec: &JobSpec) -> Result<(), StoreError> {
        let insert = "INSERT INTO job (id, name, tenant, priority, gpus, phase, submitted, seq, app, deadline, array, array_index, at_once)
                      VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
        let name = spec.label.as_deref();
        let (id, tenant, gpus) = (spec.id.0, spec.tenant.0, spec.gpus.min.0);
        let (app, deadline) = (spec.app.map(|app| app.0), spec.deadline.map(|by| by.0));
        let (array, index) = (spec.array.map(|member| member.array.0), spec.array.map(|member| member.index));
        let at_once = spec.array.and_then(|member| member.at_once);
        let row = (id, name, tenant, spec.priority.0, gpus, now.0, seq, app, deadline, array, index, at_once);
        self.write(insert, row)?;
        for before in spec.befores() {
            // One that has ended is waited for by nobody.
            let insert = "INSERT OR IGNORE INTO after (job, before) SELECT ?1, id FROM job WHERE id = ?2 AND ended IS NULL";
            self.write(insert, (id, before.0))?;
        }
        if let Some(member) = spec.array {
            let own = format!("-{}", member.index);
            let name = spec.label.as_deref().and_then(|label| label.strip_suffix(&own));
            let insert = "INSERT OR IGNORE INTO array (id, name, tenant) VALUES (?1, ?2, ?3)";
            self.write(insert, (member.array.0, name, tenant))?;
        }
        Ok(())
    }

    /// A job that runs is on hold only when it has stopped. Why it waited before, or runs, is no reason for what comes now.
    fn hold(&self, job: JobId, hold: bool) -> Result<(), StoreError> {
        let update = "UPDATE job SET on_hold = ?2,
                      why = CASE WHEN phase = 'queued' AND ?2 THEN ?3 WHEN phase = 'held' AND NOT ?2 THEN NULL ELSE why END,
                      phase = CASE WHEN phase IN ('queued', 'held') THEN iif(?2, 'held', 'queued') ELSE phase END
                      WHERE id = ?1 AND ended IS NULL";
        self.write(update, (job.0, hold, StopReason::Held.sentence()))
    }

    fn end_lease(&self, lease: LeaseId, crashed: bool) -> Result<(), StoreError> {
        let update = "UPDATE job SET phase = iif(on_hold, 'held', 'queued'), lease = NULL, held = NULL, crashes = crashes + ?2,
                      why = iif(?2, 'it crashed, and waits to be tried again', iif(phase = 'stopping', why, NULL)) WHERE lease = ?1";
        self.write(update, (lease.0, crashed))
    }

    fn take_command(&mut self, seq: u64, now: Time, command: &Command) -> Result<(), StoreError> {
        match command {
            Command::Start(lease) => {
                self.leases.insert(lease.id, lease.job);
                let held = serde_json::to_string(&lease.gpus).expect("GPUs can be written as JSON");
                self.write(
                    "UPDATE job SET phase = 'starting', lease = ?2, held = ?3, why = ?4 WHERE id = ?1",
                    (lease.job.0, lease.id.0, held, lease.reason.sentence()),
                )
            }
            Command::Stop { lease, reason, .. } => {
                let update = "UPDATE job SET phase = 'stopping', why = ?2 WHERE lease = ?1";
                self.write(update, (lease.0, reason.sentence()))
            }
            Command::End { job, outcome, attained } => {
                self.write(
                    "UPDATE job SET phase = ?2, ended = ?3, attained = ?4, lease = NULL, held = NULL, why = NULL WHERE id = ?1",
                    (job.0, outcome.name(), now.0, attained.0),
                )?;
                self.let_go(seq, *job)
            }
            _ => Ok(()),
        }
    }

    /// Nobody waits for a job that has ended any more, and those who did should hear of it.
    fn let_go(&self, seq: u64, job: JobId) -> Result<(), StoreError> {
        let told = "INSERT OR IGNORE INTO mention (job, seq) SELECT job, ?2 FROM after WHERE before = ?1";
        self.write(told, (job.0, seq))?;
        self.write("DELETE FROM after WHERE before = ?1", [job.0])?;
        self.write("DELETE FROM after WHERE job = ?1", [job.0])
    }

    fn forget_lease(&mut self, event: &Event) {
        if matches!(event, Event::LeaseEnded { .. } | Event::LaunchFailed { .. })
            && let Some(lease) = lease_of(event)
        {
            self.leases.remove(&lease);
        }
    }
}

fn forsaken(by: JobId, outcome: Outcome) -> String {
    format!("{by} {}, and this one was to run only after it had ended well", outcome.past())
}

/// Work as the job table holds it. Jobs say themselves how far they are, and may say more than the database can count.
fn kept(work: Work) -> u64 {
    work.0.min(i64::MAX as u64)
}
