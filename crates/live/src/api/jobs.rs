//! Jobs: submit, list, look at, explain, cancel, hold, release.

use super::{Front, PAGE_MAX, Trouble};
use crate::access::Who;
use crate::local::output_file;
use crate::request::{Answer, Asker, DEFAULT_TENANT, Wanted, Wish};
use crate::store::{JobFilter, JobRow, Page, Phase};
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use evenhand_core::JobId;
use evenhand_report::Explanation;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Jobs on a page if nobody says.
const PAGE: usize = 100;

/// The longest key of a client, in bytes.
pub(super) const KEY_MAX: usize = 256;

/// Records about everybody that an explanation looks at.
const GENERAL_MAX: usize = 50;

/// Bytes of output that are shown if nobody says, and at most.
const TAIL: u64 = 64 * 1024;
const TAIL_MAX: u64 = 1 << 20;

/// A submission that was taken. It is on disk.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Accepted {
    /// The job.
    pub job: JobId,
    /// Whether it is new, or was submitted before under the same key.
    pub created: bool,
}

/// `POST /v1/jobs`, with an `Idempotency-Key` if the submission may be repeated.
pub(super) async fn submit(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<(StatusCode, Json<Accepted>), Trouble> {
    let Json(mut wanted) =
        body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    let key = headers.get("idempotency-key").map(|key| key.to_str().map(str::to_owned));
    let key = key.transpose().map_err(|_| Trouble::invalid("idempotency-key: plain letters are expected"))?;
    if let Some(key) = key.as_ref().filter(|key| key.is_empty() || key.len() > KEY_MAX) {
        let message = format!("the key has {} bytes: 1 to {KEY_MAX} are allowed", key.len());
        return Err(Trouble::invalid(message));
    }
    let key = if let Some(tenant) = &who.tenant {
        confine(&front, &mut wanted, tenant).await?;
        // What keys others use is nobody's business. No key that was sent can look like this.
        key.map(|key| format!("{tenant}\u{1f}{key}"))
    } else {
        key
    };
    let user = front.access().job_user(&who)?;
    let asker = Asker { name: who.name, tenant: who.tenant, user };
    let answer = front.ask_as(asker, Wish::Submit { wanted: Box::new(wanted), key }).await?;
    let Answer::Job { job, created } = answer else { return Err(Trouble::invalid("no job came of it")) };
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Accepted { job, created })))
}

/// A tenant's token submits that tenant's jobs, and these wait for no others.
async fn confine(front: &Arc<Front>, wanted: &mut Wanted, tenant: &str) -> Result<(), Trouble> {
    if wanted.tenant == DEFAULT_TENANT {
        tenant.clone_into(&mut wanted.tenant);
    } else if wanted.tenant != tenant {
        let message = format!("tenant is {:?}: this token submits jobs of {tenant:?} alone", wanted.tenant);
        return Err(Trouble::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    let (after, own) = (wanted.after.clone(), tenant.to_owned());
    let unknown = front.look(move |reader| {
        for job in after {
            if !reader.is_of(job, &own)? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    });
    match unknown.await? {
        Some(job) => Err(Trouble::invalid(format!("after has {}: there is no such job", job.0))),
        None => Ok(()),
    }
}

/// Which jobs to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Phases, separated by commas.
    phase: Option<String>,
    tenant: Option<String>,
    name: Option<String>,
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
    let tenant = match (who.tenant, listing.tenant) {
        // Others' jobs are not there for a tenant.
        (Some(own), Some(other)) if own != other => {
            return Ok(Json(Page { jobs: Vec::new(), next_after: None }));
        }
        (own, asked) => own.or(asked),
    };
    let name = listing.name;
    let filter = JobFilter { phases, tenant, name, after };
    front.look(move |reader| reader.jobs(&filter, limit)).await.map(Json)
}

/// The job that is called so, by name or number, among those that somebody may see.
async fn find(front: &Arc<Front>, who: &Who, name: String) -> Result<JobId, Trouble> {
    let (wanted, tenant) = (name.clone(), who.tenant.clone());
    let found = front.look(move |reader| reader.find(&wanted, tenant.as_deref())).await?;
    found.ok_or_else(|| Trouble::no_job(&name))
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
    let job = find(&front, &who, name).await?;
    let records = front.look(move |reader| reader.about(job, GENERAL_MAX)).await?;
    let mut explanation = Explanation::new(job);
    for record in &records {
        explanation.take(record);
    }
    Ok(Json(explanation))
}

/// `DELETE /v1/jobs/{job}`, or `POST /v1/jobs/{job}/cancel`.
pub(super) async fn cancel(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Accepted>, Trouble> {
    change(&front, &who, name, Wish::Cancel).await
}

/// `POST /v1/jobs/{job}/hold`.
pub(super) async fn hold(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Accepted>, Trouble> {
    change(&front, &who, name, Wish::Hold).await
}

/// `POST /v1/jobs/{job}/release`.
pub(super) async fn release(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<Accepted>, Trouble> {
    change(&front, &who, name, Wish::Release).await
}

async fn change(
    front: &Arc<Front>,
    who: &Who,
    name: String,
    wish: fn(JobId) -> Wish,
) -> Result<Json<Accepted>, Trouble> {
    let job = find(front, who, name).await?;
    front.ask(who, wish(job)).await?;
    Ok(Json(Accepted { job, created: false }))
}

/// How much of the output to show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tail {
    bytes: Option<u64>,
}

/// `GET /v1/jobs/{job}/output`: the last of what it printed.
pub(super) async fn output(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    query: Result<Query<Tail>, QueryRejection>,
) -> Result<Vec<u8>, Trouble> {
    let Query(tail) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let bytes = super::within_store("bytes", tail.bytes)?.unwrap_or(TAIL).min(TAIL_MAX);
    let path = output_file(front.state(), find(&front, &who, name).await?);
    let read = tokio::task::spawn_blocking(move || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        let from = file.metadata()?.len().saturating_sub(bytes);
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        file.take(bytes).read_to_end(&mut text)?;
        Ok(text)
    });
    // A job that has not run has printed nothing.
    Ok(read.await.ok().and_then(Result::ok).unwrap_or_default())
}
