//! How a job of the service stands, for people.

use crate::local_clock::LocalClock;
use evenhand_core::JobId;
use evenhand_live::api::{self, Now, Told};

/// A few lines: why, what would help, when, who is before it, and what everybody has.
pub(super) fn told(job: JobId, now: &Now, clock: &LocalClock) -> String {
    let line = |(at, told): (usize, &Told)| {
        let text = told.text(|seconds| clock.at(seconds));
        if at == 0 { text } else { format!("  {:<8}  {text}", told.label) }
    };
    api::told(job, now).iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}
