//! Jobs: list, look at, explain.

use super::{Front, Trouble};
use crate::access::Who;
use crate::clock::system_ms;
use crate::store::{JobFilter, JobRow, Page, Phase, Target};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use evenhand_core::{JobId, Time, Work};
use evenhand_report::Explanation;
use serde::Deserialize;
use std::sync::Arc;

/// Jobs on a page if nobody says, and at most.
const PAGE: usize = 100;
const PAGE_MAX: usize = 1000;

/// Records about everybody that an explanation looks at.
const GENERAL_MAX: usize = 50;

/// Which jobs to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Phases, separated by commas.
    phase: Option<String>,
    tenant: Option<String>,
    name: Option<String>,
    array: Option<String>,
    app: Option<String>,
    after: Option<u64>,
    limit: Option<usize>,
}

/// `GET /v1/jobs`: by number, a page at a time.
pub(super) async fn list(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<Page>, Trouble> {
    let Query(listing) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let mut phases = Vec::new();
    for name in listing.phase.iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty()) {
        phases.push(
            Phase::parse(name)
                .ok_or_else(|| Trouble::invalid(format!("phase is {name}: there is no such phase")))?,
        );
    }
    let limit = listing.limit.unwrap_or(PAGE);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Trouble::invalid(format!("limit is {limit}: 1 to {PAGE_MAX} are allowed")));
    }
    let after = super::within_store("after", listing.after)?.map(JobId);
    let nobody = || Ok(Json(Page { jobs: Vec::new(), next_after: None }));
    let tenant = match (who.tenant.clone(), listing.tenant) {
        // Others' jobs are not there for a tenant.
        (Some(own), Some(other)) if own != other => return nobody(),
        (own, asked) => own.or(asked),
    };
    let array = match listing.array {
        None => None,
        Some(name) => match target(&front, &who, name).await {
            Ok(Target::Array { array, .. }) => Some(array),
            _ => return nobody(),
        },
    };
    let filter = JobFilter { phases, tenant, name: listing.name, array, app: listing.app, after };
    front.look(move |reader| reader.jobs(&filter, limit)).await.map(Json)
}

/// The job or array that is called so, among those that somebody may see.
pub(super) async fn target(front: &Arc<Front>, who: &Who, name: String) -> Result<Target, Trouble> {
    let (wanted, tenant) = (name.clone(), who.tenant.clone());
    let found = front.look(move |reader| reader.find(&wanted, tenant.as_deref())).await?;
    found.ok_or_else(|| Trouble::no_job(&name))
}

/// The same, where an array will not do.
pub(super) async fn find(front: &Arc<Front>, who: &Who, name: String) -> Result<JobId, Trouble> {
    match target(front, who, name).await? {
        Target::Job(job) => Ok(job),
        Target::Array { array, .. } => {
            let number = array.0;
            let message =
                format!("{number} is an array: name one of its jobs, such as {number}_0, or list them");
            Err(Trouble::new(StatusCode::CONFLICT, "is-array", message))
        }
    }
}

/// `GET /v1/jobs/{job}`.
pub(super) async fn one(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<JobRow>, Trouble> {
    let job = find(&front, &who, name.clone()).await?;
    let row = front.look(move |reader| reader.job(job)).await?;
    row.map(Json).ok_or_else(|| Trouble::no_job(&name))
}

/// `GET /v1/jobs/{job}/explain`: what happened to it and why, as far as is recorded.
pub(super) async fn explain(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Explanation>, Trouble> {
    let (array, members) = match target(&front, &who, name).await? {
        Target::Job(job) => return explain_one(&front, job).await,
        Target::Array { array, members } => (array, members),
    };
    let rows = front.look(move |reader| {
        members.into_iter().filter_map(|job| reader.job(job).transpose()).collect::<Result<Vec<_>, _>>()
    });
    let mut explanation = Explanation::new(array);
    for row in rows.await? {
        let at_ms = row.ended_ms.or(row.started_ms).unwrap_or(row.submitted_ms);
        explanation.add_line(Time(at_ms), member_line(&row));
    }
    Ok(Json(explanation))
}

async fn explain_one(front: &Arc<Front>, job: JobId) -> Result<Json<Explanation>, Trouble> {
    let looked = front.look(move |reader| {
        Ok((
            reader.about(job, GENERAL_MAX)?,
            reader.job(job)?,
            reader.origin()?.map(|origin| origin.epoch_ms),
        ))
    });
    let (records, row, epoch_ms) = looked.await?;
    let mut explanation = Explanation::new(job);
    for record in &records {
        explanation.take(record);
    }
    // Time went on after the last record.
    let last = records.last().map_or(Time::ZERO, |record| record.now);
    let now = Time(system_ms().saturating_sub(epoch_ms.unwrap_or_default())).max(last);
    explanation.hold_to_deadline(now, row.map_or(Work::ZERO, |row| Work::from_steps(row.steps)));
    Ok(Json(explanation))
}

/// One job of an array, in a line.
fn member_line(row: &JobRow) -> String {
    let (array, index) = (row.array.map_or(0, |array| array.0), row.array_index.unwrap_or_default());
    let why = row.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("{array}_{index} (job {}) {}{why}", row.id.0, row.phase.name())
}
