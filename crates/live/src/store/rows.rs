//! What one record means for the job table, and whom it mentions.

use super::StoreError;
use evenhand_core::{Command, EndCause, Event, JobId, LeaseId, Note, Record};
use std::collections::{BTreeMap, BTreeSet};

/// The job that stands for everybody in the index of mentions: auctions and plans ahead concern all who wait.
pub(super) const EVERYBODY: i64 = -1;

/// A record as it was written.
pub(crate) fn record(seq: u64, text: &str) -> Result<Record, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged { what: format!("record {seq}: {error}") })
}

/// The lease that an event is about.
pub(super) fn lease_of(event: &Event) -> Option<LeaseId> {
    match event {
        Event::LeaseStarted(lease)
        | Event::Progress { lease, .. }
        | Event::Telemetry { lease, .. }
        | Event::LeaseEnded { lease, .. }
        | Event::LaunchFailed { lease, .. } => Some(*lease),
        _ => None,
    }
}

/// Whether the job of a lease that ended so is to blame.
pub(super) fn is_crash(event: &Event) -> bool {
    matches!(
        event,
        Event::LaunchFailed { .. }
            | Event::LeaseEnded { cause: EndCause::Crashed | EndCause::OutOfMemory, .. }
    )
}

/// The jobs that a record says something about; [`EVERYBODY`] if it concerns all who wait.
pub(super) fn mentioned(record: &Record, leases: &BTreeMap<LeaseId, JobId>) -> BTreeSet<i64> {
    let mut jobs = BTreeSet::new();
    let mut add = |job: JobId| {
        jobs.insert(job.0 as i64);
    };
    match &record.event {
        Event::Submitted(spec) => add(spec.id),
        Event::Cancelled(job) | Event::Held(job) | Event::Released(job) | Event::Retired(job) => add(*job),
        Event::Progress { .. } | Event::Telemetry { .. } => {}
        event => {
            if let Some(job) = lease_of(event).and_then(|lease| leases.get(&lease)) {
                add(*job);
            }
        }
    }
    for command in &record.commands {
        match command {
            Command::Start(lease) => add(lease.job),
            Command::Stop { lease, .. } => leases.get(lease).into_iter().for_each(|job| add(*job)),
            Command::End { job, .. } => add(*job),
            _ => {}
        }
    }
    for note in &record.notes {
        if let Note::Waits { job, .. } | Note::TooLarge { job, .. } | Note::Forsaken { job, .. } = note {
            add(*job);
        }
    }
    if let Some(decision) = &record.decision {
        decision.promises.iter().for_each(|promised| add(promised.job));
        if decision.auction.is_some() || decision.ahead.is_some() {
            jobs.insert(EVERYBODY);
        }
    }
    jobs
}
