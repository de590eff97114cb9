//! What happens, as it happens: the ledger from some record on, as server-sent events.

use super::{Front, Trouble, within_store};
use crate::access::Who;
use crate::store::{OwnRecords, Reader, StoreError};
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};

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
    /// What a tenant may see of the records; others see all.
    own: Option<OwnRecords>,
    _place: OwnedSemaphorePermit,
}

/// `GET /v1/events?after=N`: each event has the number of its record, so that a watcher who was cut off goes on with `Last-Event-ID`. Without
/// either, only what is new. A tenant sees what is about its own jobs.
pub(super) async fn watch(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    query: Result<Query<From>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Trouble> {
    let Query(from) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let last = front.last();
    let newest = *last.borrow();
    let after = within_store("after", resumed.or(from.after))?.unwrap_or(newest);
    let place = front.watcher()?;
    let own = match who.tenant {
        Some(tenant) => Some(front.look(move |reader| OwnRecords::new(reader, tenant, after)).await?),
        None => None,
    };
    let watching = Watching { front, last, after, ready: VecDeque::new(), own, _place: place };
    Ok(Sse::new(stream::unfold(watching, next)).keep_alive(KeepAlive::default()))
}

/// The next record; ends when the service does or the store cannot be read.
async fn next(mut watching: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    loop {
        if let Some((seq, record)) = watching.ready.pop_front() {
            let event = Event::default().id(seq.to_string()).event("record").data(record);
            return Some((Ok(event), watching));
        }
        let after = watching.after;
        watching.last.mark_unchanged();
        let own = watching.own.take();
        let (records, last, own) = watching.front.look(move |reader| page(reader, after, own)).await.ok()?;
        watching.own = own;
        match last {
            Some(last) => watching.after = last,
            None => watching.last.changed().await.ok()?,
        }
        watching.ready.extend(records);
    }
}

type Seen = (Vec<(u64, String)>, Option<u64>, Option<OwnRecords>);

/// The next records as the watcher may see them, and the number of the last that was looked at.
fn page(reader: &Reader, after: u64, own: Option<OwnRecords>) -> Result<Seen, StoreError> {
    let records = reader.records(after, PAGE)?;
    let last = records.last().map(|(seq, _)| *seq);
    let Some(mut own) = own else { return Ok((records, last, None)) };
    let mut seen = Vec::new();
    for (seq, text) in records {
        seen.extend(own.see(reader, seq, &text)?.map(|text| (seq, text)));
    }
    Ok((seen, last, Some(own)))
}
