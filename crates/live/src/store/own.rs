//! The ledger as a tenant may see it: what is said about its own jobs, and nothing about others.

use super::rows::{self, lease_of};
use super::{Reader, StoreError};
use evenhand_core::{Command, Event, JobId, LeaseId, Note, Time};
use serde::Serialize;
use std::collections::BTreeSet;

/// Leaves out of records what is not a tenant's. Records must come in the order of the ledger.
#[derive(Clone, Debug)]
pub struct OwnRecords {
    tenant: String,
    leases: BTreeSet<LeaseId>,
}

/// What is left of a record; as a record is written, but for an event that is another's.
#[derive(Serialize)]
struct Part<'a> {
    t: Time,
    e: Option<&'a Event>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    c: Vec<&'a Command>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    n: Vec<&'a Note>,
}

impl OwnRecords {
    /// For a tenant, and records after this one.
    pub fn new(reader: &Reader, tenant: String, after: u64) -> Result<Self, StoreError> {
        let leases = reader.leases_of(&tenant, after)?;
        Ok(Self { tenant, leases })
    }

    /// What the tenant may see of a record, if anything.
    pub fn see(&mut self, reader: &Reader, seq: u64, text: &str) -> Result<Option<String>, StoreError> {
        let record = rows::record(seq, text)?;
        let own_job = |job: JobId| reader.is_of(job, &self.tenant);
        for command in &record.commands {
            if let Command::Start(lease) = command
                && own_job(lease.job)?
            {
                self.leases.insert(lease.id);
            }
        }
        let event = if self.is_own_event(reader, &record.event)? { Some(&record.event) } else { None };
        let (mut commands, mut notes) = (Vec::new(), Vec::new());
        for command in &record.commands {
            if self.is_own_command(reader, command)? {
                commands.push(command);
            }
        }
        for note in &record.notes {
            if let Note::Waits { job, .. } | Note::TooLarge { job, .. } | Note::Forsaken { job, .. } = note
                && own_job(*job)?
            {
                notes.push(note);
            }
        }
        if event.is_none() && commands.is_empty() && notes.is_empty() {
            return Ok(None);
        }
        let part = Part { t: record.now, e: event, c: commands, n: notes };
        Ok(Some(serde_json::to_string(&part).expect("a record can be written as JSON")))
    }

    /// Whatever is not known to be the tenant's own is another's.
    fn is_own_event(&self, reader: &Reader, event: &Event) -> Result<bool, StoreError> {
        match event {
            Event::Submitted(spec) => reader.is_of(spec.id, &self.tenant),
            Event::Cancelled(job) | Event::Held(job) | Event::Released(job) | Event::Retired(job) => {
                reader.is_of(*job, &self.tenant)
            }
            Event::TenantChanged(tenant) => Ok(tenant.name == self.tenant),
            event => Ok(lease_of(event).is_some_and(|lease| self.leases.contains(&lease))),
        }
    }

    fn is_own_command(&self, reader: &Reader, command: &Command) -> Result<bool, StoreError> {
        match command {
            Command::Start(lease) => reader.is_of(lease.job, &self.tenant),
            Command::Renew { lease, .. } | Command::Resize { lease, .. } | Command::Stop { lease, .. } => {
                Ok(self.leases.contains(lease))
            }
            Command::End { job, .. } => reader.is_of(*job, &self.tenant),
            _ => Ok(false),
        }
    }
}
