//! What happened to a job and why, and what it waits for now.

use super::{Front, Told, Trouble, jobs, told};
use crate::access::Who;
use crate::clock::system_ms;
use crate::request::{Answer, Wish};
use crate::store::{JobRow, Reader, Target};
use axum::extract::{Path, State};
use axum::{Extension, Json};
use evenhand_core::{JobId, Reason, Tenant, Time, Work};
use evenhand_engine::{Between, Held, Holding, Outlook, Standing};
use evenhand_report::Explanation;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Records about everybody that an explanation looks at.
const GENERAL_MAX: usize = 50;

/// A job explained. Times are in seconds since `epoch_ms`.
#[derive(Clone, Debug, Serialize)]
pub struct Explained {
    /// What happened to it, in order.
    #[serde(flatten)]
    pub story: Explanation,
    /// Whether it is an array: then its jobs are told, a line each.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_array: bool,
    /// Whether it has ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_ended: bool,
    /// When time began, in milliseconds since 1970.
    pub epoch_ms: u64,
    /// How it stands; nothing if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<Now>,
    /// The same in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
}

/// How a job stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Now {
    /// What its submitter calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    pub tenant: String,
    /// `queued`, `after` other jobs, `no-turn` in its array, `retries`, `held`, `promised` GPUs that others leave, `runs`, `stopping`.
    pub standing: String,
    /// Why it waits or runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What would let it go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unblocks: Option<String>,
    /// GPUs that it takes.
    pub needs: u32,
    /// GPUs that would do.
    pub usable: u32,
    /// How many of them are free, of one model.
    pub free: u32,
    /// When it may start: at the earliest if it is next, at the latest if all who are before it now go first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Interval>,
    /// When it may have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Interval>,
    /// By when it was promised to have ended: as its fair share alone would have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promised_s: Option<f64>,
    /// Jobs that wait and are before it.
    pub before: usize,
    /// Jobs that have GPUs that would do.
    pub holders_count: usize,
    /// The first of them to give some back.
    pub holders: Vec<HolderRow>,
    /// What its tenant holds and should, and those of the jobs that are named.
    pub shares: Vec<ShareRow>,
}

/// From when to when, in seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Not sooner.
    pub earliest_s: f64,
    /// Not later, if that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_s: Option<f64>,
}

/// Somebody who has GPUs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HolderRow {
    /// Which job.
    pub job: JobId,
    /// What it is called, where that may be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is, where that may be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// GPUs that would do.
    pub gpus: u32,
    /// Why it has them.
    pub why: String,
    /// When it is believed to have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
}

/// What a tenant holds, and its part by weight among those who have work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareRow {
    /// Whose.
    pub tenant: String,
    /// GPUs it holds.
    pub held: u32,
    /// GPUs that its part comes to.
    pub share: f64,
}

/// `GET /v1/jobs/{job}/explain`: what happened to it and why, as far as is recorded, and what it waits for.
pub(super) async fn explain(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Explained>, Trouble> {
    let epoch_ms = front.vitals().epoch_ms.load(Ordering::Relaxed);
    let target = jobs::target(&front, &who, name).await?;
    let is_array = matches!(target, Target::Array { .. });
    let (story, has_ended, now) = match target {
        Target::Job(job) => {
            let row = front.look(move |reader| reader.job(job)).await?;
            let row = row.ok_or_else(|| Trouble::no_job(&job.0.to_string()))?;
            let has_ended = row.phase.is_end();
            let now = if has_ended { None } else { now(&front, &who, row).await? };
            (story(&front, job, epoch_ms).await?, has_ended, now)
        }
        Target::Array { array, members } => (members_story(&front, array, members).await?, false, None),
    };
    let told = now.as_ref().map_or_else(Vec::new, |now| told(story.job, now));
    Ok(Json(Explained { story, is_array, has_ended, epoch_ms, now, told }))
}

async fn members_story(
    front: &Arc<Front>,
    array: JobId,
    members: Vec<JobId>,
) -> Result<Explanation, Trouble> {
    let rows = front.look(move |reader| {
        members.into_iter().filter_map(|job| reader.job(job).transpose()).collect::<Result<Vec<_>, _>>()
    });
    let mut explanation = Explanation::new(array);
    for row in rows.await? {
        let at_ms = row.ended_ms.or(row.started_ms).unwrap_or(row.submitted_ms);
        explanation.add_line(Time(at_ms), member_line(&row));
    }
    Ok(explanation)
}

/// One job of an array, in a line.
fn member_line(row: &JobRow) -> String {
    let (array, index) = (row.array.map_or(0, |array| array.0), row.array_index.unwrap_or_default());
    let why = row.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("{array}_{index} (job {}) {}{why}", row.id.0, row.phase.name())
}

async fn story(front: &Arc<Front>, job: JobId, epoch_ms: u64) -> Result<Explanation, Trouble> {
    let looked = front.look(move |reader| Ok((reader.about(job, GENERAL_MAX)?, reader.job(job)?)));
    let (records, row) = looked.await?;
    let mut explanation = Explanation::new(job);
    for record in &records {
        explanation.take(record);
    }
    // Time went on after the last record.
    let last = records.last().map_or(Time::ZERO, |record| record.now);
    let now = Time(system_ms().saturating_sub(epoch_ms)).max(last);
    explanation.hold_to_deadline(now, row.map_or(Work::ZERO, |row| Work::from_steps(row.steps)));
    Ok(explanation)
}

async fn now(front: &Arc<Front>, who: &Who, row: JobRow) -> Result<Option<Now>, Trouble> {
    // It may have ended meanwhile, and while nothing can be recorded the engine answers nobody.
    let Ok(Answer::Foreseen(outlook, promised)) = front.ask(who, Wish::Foresee(row.id)).await else {
        return Ok(None);
    };
    let holders: Vec<JobId> = outlook.holders.iter().map(|holding| holding.job).collect();
    let look = move |reader: &Reader| {
        let rows = holders.into_iter().map(|job| reader.job(job)).collect::<Result<Vec<_>, _>>()?;
        Ok((rows, reader.tenants()?))
    };
    let (holders, tenants) = front.look(look).await?;
    let may_know = |other: &str| who.tenant.as_deref().is_none_or(|tenant| tenant == other);
    let holders = outlook.holders.iter().zip(&holders);
    Ok(Some(Now {
        standing: standing(&outlook.standing).to_owned(),
        why: why(&outlook).map(str::to_owned),
        unblocks: unblocks(&outlook, &row),
        needs: outlook.needs.0,
        usable: outlook.usable.0,
        free: outlook.free.0,
        start: outlook.start.map(interval),
        finish: outlook.finish.map(interval),
        promised_s: promised.map(Time::seconds),
        before: outlook.before,
        holders_count: outlook.holders_count,
        holders: holders.map(|(it, row)| holder(it, row.as_ref(), may_know)).collect(),
        shares: outlook.shares.iter().filter_map(|held| share(held, &tenants, may_know)).collect(),
        name: row.name,
        tenant: row.tenant,
    }))
}

/// Why it waits or runs. A policy that looks at jobs in order says nothing of those that it did not come to.
fn why(outlook: &Outlook) -> Option<&'static str> {
    match outlook.standing {
        Standing::Queued | Standing::Runs | Standing::Promised => outlook
            .why
            .map(Reason::sentence)
            .or_else(|| (outlook.before > 0).then_some("jobs that come first in the queue wait too")),
        _ => None,
    }
}

fn interval(between: Between) -> Interval {
    let Between { earliest, latest } = between;
    Interval { earliest_s: earliest.seconds(), latest_s: latest.map(Time::seconds) }
}

fn holder(holding: &Holding, row: Option<&JobRow>, may_know: impl Fn(&str) -> bool) -> HolderRow {
    let known = row.filter(|row| may_know(&row.tenant));
    HolderRow {
        job: holding.job,
        name: known.and_then(|row| row.name.clone()),
        tenant: known.map(|row| row.tenant.clone()),
        gpus: holding.gpus.0,
        why: holding.why.sentence().to_owned(),
        until_s: holding.until.map(Time::seconds),
    }
}

/// Shares of tenants that may be known.
fn share(held: &Held, tenants: &[Tenant], may_know: impl Fn(&str) -> bool) -> Option<ShareRow> {
    let tenant = tenants.iter().find(|tenant| tenant.id == held.tenant)?;
    let row = ShareRow { tenant: tenant.name.clone(), held: held.held.0, share: held.share };
    may_know(&tenant.name).then_some(row)
}

fn standing(standing: &Standing) -> &'static str {
    match standing {
        Standing::Queued => "queued",
        Standing::After(_) => "after",
        Standing::NoTurn => "no-turn",
        Standing::Retries(_) => "retries",
        Standing::OnHold => "held",
        Standing::Promised => "promised",
        Standing::Runs => "runs",
        Standing::Stopping => "stopping",
    }
}

/// What would let a job go on, in words; nothing if it runs.
fn unblocks(outlook: &Outlook, row: &JobRow) -> Option<String> {
    let (needs, usable, free) = (outlook.needs.0, outlook.usable.0, outlook.free.0);
    Some(match &outlook.standing {
        Standing::Runs => return None,
        Standing::Stopping => "it is given GPUs again when its turn comes".to_owned(),
        Standing::Promised => "others have been asked to leave the GPUs that it was given".to_owned(),
        Standing::NoTurn => {
            "another job of its array must end first: only so many may be on their way".to_owned()
        }
        Standing::Retries(_) => "it crashed, and is tried again after a pause".to_owned(),
        Standing::OnHold => "it goes on when it is released: evenhand release".to_owned(),
        Standing::After(jobs) => {
            let jobs: Vec<String> = jobs.iter().map(|job| job.0.to_string()).collect();
            format!("it waits for the end of job {}", jobs.join(", "))
        }
        Standing::Queued if outlook.why == Some(Reason::OverLimit) => {
            format!("a job of {} must end first, or an operator raise its limit", row.tenant)
        }
        Standing::Queued if usable == 0 => {
            "no GPUs that would do take jobs now: nodes may be drained or down".to_owned()
        }
        Standing::Queued if free < needs => {
            let (more, s) = (needs - free, if needs - free == 1 { "" } else { "s" });
            format!("{more} more GPU{s} of one model must become free, and its turn come")
        }
        Standing::Queued => "GPUs are free: the next decision may start it".to_owned(),
    })
}
