//! Whether the service is well.

use super::{Front, Trouble};
use crate::store::Reader;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How the service is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    /// `ok`, or `mending` while nothing can be recorded.
    pub status: String,
    /// The number of the last record.
    pub records: u64,
    /// Batches of records written since the start.
    pub commits: u64,
    /// Jobs in each phase.
    pub jobs: BTreeMap<String, u64>,
    /// The version of the program.
    pub version: String,
}

pub(super) async fn health(State(front): State<Arc<Front>>) -> Result<Json<Health>, Trouble> {
    let counts = front.look(Reader::counts).await?;
    let vitals = front.vitals();
    let status = if vitals.mending.load(Ordering::Relaxed) { "mending" } else { "ok" };
    Ok(Json(Health {
        status: status.to_owned(),
        records: vitals.last.load(Ordering::Relaxed),
        commits: vitals.commits.load(Ordering::Relaxed),
        jobs: counts.into_iter().map(|(phase, count)| (phase.name().to_owned(), count)).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}
