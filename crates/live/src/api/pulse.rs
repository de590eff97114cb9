//! That something happened, at most once a second: what a page waits for before it looks again. Whoever wants to know what happened
//! watches events.

use super::{Front, Trouble};
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// The least time between two.
const PAUSE: Duration = Duration::from_secs(1);

/// So long after the last at most, so that a page that hears nothing knows that something is wrong.
const SILENCE: Duration = Duration::from_secs(10);

/// What is told.
#[derive(Clone, Debug, Serialize)]
pub struct Pulse {
    /// The number of the last record.
    pub record: u64,
    /// Whether nothing can be recorded.
    pub mending: bool,
    /// The version of the program: a page of another one loads itself again.
    pub version: &'static str,
}

struct Watching {
    front: Arc<Front>,
    last: watch::Receiver<u64>,
    is_first: bool,
    _place: OwnedSemaphorePermit,
}

/// `GET /v1/pulse`.
pub(super) async fn pulse(
    State(front): State<Arc<Front>>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Trouble> {
    let watching = Watching { last: front.last(), _place: front.watcher()?, front, is_first: true };
    Ok(Sse::new(stream::unfold(watching, next)).keep_alive(KeepAlive::default()))
}

async fn next(mut watching: Watching) -> Option<(Result<Event, Infallible>, Watching)> {
    if !std::mem::take(&mut watching.is_first) {
        tokio::time::sleep(PAUSE).await;
        // Ends when the service does.
        if let Ok(changed) = tokio::time::timeout(SILENCE, watching.last.changed()).await {
            changed.ok()?;
        }
    }
    let record = *watching.last.borrow_and_update();
    let mending = watching.front.vitals().mending.load(Ordering::Relaxed);
    let pulse = Pulse { record, mending, version: env!("CARGO_PKG_VERSION") };
    let data = serde_json::to_string(&pulse).expect("a pulse can be written as JSON");
    Some((Ok(Event::default().event("pulse").data(data)), watching))
}
