//! The whole ledger as JSON lines, as a simulation writes it.

use super::{Front, Trouble};
use crate::store::Reader;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::io;
use std::sync::Arc;

/// Records that are read at a time.
const PAGE: usize = 1024;

/// `GET /v1/ledger`: can be fed to `report`, `replay` and `explain`.
pub(super) async fn export(State(front): State<Arc<Front>>) -> Result<Response, Trouble> {
    let origin = front.look(Reader::origin).await?;
    let header = origin.map(|origin| serde_json::to_string(&origin.header)).transpose();
    let header = header.ok().flatten().unwrap_or_default() + "\n";
    // What comes while it is being sent is left for the next time: an export ends.
    let until = *front.last().borrow();
    let lines = stream::unfold((front, 0, Some(header)), move |(front, after, header)| async move {
        if let Some(header) = header {
            return Some((Ok::<_, io::Error>(Bytes::from(header)), (front, after, None)));
        }
        let page = front.look(move |reader| reader.records(after, PAGE)).await;
        let Ok(page) = page else {
            return Some((Err(io::Error::other("the ledger cannot be read")), (front, until, None)));
        };
        let page: Vec<_> = page.into_iter().filter(|(seq, _)| *seq <= until).collect();
        let last = page.last()?.0;
        let text: String = page.into_iter().map(|(_, record)| record + "\n").collect();
        Some((Ok(Bytes::from(text)), (front, last, None)))
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}
