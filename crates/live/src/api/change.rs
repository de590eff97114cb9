//! What is done to jobs and arrays that were submitted: cancel, hold, release, retire.

use super::jobs::target;
use super::submit::Accepted;
use super::{Front, Trouble};
use crate::access::Who;
use crate::request::{Answer, JobVerb, Wish};
use crate::store::Target;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use std::sync::Arc;

type Answered = Result<Json<Accepted>, Trouble>;
type AtFront = State<Arc<Front>>;

/// `DELETE /v1/jobs/{job}`, or `POST /v1/jobs/{job}/cancel`.
pub(super) async fn cancel(front: AtFront, who: Extension<Who>, name: Path<String>) -> Answered {
    change(front, who, name, JobVerb::Cancel).await
}

/// `POST /v1/jobs/{job}/hold`.
pub(super) async fn hold(front: AtFront, who: Extension<Who>, name: Path<String>) -> Answered {
    change(front, who, name, JobVerb::Hold).await
}

/// `POST /v1/jobs/{job}/release`.
pub(super) async fn release(front: AtFront, who: Extension<Who>, name: Path<String>) -> Answered {
    change(front, who, name, JobVerb::Release).await
}

/// `POST /v1/jobs/{job}/retire`.
pub(super) async fn retire(front: AtFront, who: Extension<Who>, name: Path<String>) -> Answered {
    change(front, who, name, JobVerb::Retire).await
}

async fn change(
    State(front): AtFront,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    verb: JobVerb,
) -> Answered {
    let target = target(&front, &who, name).await?;
    let (job, is_array) = (target.id(), matches!(target, Target::Array { .. }));
    let answer = front.ask(&who, Wish::Change(verb, target)).await?;
    let Answer::Changed(jobs) = answer else { return Err(Trouble::invalid("nothing came of it")) };
    Ok(Json(Accepted { job, created: false, jobs: is_array.then_some(jobs) }))
}
