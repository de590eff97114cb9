//! The folder of a lease: how server and supervisor tell each other what must not be lost.
//!
//! | File | Written by | Means |
//! |---|---|---|
//! | `order.json` | server | what to run |
//! | `room` | server | nothing: room on the disk for the supervisor's files |
//! | `lock` | supervisor | held while it lives |
//! | `claim.json` | supervisor | this process supervises; a lease is claimed once |
//! | `started` | supervisor | the program was run |
//! | `stop.json` | server | save and leave; announced by SIGTERM |
//! | `exit.json` | supervisor | nothing of the job runs any more, and this is how it ended |
//!
//! Files appear whole, by renaming.

use super::cgroup::Group;
use crate::program::{Program, ProgramLimits};
use evenhand_core::{EndCause, Retry};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) const ORDER: &str = "order.json";
const ROOM: &str = "room";
pub(super) const LOCK: &str = "lock";
pub(super) const CLAIM: &str = "claim.json";
pub(super) const STARTED: &str = "started";
pub(super) const STOP: &str = "stop.json";
pub(super) const EXIT: &str = "exit.json";

/// What a supervisor is to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub program: Program,
    /// The whole environment of the program.
    pub environment: Vec<(String, String)>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The system user as whom it runs; whoever runs the service if nobody is named.
    #[serde(default)]
    pub user: Option<String>,
    /// The control group that all its processes are in, if it has one.
    #[serde(default)]
    pub cgroup: Option<PathBuf>,
    /// Folders that are its own.
    #[serde(default)]
    pub own: Vec<PathBuf>,
    /// Where its output goes.
    pub output: PathBuf,
    /// Size at which a new file is begun, in bytes.
    pub output_bytes_max: u64,
}

impl Order {
    /// The control group that all its processes are in.
    pub(super) fn group(&self) -> Option<Group> {
        self.cgroup.clone().map(Group::at)
    }

    pub(super) fn limits(&self) -> ProgramLimits {
        self.program.limits
    }
}

/// Which process supervises.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    pub pid: i32,
    /// When it started, in clock ticks since the boot: with the number, this names a process for good.
    pub start_ticks: u64,
    /// Which boot of the machine.
    pub boot: String,
}

/// The order to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stop {
    pub cause: EndCause,
    pub grace_ms: u64,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exit {
    pub how: How,
    /// Why it had been told to leave, if it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<EndCause>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum How {
    Exited(i32),
    Signalled(i32),
    NotLaunched { retry: Retry, error: String },
}

/// Reads a file of the folder, if it is there and whole.
pub(super) fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Option<T> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    // Space that was set aside follows what was written.
    serde_json::from_str(text.trim_end()).ok()
}

/// Writes a file of the folder, whole or not at all.
pub(super) fn write<T: Serialize>(folder: &Path, name: &str, value: &T) -> io::Result<()> {
    fs::rename(draft(folder, name, value)?, folder.join(name))
}

/// Takes as much room as a supervisor needs to begin, so that none is started that could not.
pub(super) fn reserve_room(folder: &Path) -> io::Result<()> {
    fs::write(folder.join(ROOM), vec![b' '; ROOM_BYTES])
}

/// Gives that room back, to whoever takes it at once.
pub(super) fn free_room(folder: &Path) {
    // A server from before made none.
    let _ = fs::remove_file(folder.join(ROOM));
}

/// A file that is written, and put in its place later, which takes no more room.
pub(super) fn draft<T: Serialize>(folder: &Path, name: &str, value: &T) -> io::Result<PathBuf> {
    let draft = folder.join(format!("{name}.{}", std::process::id()));
    fs::write(&draft, serde_json::to_vec(value)?)?;
    Ok(draft)
}

/// A file that room was set aside for, so that it can be written when the disk is full.
#[derive(Debug)]
pub(super) struct Reserved {
    file: File,
    draft: PathBuf,
}

const RESERVED_BYTES: usize = 4096;

/// A block each for the supervisor's files, and more: blocks are larger on some disks.
const ROOM_BYTES: usize = 32 * 1024;

impl Reserved {
    pub(super) fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let draft = folder.join(format!("{name}.{}", std::process::id()));
        let mut file = File::create(&draft)?;
        file.write_all(&[b' '; RESERVED_BYTES])?;
        file.sync_all()?;
        Ok(Self { file, draft })
    }

    /// Writes over the reserved room and puts the file in its place: on disk when this returns.
    pub(super) fn publish<T: Serialize>(self, folder: &Path, name: &str, value: &T) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let mut text = serde_json::to_vec(value)?;
        text.resize(text.len().max(RESERVED_BYTES), b' ');
        self.file.write_all_at(&text, 0)?;
        self.file.sync_all()?;
        fs::rename(self.draft, folder.join(name))?;
        File::open(folder)?.sync_all()
    }
}
