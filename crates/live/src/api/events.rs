//! What happens, as it happens: the ledger from some record on, as server-sent events.

use super::{Front, Trouble};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;

/// Records that are read at a time.
const PAGE: usize = 256;

/// From where on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    after: Option<u64>,
}

/// Where a watcher is. It reads at its own pace, and holds nobody up.
struct Watching {
    front: Arc<Front>,
    last: watch::Receiver<u64>,
    after: u64,
    ready: VecDeque<(u64, String)>,
}

/// `GET /v1/events?after=N`: each event has the number of its record, so that a watcher who was cut off goes on with `Last-Event-ID`. Without
/// either, only what is new.
pub(super) async fn watch(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    query: Result<Query<From>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Trouble> {
    let Query(from) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let last = front.last();
    let newest = *last.borrow();
    let after = resumed.or(from.after).unwrap_or(newest);
    let watching = Watching { front, last, after, ready: VecDeque::new() };
    Ok(Sse::new(stream::unfold(watching, next)).keep_alive(KeepAlive::default()))
}

/// The next record; ends when the service does or the store cannot be read.
async fn next(mut watching: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    loop {
        if let Some((seq, record)) = watching.ready.pop_front() {
            watching.after = seq;
            let event = Event::default().id(seq.to_string()).event("record").data(record);
            return Some((Ok(event), watching));
        }
        let after = watching.after;
        watching.last.mark_unchanged();
        let records = watching.front.look(move |reader| reader.records(after, PAGE)).await.ok()?;
        if records.is_empty() {
            watching.last.changed().await.ok()?;
        }
        watching.ready.extend(records);
    }
}
