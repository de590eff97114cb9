//! Who asked for which change.

use super::{Front, PAGE_MAX, Trouble};
use crate::store::Asked;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Entries on a page if nobody says.
const PAGE: usize = 100;

/// Some entries, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AskedPage {
    /// The entries. If there are as many as the limit, ask for those after the last.
    pub asked: Vec<Asked>,
}

/// Which entries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    after: Option<u64>,
    limit: Option<usize>,
}

/// `GET /v1/audit`.
pub(super) async fn list(
    State(front): State<Arc<Front>>,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Json<AskedPage>, Trouble> {
    let Query(Listing { after, limit }) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let limit = limit.unwrap_or(PAGE);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Trouble::invalid(format!("limit is {limit}: 1 to {PAGE_MAX} are allowed")));
    }
    let after = super::within_store("after", after)?;
    let asked = front.look(move |reader| reader.asked(after.unwrap_or(0), limit)).await?;
    Ok(Json(AskedPage { asked }))
}
