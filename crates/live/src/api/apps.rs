//! Apps: jobs with one goal.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::Wish;
use crate::store::AppRow;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Apps that are listed at most.
const LISTED_MAX: usize = 1000;

/// Some apps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AppList {
    /// The youngest first.
    pub apps: Vec<AppRow>,
}

/// Which apps to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Closed ones too.
    all: Option<bool>,
}

/// `GET /v1/apps`.
pub(super) async fn list(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<AppList>, Trouble> {
    let Query(listing) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let all = listing.all.unwrap_or(false);
    let apps = front.look(move |reader| reader.apps(all, who.tenant.as_deref(), LISTED_MAX)).await?;
    Ok(Json(AppList { apps }))
}

/// `POST /v1/apps/{app}/close`: ends what is left of its jobs.
pub(super) async fn close(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
) -> Result<Json<AppRow>, Trouble> {
    let (wanted, tenant) = (name.clone(), who.tenant.clone());
    let found = front.look(move |reader| reader.app(&wanted, tenant.as_deref())).await?;
    let no_app = || Trouble::new(StatusCode::NOT_FOUND, "no-app", format!("there is no app `{name}`"));
    let found = found.ok_or_else(no_app)?;
    front.ask(&who, Wish::CloseApp(found.id)).await?;
    Ok(Json(found))
}
