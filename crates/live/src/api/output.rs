//! What a job printed.

use super::jobs::find;
use super::{Front, Trouble};
use crate::access::Who;
use crate::local::output_file;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue};
use serde::Deserialize;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path as FilePath;
use std::sync::Arc;

/// Bytes of output that are shown if nobody says, and at most.
const TAIL: u64 = 64 * 1024;
const TAIL_MAX: u64 = 1 << 20;

/// Says how far the output has been shown: ask for what comes from there on.
pub const NEXT_HEADER: &str = "evenhand-output-next";

/// Which part of the output to show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    bytes: Option<u64>,
    from: Option<u64>,
}

/// `GET /v1/jobs/{job}/output`: the last of what it printed, or what comes from somewhere on.
pub(super) async fn output(
    State(front): State<Arc<Front>>,
    Extension(who): Extension<Who>,
    Path(name): Path<String>,
    query: Result<Query<Part>, QueryRejection>,
) -> Result<([(HeaderName, HeaderValue); 1], Vec<u8>), Trouble> {
    let Query(part) = query.map_err(|error| Trouble::invalid(error.body_text()))?;
    let path = output_file(front.state(), find(&front, &who, name).await?);
    let read = tokio::task::spawn_blocking(move || read(&path, &part));
    // A job that has not run has printed nothing.
    let (next, text) = read.await.ok().and_then(Result::ok).unwrap_or_default();
    Ok(([(HeaderName::from_static(NEXT_HEADER), HeaderValue::from(next))], text))
}

/// The part of the file that is asked for, and where it ends.
fn read(path: &FilePath, part: &Part) -> std::io::Result<(u64, Vec<u8>)> {
    let bytes = part.bytes.unwrap_or(TAIL).min(TAIL_MAX);
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let from = match part.from {
        // A new file was begun since: what is in it has not been seen.
        Some(from) if from > length => 0,
        Some(from) => from,
        None => length.saturating_sub(bytes),
    };
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok((from + text.len() as u64, text))
}
