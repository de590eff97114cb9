//! Agents of apps that live outside: they wait for offers and answer them with bids.
//!
//! Nobody waits for an agent longer than an offer is open; whoever says nothing bids for nothing.

use super::{Front, Trouble};
use crate::access::Who;
use crate::request::Wish;
use crate::service::OpenOffer;
use crate::store::AppRow;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use evenhand_core::{Answer, AppId, OfferedNode, RawBid, Round};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest that an agent may wait for an offer, in milliseconds.
const WAIT_MS_MAX: u64 = 30_000;

/// What an agent is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offered {
    /// The number of the app it speaks for.
    pub app: AppId,
    /// What it may bid for; nothing if it is not asked now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<AgentOffer>,
}

/// GPUs that are to be had.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentOffer {
    /// The version of offers and bids; a bid repeats it.
    pub version: u32,
    /// The decision it belongs to; a bid repeats it.
    pub round: Round,
    /// For how long the GPUs may be had.
    pub lease_ms: u64,
    /// When it closes, in milliseconds of the server's system clock. Later bids do not count.
    pub reply_by_unix_ms: u64,
    /// What GPU models are called, by the numbers that nodes and bids have for them.
    pub models: Vec<String>,
    /// Free GPUs, node by node.
    pub nodes: Vec<OfferedNode>,
}

/// How long to wait for an offer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    wait_ms: Option<u64>,
}

/// `GET /v1/apps/{app}/offer?wait_ms=N`.
pub(super) async fn offer(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    query: Result<Query<Waiting>, QueryRejection>,
) -> Result<Json<Offered>, Trouble> {
    let Query(waiting) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let wait_ms = waiting.wait_ms.unwrap_or(0);
    if wait_ms > WAIT_MS_MAX {
        return Err(Trouble::invalid(format!("wait_ms is {wait_ms}: at most {WAIT_MS_MAX} is allowed")));
    }
    let app = open_app(&front, &who, name).await?.id;
    let _place = front.watcher()?;
    let mut last = front.last();
    let asked = async {
        loop {
            last.mark_unchanged();
            if let Some(asked) = front.vitals().offer_to(app) {
                return Some(asked);
            }
            last.changed().await.ok()?;
        }
    };
    let asked = tokio::time::timeout(Duration::from_millis(wait_ms), asked).await.ok().flatten();
    Ok(Json(Offered { app, offer: asked.map(|asked| shown(&front, &asked)) }))
}

fn shown(front: &Front, asked: &OpenOffer) -> AgentOffer {
    let offer = &asked.offer;
    let epoch_ms = front.vitals().epoch_ms.load(Ordering::Relaxed);
    AgentOffer {
        version: offer.version,
        round: offer.round,
        lease_ms: offer.lease.0,
        reply_by_unix_ms: epoch_ms + offer.reply_by.0,
        models: front.vitals().fleet().models.iter().map(|model| model.name.clone()).collect(),
        nodes: offer.nodes.clone(),
    }
}

/// `POST /v1/apps/{app}/bid`. What cannot be read is an answer too: it is recorded that it came, and counts as a bid for nothing.
pub(super) async fn bid(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Trouble> {
    let app = open_app(&front, &who, name).await?.id;
    let answer = RawBid::decode(&body).map_or_else(Answer::Refused, Answer::Table);
    front.ask(&who, Wish::Bid(app, answer)).await?;
    Ok(Json(json!({"app": app})))
}

/// The app of this name that is open, among those that somebody may see.
async fn open_app(front: &Arc<Front>, who: &Who, name: String) -> Result<AppRow, Trouble> {
    let (wanted, tenant) = (name.clone(), who.tenant.clone());
    let found = front.look(move |reader| reader.app(&wanted, tenant.as_deref())).await?;
    let no_app = || Trouble::new(StatusCode::NOT_FOUND, "no-app", format!("there is no open app `{name}`"));
    found.filter(|app| app.closed_ms.is_none()).ok_or_else(no_app)
}
