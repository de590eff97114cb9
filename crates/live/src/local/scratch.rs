//! The folder in which the checkpoints of jobs are kept while the world lasts.

use evenhand_core::{JobId, Work};
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest number that is read from a checkpoint: what follows is the job's own.
const PROGRESS_BYTES_MAX: u64 = 64;

/// A private folder that goes away with the world.
#[derive(Debug)]
pub(super) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// A new folder that nobody else uses, nor used before in this process.
    pub(super) fn new() -> io::Result<Self> {
        static FOLDERS: AtomicU64 = AtomicU64::new(0);
        let parent = std::env::temp_dir();
        loop {
            let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
            let folder = parent.join(format!("evenhand-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self { folder }),
                // Left behind by a process of the same number that was killed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where a job keeps its checkpoint: the same file for every lease of it.
    pub(super) fn checkpoint(&self, job: JobId) -> PathBuf {
        self.folder.join(format!("job-{}.checkpoint", job.0))
    }

    /// The steps done according to a job's checkpoint: the number at its beginning, or none.
    pub(super) fn progress(&self, job: JobId) -> Work {
        read_steps(&self.checkpoint(job)).map_or(Work::ZERO, Work::from_steps)
    }

    /// Removes the checkpoint of a job that has ended.
    pub(super) fn forget(&self, job: JobId) {
        // There may be none; and whatever cannot be removed now goes with the folder.
        let _ = fs::remove_file(self.checkpoint(job));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is nobody left to tell, and nothing depends on it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn read_steps(checkpoint: &Path) -> Option<f64> {
    // Opening a pipe that a job put there would wait for its writer.
    if !fs::metadata(checkpoint).ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    File::open(checkpoint).ok()?.take(PROGRESS_BYTES_MAX).read_to_end(&mut head).ok()?;
    let word = head.split(u8::is_ascii_whitespace).next()?;
    let steps: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    steps.is_finite().then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_of_a_job_is_the_number_its_checkpoint_begins_with() {
        let scratch = Scratch::new().unwrap();
        let says = |text: &[u8]| {
            fs::write(scratch.checkpoint(JobId(7)), text).unwrap();
            scratch.progress(JobId(7))
        };
        assert_eq!(says(b"1.25\n"), Work(1250));
        assert_eq!(says(b"3 and the job's own \xff\xfe"), Work(3000));
        assert_eq!(says(b"-3"), Work::ZERO);
        assert_eq!(says(b"NaN"), Work::ZERO);
        assert_eq!(says(b""), Work::ZERO);
        assert_eq!(scratch.progress(JobId(8)), Work::ZERO);
    }

    #[test]
    fn two_worlds_do_not_share_a_folder_and_leave_none_behind() {
        let (one, two) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(one.folder, two.folder);
        let folder = one.folder.clone();
        fs::write(one.checkpoint(JobId(1)), "1").unwrap();
        drop(one);
        assert!(!folder.exists());
        assert!(two.folder.exists());
    }
}
