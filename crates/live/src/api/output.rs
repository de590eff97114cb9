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
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
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

/// The part that is asked for, and where it ends.
fn read(path: &FilePath, part: &Part) -> io::Result<(u64, Vec<u8>)> {
    let bytes = part.bytes.unwrap_or(TAIL).min(TAIL_MAX);
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let Some(from) = part.from else { return read_from(file, length.saturating_sub(bytes), bytes) };
    if from <= length {
        return read_from(file, from, bytes);
    }
    // A new file was begun since. What is left of the one before comes first, then all of the new one.
    let mut before = path.to_owned().into_os_string();
    before.push(".1");
    let rest = File::open(before).and_then(|before| read_from(before, from, bytes));
    match rest {
        Ok((end, rest)) if !rest.is_empty() => Ok((end, rest)),
        _ => read_from(file, 0, bytes),
    }
}

fn read_from(mut file: File, from: u64, bytes: u64) -> io::Result<(u64, Vec<u8>)> {
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(bytes).read_to_end(&mut text)?;
    Ok((from + text.len() as u64, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_goes_on_across_the_turn_to_a_new_file() {
        let folder = std::env::temp_dir().join(format!("evenhand-part-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("output.log");
        std::fs::write(folder.join("output.log.1"), "one two three").unwrap();
        std::fs::write(&path, "four").unwrap();
        let from = |from| read(&path, &Part { bytes: Some(6), from: Some(from) }).unwrap();
        assert_eq!(from(7), (13, b" three".to_vec()), "what was left when the file turned over");
        assert_eq!(from(13), (4, b"four".to_vec()));
        assert_eq!(from(4), (4, Vec::new()));
        assert_eq!(read(&path, &Part { bytes: Some(2), from: None }).unwrap(), (4, b"ur".to_vec()));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
