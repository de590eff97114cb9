//! Rounds: decisions the latest first, and one of them in full: what was planned, how good that is known to be, what changed.

use super::scene::times;
use super::{Front, PAGE_MAX, Trouble, within_store};
use crate::store::{Reader, StoreError};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use evenhand_core::{
    Command, Decision, GpuSet, JobId, Note, Occasion, Party, Quality, Record, StopReason, Tenant,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rounds on a page if nobody says.
const PAGE: usize = 50;

/// Jobs of each kind that are told; the rest are counted.
const JOBS_MAX: usize = 200;

/// A decision, as lists show it. Times are in milliseconds since the store was made.
#[derive(Clone, Debug, Serialize)]
pub struct RoundRow {
    /// The number of its record.
    pub record: u64,
    /// Its own number.
    pub round: u64,
    /// When.
    pub at_ms: u64,
    /// `regular`, `early` or `bids`.
    pub occasion: Occasion,
    /// Jobs that could have been given GPUs.
    pub active: u32,
    /// Jobs that hold or will hold some.
    pub running: u32,
    /// Leases that stayed as they were, of those that were up.
    pub kept: u32,
    /// Leases that were up.
    pub due: u32,
    /// Leases that began.
    pub starts: usize,
    /// Leases that were asked to stop.
    pub stops: usize,
    /// How good it is known to be, in words.
    pub quality: String,
    /// Whether the policy had no plan, or one that was refused.
    pub troubled: bool,
}

/// Some rounds.
#[derive(Clone, Debug, Serialize)]
pub struct RoundPage {
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// The rounds, the latest first.
    pub rounds: Vec<RoundRow>,
    /// Ask for those before this record, if there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_before: Option<u64>,
}

/// A job that a round is about.
#[derive(Clone, Debug, Serialize)]
pub struct RoundJob {
    /// Which.
    pub job: JobId,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    pub tenant: String,
    /// GPUs that it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<GpuSet>,
    /// Why.
    pub why: String,
}

/// A finish that was promised. Times are in milliseconds since the store was made.
#[derive(Clone, Debug, Serialize)]
pub struct PromiseRow {
    /// Which job.
    pub job: JobId,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// By then, as its fair share alone would have it.
    pub by_ms: u64,
    /// Expected then.
    pub expected_ms: u64,
    /// One in ten is later than then.
    pub at_most_ms: u64,
}

/// What somebody is owed.
#[derive(Clone, Debug, Serialize)]
pub struct OwedRow {
    /// Who.
    pub party: String,
    /// GPUs of each model.
    pub gpus: BTreeMap<String, f64>,
}

/// One round in full.
#[derive(Clone, Debug, Serialize)]
pub struct RoundSeen {
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// As lists show it.
    #[serde(flatten)]
    pub row: RoundRow,
    /// What led to it, in a word or two.
    pub event: String,
    /// Leases that began, and why.
    pub started: Vec<RoundJob>,
    /// Leases that were asked to stop, and why.
    pub stopped: Vec<RoundJob>,
    /// Jobs that wait for another reason than before.
    pub waits: Vec<RoundJob>,
    /// Shares that were owed, if they changed.
    pub owed: Vec<OwedRow>,
    /// Finishes that were promised anew.
    pub promises: Vec<PromiseRow>,
    /// Of those, how many are expected in time.
    pub promises_in_time: usize,
    /// What went wrong.
    pub troubles: Vec<String>,
    /// The decision before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The decision after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// Which rounds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    before: Option<u64>,
    limit: Option<usize>,
}

/// `GET /v1/rounds`.
pub(super) async fn list(
    State(front): State<Arc<Front>>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<RoundPage>, Trouble> {
    let Query(listing) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let limit = listing.limit.unwrap_or(PAGE);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Trouble::invalid(format!("limit is {limit}: 1 to {PAGE_MAX} are allowed")));
    }
    let newest = front.last().borrow().saturating_add(1);
    let before = within_store("before", listing.before)?.unwrap_or(newest);
    let (records, next_before) = front.look(move |reader| reader.decisions(before, limit)).await?;
    let rounds = records.iter().filter_map(|(seq, record)| row(*seq, record)).collect();
    Ok(Json(RoundPage { epoch_ms: times(&front).0, rounds, next_before }))
}

/// `GET /v1/rounds/{record}`.
pub(super) async fn one(
    State(front): State<Arc<Front>>,
    Path(name): Path<String>,
) -> Result<Json<RoundSeen>, Trouble> {
    let unknown = || {
        let message = format!("there is no decision in record `{name}`");
        Trouble::new(StatusCode::NOT_FOUND, "no-round", message)
    };
    let seq: u64 = name.parse().ok().filter(|seq| i64::try_from(*seq).is_ok()).ok_or_else(unknown)?;
    let fleet = front.vitals().fleet();
    let models: Vec<String> = fleet.models.iter().map(|model| model.name.clone()).collect();
    let epoch_ms = times(&front).0;
    let seen = front.look(move |reader| seen(reader, seq, &models, epoch_ms)).await?;
    seen.map(Json).ok_or_else(unknown)
}

fn row(seq: u64, record: &Record) -> Option<RoundRow> {
    let decision = record.decision.as_ref()?;
    let count = |is: fn(&Command) -> bool| record.commands.iter().filter(|command| is(command)).count();
    Some(RoundRow {
        record: seq,
        round: decision.round.0,
        at_ms: record.now.0,
        occasion: decision.occasion,
        active: decision.active,
        running: decision.running,
        kept: decision.kept,
        due: decision.due,
        starts: count(|command| matches!(command, Command::Start(_))),
        stops: count(|command| matches!(command, Command::Stop { .. })),
        quality: quality(decision),
        troubled: !troubles(record).is_empty(),
    })
}

fn quality(decision: &Decision) -> String {
    match decision.quality {
        Quality::Rule => "a rule was followed to the letter".to_owned(),
        Quality::Optimal => "proven: nothing better exists".to_owned(),
        Quality::Feasible { gap } => format!("proven: the best is at most {:.2} % better", gap * 100.0),
    }
}

fn troubles(record: &Record) -> Vec<String> {
    let troubles = record.notes.iter().filter_map(|note| match note {
        Note::PolicyFailed(error) => Some(format!("the policy had no plan: {error}")),
        Note::PlanRefused(error) => Some(format!("its plan was not valid: {error}")),
        Note::Suspected(node) => Some(format!("launches kept failing on {node}")),
        Note::TriedAgain(node) => Some(format!("{node} is tried again")),
        _ => None,
    });
    troubles.collect()
}

fn seen(
    reader: &Reader,
    seq: u64,
    models: &[String],
    epoch_ms: u64,
) -> Result<Option<RoundSeen>, StoreError> {
    let Some(record) = reader.record(seq)? else { return Ok(None) };
    let (Some(row), Some(decision)) = (row(seq, &record), record.decision.as_ref()) else { return Ok(None) };
    let job = |job: JobId, gpus: Option<&GpuSet>, why: &str| -> Result<RoundJob, StoreError> {
        let found = reader.job(job)?;
        let (name, tenant) = found.map_or((None, String::new()), |row| (row.name, row.tenant));
        Ok(RoundJob { job, name, tenant, gpus: gpus.cloned(), why: why.to_owned() })
    };
    let (mut started, mut stopped, mut waits) = (vec![], vec![], vec![]);
    for command in &record.commands {
        match command {
            Command::Start(lease) if started.len() < JOBS_MAX => {
                started.push(job(lease.job, Some(&lease.gpus), lease.reason.sentence())?);
            }
            Command::Stop { lease, reason, .. } if stopped.len() < JOBS_MAX => {
                if let Some(owner) = reader.job_of_lease(*lease, seq)? {
                    stopped.push(job(owner, None, stop_in_words(*reason))?);
                }
            }
            _ => {}
        }
    }
    for note in &record.notes {
        if let Note::Waits { job: waiting, reason } = note
            && waits.len() < JOBS_MAX
        {
            waits.push(job(*waiting, None, reason.sentence())?);
        }
    }
    let promises: Vec<PromiseRow> = decision
        .promises
        .iter()
        .take(JOBS_MAX)
        .map(|promised| {
            let name = reader.job(promised.job)?.and_then(|row| row.name);
            let (by_ms, expected_ms, at_most_ms) = (promised.by.0, promised.expected.0, promised.at_most.0);
            Ok(PromiseRow { job: promised.job, name, by_ms, expected_ms, at_most_ms })
        })
        .collect::<Result<_, StoreError>>()?;
    let before = reader.decisions(seq, 1)?.0.first().map(|(seq, _)| *seq);
    Ok(Some(RoundSeen {
        epoch_ms,
        row,
        event: event(&record),
        started,
        stopped,
        waits,
        owed: owed(decision, models, &reader.tenants()?),
        promises_in_time: decision.promises.iter().filter(|one| one.expected <= one.by).count(),
        promises,
        troubles: troubles(&record),
        before,
        after: reader.next_decision(seq)?,
    }))
}

fn stop_in_words(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Preempted => "others deserve its GPUs more",
        StopReason::Moved => "it goes on elsewhere",
        StopReason::Cancelled => "it was cancelled",
        StopReason::Held => "it was put on hold",
        StopReason::Retired => "its tuner gave it up",
    }
}

/// What happened, by the name that the ledger gives it.
fn event(record: &Record) -> String {
    let value = serde_json::to_value(&record.event).unwrap_or_default();
    let name = value.as_object().and_then(|fields| fields.keys().next().cloned());
    name.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_default().replace('-', " ")
}

fn owed(decision: &Decision, models: &[String], tenants: &[Tenant]) -> Vec<OwedRow> {
    let name = |party: Party| match party {
        Party::Tenant(id) | Party::TenantClass(id, _) => {
            tenants.iter().find(|tenant| tenant.id == id).map(|tenant| tenant.name.clone())
        }
        _ => None,
    };
    let row = |(party, share): &(Party, evenhand_core::PerModel<f64>)| OwedRow {
        party: name(*party).unwrap_or_else(|| evenhand_report::party_name(*party)),
        gpus: models.iter().cloned().zip(share.values()).filter(|(_, gpus)| *gpus > 0.0).collect(),
    };
    decision.shares.iter().take(JOBS_MAX).map(row).collect()
}
