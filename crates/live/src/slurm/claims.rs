//! What must not be forgotten of a lease: which run of which Slurm job it is. One file each, written before anything is asked of Slurm.

use super::jobs::SlurmId;
use evenhand_core::{JobId, LeaseId};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Which run of which Slurm job a lease is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub job: JobId,
    pub slurm: SlurmId,
    /// How often it had been put back into the queue before this run: once it was so more often, the run is over.
    pub restarts: u32,
    pub nodes: Vec<String>,
    /// Evenhand ended it with force: then Slurm says of it what it says of jobs that their submitters cancel.
    #[serde(default)]
    pub killed: bool,
}

/// The folder with all claims.
#[derive(Clone, Debug)]
pub(super) struct Claims(PathBuf);

impl Claims {
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let folder = state.join("slurm-leases");
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    fn file(&self, lease: LeaseId) -> PathBuf {
        self.0.join(format!("{}.json", lease.0))
    }

    /// Appears whole and stays, also after a power cut.
    pub(super) fn write(&self, lease: LeaseId, claim: &Claim) -> io::Result<()> {
        let new = self.0.join(format!("{}.new", lease.0));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(claim)?)?;
        file.sync_all()?;
        fs::rename(new, self.file(lease))?;
        File::open(&self.0)?.sync_all()
    }

    pub(super) fn read(&self, lease: LeaseId) -> Option<Claim> {
        serde_json::from_slice(&fs::read(self.file(lease)).ok()?).ok()
    }

    pub(super) fn remove(&self, lease: LeaseId) {
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_file(self.file(lease));
    }

    /// All leases that have one.
    pub(super) fn list(&self) -> Vec<LeaseId> {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let number = |name: &str| name.strip_suffix(".json")?.parse().ok().map(LeaseId);
        files.filter_map(|file| number(file.file_name().to_str()?)).collect()
    }
}
