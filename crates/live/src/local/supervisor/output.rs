//! What a job prints, in files that do not grow for ever: one that is written to, and the one before.

use crate::account::Account;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Who may read and write the output of a job: its user.
const MODE: u32 = 0o600;

/// The output of a job. What cannot be written is dropped: a full disk must not stop the job.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    most: u64,
    /// Whose the files are, if not ours.
    owner: Option<Account>,
}

impl Output {
    /// Goes on with the file if it is there.
    pub(super) fn open(path: &Path, most: u64) -> Self {
        let file = open(path).ok();
        let written =
            file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len());
        Self { path: path.to_owned(), file, written, most, owner: None }
    }

    /// Makes the files somebody's, so that they can read them.
    pub(super) fn give(&mut self, owner: Account) -> io::Result<()> {
        owner.give(&self.path)?;
        self.owner = Some(owner);
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.written + bytes.len() as u64 > self.most && self.written > 0 {
            // If the old file cannot be set aside, the job's output goes on in it.
            let _ = self.turn_over();
        }
        if let Some(file) = &mut self.file
            && file.write_all(bytes).is_ok()
        {
            self.written += bytes.len() as u64;
        }
    }

    fn turn_over(&mut self) -> io::Result<()> {
        let mut before = self.path.clone().into_os_string();
        before.push(".1");
        fs::rename(&self.path, before)?;
        self.file = Some(open(&self.path)?);
        self.written = 0;
        self.owner.as_ref().map_or(Ok(()), |owner| owner.give(&self.path))
    }
}

/// A file for its owner alone, to add to.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(MODE).open(path)?;
    // It may be from before there were users, and open to all.
    file.set_permissions(Permissions::from_mode(MODE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_turns_over_and_keeps_the_file_before() {
        let folder = std::env::temp_dir().join(format!("evenhand-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("output.log");
        let mut output = Output::open(&path, 10);
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            output.write(line.as_bytes());
        }
        assert_eq!(fs::read_to_string(folder.join("output.log.1")).unwrap(), "three\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "four\n");
        Output::open(&path, 100).write(b"five\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "four\nfive\n");
        fs::remove_dir_all(&folder).unwrap();
    }
}
