//! What jobs leave on disk about how far they are. They may leave anything there.

use crate::runner::Report;
use evenhand_core::{LeaseId, Loss, Work};
use rustix::fs::OFlags;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The longest number that is read from a checkpoint: what follows is the job's own.
const STEPS_BYTES_MAX: u64 = 64;

/// The longest report that is read.
const REPORT_BYTES_MAX: u64 = 1024;

/// A report as a job writes it.
#[derive(Deserialize)]
struct Told {
    /// In which lease: what was left by an earlier one is no news.
    lease: u64,
    steps: f64,
    loss: Option<f64>,
    batch: Option<u32>,
    /// Steps done when this batch size came into force.
    batch_from: Option<f64>,
}

/// The steps done according to a checkpoint: the number at its beginning.
pub(crate) fn steps(checkpoint: &Path) -> Option<f64> {
    let head = beginning(checkpoint, STEPS_BYTES_MAX)?;
    let word = head.split(u8::is_ascii_whitespace).next()?;
    let steps: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    steps.is_finite().then_some(steps)
}

/// What a job says of itself in this lease. Numbers that make no sense are as good as none.
pub(crate) fn report(path: &Path, lease: LeaseId) -> Option<Report> {
    let told: Told = serde_json::from_slice(&beginning(path, REPORT_BYTES_MAX)?).ok()?;
    let steps = |steps: f64| (steps.is_finite() && steps >= 0.0).then(|| Work::from_steps(steps));
    let done = steps(told.steps).filter(|_| told.lease == lease.0)?;
    let loss = told.loss.and_then(|loss| Loss::new(loss).ok());
    let batch = told.batch.map(|batch| (batch, told.batch_from.and_then(steps).unwrap_or(Work::ZERO)));
    Some(Report { done, loss, batch })
}

/// The first bytes of a file, if it is one and the job's own.
fn beginning(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
    // Opening a pipe that a job put there would wait for its writer.
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let file = file.ok()?;
    let (found, folder) = (file.metadata().ok()?, fs::metadata(path.parent()?).ok()?);
    // A link to what the job itself may not read tells nothing either.
    if !found.is_file() || found.uid() != folder.uid() {
        return None;
    }
    let mut head = Vec::new();
    file.take(bytes_max).read_to_end(&mut head).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Option<Report> {
        let folder = std::env::temp_dir().join(format!("evenhand-progress-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("report.json");
        fs::write(&path, text).unwrap();
        let found = report(&path, LeaseId(7));
        fs::remove_dir_all(&folder).unwrap();
        found
    }

    #[test]
    fn a_report_tells_how_far_a_job_is_with_its_loss_and_batch_size() {
        let found =
            read("all", r#"{"lease": 7, "steps": 12, "loss": 0.5, "batch": 64, "batch_from": 10}"#).unwrap();
        assert_eq!(found.done, Work::from_steps(12.0));
        assert_eq!(found.loss, Loss::new(0.5).ok());
        assert_eq!(found.batch, Some((64, Work::from_steps(10.0))));
    }

    #[test]
    fn what_makes_no_sense_or_is_from_an_earlier_lease_is_no_report() {
        assert_eq!(read("old", r#"{"lease": 6, "steps": 12}"#), None);
        assert_eq!(read("less", r#"{"lease": 7, "steps": -1}"#), None);
        assert_eq!(read("cut", r#"{"lease": 7, "st"#), None);
        let odd = read("loss", r#"{"lease": 7, "steps": 3, "loss": -1}"#).unwrap();
        assert_eq!((odd.done, odd.loss), (Work::from_steps(3.0), None));
    }
}
