//! Processes as `/proc` tells of them: who is who, and who belongs to a lease.

use super::folder::Claim;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs;
use std::os::fd::OwnedFd;

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stat {
    pub session: i32,
    pub start_ticks: u64,
    /// It has exited and only waits to be noticed.
    pub is_dead: bool,
}

pub(super) fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, brackets too: what follows the last one is numbers.
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    Some(Stat {
        session: fields.get(3)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        is_dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Which boot of this machine it is.
pub(super) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// This process, as a claim names it.
pub(super) fn own_claim() -> Claim {
    let pid = std::process::id() as i32;
    Claim { pid, start_ticks: stat(pid).map_or(0, |stat| stat.start_ticks), boot: boot() }
}

impl Claim {
    /// The process, if it still is the one that claimed, in whatever state.
    pub(super) fn open(&self) -> Option<OwnedFd> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Looked at after the number was pinned down: it cannot have changed hands since.
        let same = stat(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks);
        (same && self.boot == boot()).then_some(fd)
    }
}

/// All processes there are.
fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Kills what is left of a lease whose supervisor is gone; says how many processes it found alive.
///
/// They are known by the supervisor's session, and by the mark in their environment if they left it. A session whose leader's number has
/// gone to somebody else has no members left, so its number means nothing.
pub(super) fn kill_left(claim: &Claim, mark: &str) -> usize {
    let leader = stat(claim.pid);
    let is_ours = claim.boot == boot() && leader.is_none_or(|leader| leader.start_ticks == claim.start_ticks);
    let mut found = 0;
    for pid in all().filter(|pid| *pid != std::process::id() as i32) {
        let Some(seen) = stat(pid).filter(|seen| !seen.is_dead) else { continue };
        let in_session = is_ours && seen.session == claim.pid && seen.start_ticks >= claim.start_ticks;
        if in_session || carries(pid, mark) {
            found += 1;
            if let Some(pid) = Pid::from_raw(pid) {
                // It may have gone by itself.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
    found
}

/// Whether a process has this line in its environment.
fn carries(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|line| line == mark.as_bytes())
}

/// The children of this process, orphans that were handed to it included.
pub(super) fn own_children() -> Vec<i32> {
    let own = std::process::id() as i32;
    let parent = |pid: i32| -> Option<i32> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    match listed {
        Ok(text) => text.split_whitespace().filter_map(|word| word.parse().ok()).collect(),
        // A kernel without the list: look at everybody.
        Err(_) => all().filter(|pid| parent(*pid) == Some(own)).collect(),
    }
}
