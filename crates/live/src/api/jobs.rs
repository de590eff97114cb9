//! Jobs: list, look at, explain.

use super::{Front, PAGE_MAX, Trouble};
use crate::access::Who;
use crate::store::{JobFilter, JobRow, Page, Phase, Target};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use evenhand_core::JobId;
use serde::Deserialize;
use std::sync::Arc;

/// Jobs on a page if nobody says.
const PAGE: usize = 100;

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
    search: Option<String>,
    after: Option<u64>,
    before: Option<u64>,
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
        phases.push(Phase::parse(name).ok_or_else(|| {
            Trouble::invalid(format!("phase is {name}: allowed are {}", Phase::names().join(", ")))
        })?);
    }
    let limit = listing.limit.unwrap_or(PAGE);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Trouble::invalid(format!("limit is {limit}: 1 to {PAGE_MAX} are allowed")));
    }
    let after = super::within_store("after", listing.after)?.map(JobId);
    let before = super::within_store("before", listing.before)?.map(JobId);
    let nobody = || Ok(Json(Page { jobs: Vec::new(), next_after: None, next_before: None }));
    let tenant = match (who.tenant.clone(), listing.tenant.clone()) {
        // Others' jobs are not there for a tenant.
        (Some(own), Some(other)) if own != other => return nobody(),
        (own, asked) => own.or(asked),
    };
    let array = match listing.array.clone() {
        None => None,
        Some(name) => match target(&front, &who, name).await {
            Ok(Target::Array { array, .. }) => Some(array),
            _ => return nobody(),
        },
    };
    let Listing { name, app, search, .. } = listing;
    let filter = JobFilter { phases, tenant, name, array, app, search, after, before };
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
