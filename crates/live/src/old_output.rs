//! What ended jobs left behind: output, checkpoints of those that failed, working folders. It is kept for a while, not for ever.

use crate::clock::system_ms;
use crate::store::{Reader, StoreError};
use evenhand_core::{JobId, Span, Time};
use std::fs;
use std::path::Path;

/// Removes the folders of jobs that ended longer ago than this; says how many. A folder of a job that has not ended, or that the ledger does
/// not know, is never touched.
pub fn remove_old_output(state: &Path, keep: Span) -> Result<u64, StoreError> {
    let reader = Reader::open(state)?;
    let Some(origin) = reader.origin()? else { return Ok(0) };
    let now = Time(system_ms().saturating_sub(origin.epoch_ms));
    remove_old(&reader, &state.join("jobs"), now, keep)
}

fn remove_old(reader: &Reader, jobs: &Path, now: Time, keep: Span) -> Result<u64, StoreError> {
    let found = fs::read_dir(jobs).into_iter().flatten().filter_map(Result::ok);
    let mut removed = 0;
    for entry in found {
        // Numbers beyond those of the database belong to no job.
        let number = entry.file_name().to_str().and_then(|name| name.parse::<i64>().ok());
        let Some(job) = number.and_then(|number| u64::try_from(number).ok()) else { continue };
        let ended_ms = reader.job(JobId(job))?.and_then(|row| row.ended_ms);
        let is_old = ended_ms.is_some_and(|ended| Time(ended) + keep < now);
        removed += u64::from(is_old && fs::remove_dir_all(entry.path()).is_ok());
    }
    Ok(removed)
}
