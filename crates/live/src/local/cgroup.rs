//! Control groups (cgroup v2): a group per lease, out of which no process of its job can fork, so that the kernel kills all of them at once.
//!
//! Where there is none that we may write to, process groups, sessions and marks have to do: see `procs`.

use crate::account::is_root;
use crate::program::ProgramLimits;
use evenhand_core::LeaseId;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The folder of ours among the groups of the machine.
const OWN: &str = "evenhand";

/// Controllers that limit a job as a whole.
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];

/// The period over which processor time is counted, in microseconds: what the kernel takes if nobody says.
const CPU_PERIOD_US: u64 = 100_000;

/// Where groups of leases are made.
#[derive(Clone, Debug)]
pub struct Cgroups {
    base: PathBuf,
}

/// Why there are none.
#[derive(Debug, Error)]
pub enum NoCgroups {
    /// The kernel shows none.
    #[error("no cgroup2 file system is mounted")]
    NotMounted,
    /// It is somebody else's.
    #[error("{} cannot be made: {source}", .path.display())]
    NotOurs {
        /// The folder that could not be made.
        path: PathBuf,
        /// What came back.
        source: io::Error,
    },
    /// The kernel cannot kill a whole group.
    #[error("this kernel has no cgroup.kill: Linux 5.14 has")]
    TooOld,
}

impl Cgroups {
    /// Looks for a place: at the top for root, where its jobs survive the unit that it may be; else in the group that this process is in, if that is ours.
    pub fn find() -> Result<Self, NoCgroups> {
        let mount = mount_point().ok_or(NoCgroups::NotMounted)?;
        let own = own_group().map(|own| mount.join(own));
        let top = is_root().then_some(mount);
        let mut trouble = NoCgroups::NotMounted;
        for place in top.into_iter().chain(own) {
            match Self::settle(&place) {
                Ok(found) => return Ok(found),
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }

    fn settle(place: &Path) -> Result<Self, NoCgroups> {
        let base = place.join(OWN);
        let probe = base.join(format!("probe-{}", std::process::id()));
        // That the folder is there does not mean that we may use it.
        let made = fs::create_dir_all(&base).and_then(|()| fs::create_dir(&probe));
        made.map_err(|source| NoCgroups::NotOurs { path: probe.clone(), source })?;
        let kills = probe.join("cgroup.kill").exists();
        // Nothing is in it, so nothing keeps it.
        let _ = fs::remove_dir(probe);
        if !kills {
            return Err(NoCgroups::TooOld);
        }
        for (folder, controller) in
            [place, &base].into_iter().flat_map(|at| CONTROLLERS.map(|name| (at, name)))
        {
            // Those that are not to be had are missed only by jobs that want to be limited by them.
            let _ = fs::write(folder.join("cgroup.subtree_control"), format!("+{controller}"));
        }
        Ok(Self { base })
    }

    /// The group of a lease of a store.
    pub(super) fn of(&self, store: &str, lease: LeaseId) -> Group {
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        Group(self.base.join(format!("{}-{}", store.chars().map(plain).collect::<String>(), lease.0)))
    }
}

/// Where the second version is mounted.
fn mount_point() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        kind.starts_with("cgroup2 ").then(|| place.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// The group that this process is in, from the mount point.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| line.strip_prefix("0::/").map(PathBuf::from))
}

/// The group of one lease.
#[derive(Clone, Debug)]
pub(super) struct Group(PathBuf);

impl Group {
    /// One that was made, or is to be.
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes it, with the limits of the job as a whole.
    pub(super) fn make(&self, limits: ProgramLimits) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let cpu = limits.job_cpus.map(|cpus| format!("{} {CPU_PERIOD_US}", u64::from(cpus) * CPU_PERIOD_US));
        let asked = [
            ("job_memory_bytes", "memory.max", limits.job_memory_bytes.map(|bytes| bytes.to_string())),
            ("job_processes", "pids.max", limits.job_processes.map(|count| count.to_string())),
            ("job_cpus", "cpu.max", cpu),
        ];
        for (field, file, most) in asked {
            let Some(most) = most else { continue };
            let path = self.0.join(file);
            if !path.exists() {
                return Err(unkept(field, &format!("this machine gives the service no {file} in cgroups")));
            }
            fs::write(path, most).map_err(|error| unkept(field, &format!("{file}: {error}")))?;
        }
        if limits.job_memory_bytes.is_some() {
            // A job of which one process is missing is of no use. Kernels before 4.19 do not know it.
            let _ = fs::write(self.0.join("memory.oom.group"), "1");
        }
        Ok(())
    }

    /// Puts this process in it, and with it whatever that will ever fork.
    pub(super) fn join(&self) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), "0")
    }

    /// Kills everything in it at once.
    pub(super) fn kill(&self) {
        // One that is not there any more has nobody in it.
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
    }

    /// Kills whatever is in it and removes it; whether nothing is left. What was killed takes a moment to go.
    pub(super) fn clear(&self) -> bool {
        self.kill();
        match remove(&self.0) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(_) => !self.is_populated(),
        }
    }

    fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.0.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }
}

/// Removes a group and those that the job made in it; the files in them go by themselves.
fn remove(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(group)
}

/// A job that wants to be limited as a whole where that cannot be.
pub(super) fn check_without(limits: ProgramLimits) -> io::Result<()> {
    let asked = [
        ("job_memory_bytes", limits.job_memory_bytes.is_some()),
        ("job_processes", limits.job_processes.is_some()),
        ("job_cpus", limits.job_cpus.is_some()),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        Some((field, _)) => Err(unkept(field, "the service may make no cgroups here")),
        None => Ok(()),
    }
}

fn unkept(field: &str, why: &str) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, format!("limits.{field} cannot be kept: {why}"))
}
