//! The folders of the state, so that every user reaches what is theirs and nothing else.
//!
//! | Folder or file | Whose | Others may |
//! |---|---|---|
//! | the state folder, `jobs`, `jobs/N` | the service's | go through, if it runs as root |
//! | `jobs/N/checkpoint`, `jobs/N/work`, `jobs/N/output.log` | the job's user's | nothing |
//! | all else: ledger, tokens, `leases` | the service's | nothing |
//!
//! `jobs/N` is not the job's: whoever owned it could put a link where the service, as root, writes the output.

use crate::account::{Account, is_root};
use crate::store::STORE_FILE;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// For whoever knows the name of what is in it.
const PASSAGE: u32 = 0o711;

/// For its owner alone.
const PRIVATE: u32 = 0o700;

/// Makes the folders of a state folder. A service that runs as root lets other users through to their jobs, once all else is closed.
pub(crate) fn furnish(state: &Path) -> io::Result<()> {
    make(&state.join("leases"), PRIVATE)?;
    make(&state.join("jobs"), PASSAGE)?;
    if !is_root() {
        return Ok(());
    }
    for suffix in ["", "-wal", "-shm"] {
        close(&state.join(format!("{STORE_FILE}{suffix}")), 0o600)?;
    }
    close(&state.join("server.lock"), 0o600)?;
    close(&state.join("leases"), PRIVATE)?;
    for entry in fs::read_dir(state.join("jobs"))? {
        let entry = entry?;
        // Jobs from before there were users have output that everybody could read.
        if entry.metadata()?.permissions().mode() & 0o777 != PASSAGE {
            close(&entry.path(), PRIVATE)?;
        }
    }
    close(&state.join("jobs"), PASSAGE)?;
    close(state, PASSAGE)
}

/// Makes the folder of a job and that of its checkpoints.
pub(crate) fn furnish_job(folder: &Path, checkpoints: &Path) -> io::Result<()> {
    make(folder, PASSAGE)?;
    close(folder, PASSAGE)?;
    make(checkpoints, PRIVATE)
}

/// Makes a folder that belongs to somebody alone.
pub(crate) fn give(folder: &Path, account: &Account) -> io::Result<()> {
    make(folder, PRIVATE)?;
    close(folder, PRIVATE)?;
    account.give(folder)
}

/// Makes a file that is there somebody's alone.
pub(crate) fn give_file(file: &Path, account: &Account) -> io::Result<()> {
    close(file, 0o600)?;
    account.give(file)
}

fn make(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(folder)
}

/// Lets nobody do more with it than this says; nothing need be there.
fn close(path: &Path, mode: u32) -> io::Result<()> {
    match fs::set_permissions(path, Permissions::from_mode(mode)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// The first folder on the way that other users cannot go through, if there is one.
pub fn barred(state: &Path) -> Option<&Path> {
    let bars = |folder: &&Path| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.permissions().mode() & 0o001 == 0)
    };
    state.ancestors().skip(1).filter(bars).last()
}
