//! Submissions: one job or array, several jobs at a time, or only to see what would come of it.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::{Answer, Asker, DEFAULT_TENANT, Wanted, Wish, Work};
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use evenhand_core::JobId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The longest key of a client, in bytes.
pub(super) const KEY_MAX: usize = 256;

/// A submission that was taken, or a change that was made. It is on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Accepted {
    /// The job, or the array.
    pub job: JobId,
    /// Whether it is new, or was submitted before under the same key.
    pub created: bool,
    /// The jobs of the array: all that were made, or those that the change is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<JobId>>,
}

/// Several jobs and arrays, of which all are taken or none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedBatch {
    /// The jobs. One may wait for earlier ones of them, by name.
    pub jobs: Vec<Wanted>,
}

/// Jobs that were taken together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AcceptedBatch {
    /// The numbers of jobs and arrays, in the order in which they were described.
    pub jobs: Vec<JobId>,
    /// Whether they are new, or were submitted before under the same key.
    pub created: bool,
}

type Body<T> = Result<Json<T>, JsonRejection>;

/// `POST /v1/jobs`, with an `Idempotency-Key` if the submission may be repeated.
pub(super) async fn submit(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body<Wanted>,
) -> Result<(StatusCode, Json<Accepted>), Trouble> {
    let mut wanted = read(body)?;
    confine(&who, &mut wanted)?;
    let key = key(&who, &headers)?;
    let (created, accepted) = match ask(&front, &who, Work::One(Box::new(wanted)), key).await? {
        Answer::Job { job, created } => (created, Accepted { job, created, jobs: None }),
        Answer::Array { array, jobs, created } => {
            (created, Accepted { job: array, created, jobs: Some(jobs) })
        }
        _ => return Err(Trouble::invalid("no job came of it")),
    };
    Ok((status(created), Json(accepted)))
}

/// `POST /v1/batches`, with an `Idempotency-Key` if the submission may be repeated.
pub(super) async fn batch(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body<WantedBatch>,
) -> Result<(StatusCode, Json<AcceptedBatch>), Trouble> {
    let work = several(&who, body)?;
    let key = key(&who, &headers)?;
    let answer = ask(&front, &who, work, key).await?;
    let Answer::Batch { jobs, created } = answer else {
        return Err(Trouble::invalid("no jobs came of it"));
    };
    Ok((status(created), Json(AcceptedBatch { jobs, created })))
}

/// Asks on behalf of somebody as whose system user the jobs are to run.
async fn ask(front: &Arc<Front>, who: &Who, work: Work, key: Option<String>) -> Result<Answer, Trouble> {
    let user = front.access().job_user(who)?;
    let asker = Asker { name: who.name.clone(), tenant: who.tenant.clone(), user };
    front.ask_as(asker, Wish::Submit { work, key }).await
}

fn status(created: bool) -> StatusCode {
    if created { StatusCode::CREATED } else { StatusCode::OK }
}

fn read<T>(body: Body<T>) -> Result<T, Trouble> {
    let Json(found) = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    Ok(found)
}

/// The jobs of a batch, as somebody may submit them.
pub(super) fn several(who: &Who, body: Body<WantedBatch>) -> Result<Work, Trouble> {
    let WantedBatch { mut jobs } = read(body)?;
    for wanted in &mut jobs {
        confine(who, wanted)?;
    }
    Ok(Work::Batch(jobs))
}

/// The client's own name for a submission.
fn key(who: &Who, headers: &HeaderMap) -> Result<Option<String>, Trouble> {
    let key = headers.get("idempotency-key").map(|key| key.to_str().map(str::to_owned));
    let key = key.transpose().map_err(|_| Trouble::invalid("idempotency-key: plain letters are expected"))?;
    if let Some(key) = key.as_ref().filter(|key| key.is_empty() || key.len() > KEY_MAX) {
        let message = format!("the key has {} bytes: 1 to {KEY_MAX} are allowed", key.len());
        return Err(Trouble::invalid(message));
    }
    // What keys others use is nobody's business. No key that was sent can look like this.
    Ok(match &who.tenant {
        Some(tenant) => key.map(|key| format!("{tenant}\u{1f}{key}")),
        None => key,
    })
}

/// A tenant's token submits that tenant's jobs.
fn confine(who: &Who, wanted: &mut Wanted) -> Result<(), Trouble> {
    let Some(tenant) = &who.tenant else { return Ok(()) };
    if wanted.tenant == DEFAULT_TENANT {
        tenant.clone_into(&mut wanted.tenant);
    } else if wanted.tenant != *tenant {
        let message = format!("tenant is {:?}: this token submits jobs of {tenant:?} alone", wanted.tenant);
        return Err(Trouble::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    Ok(())
}
