//! From the launch of a job until nothing of it is left.

use super::super::cgroup::Group;
use super::super::folder::{self, Exit, How, STOP, Stop};
use super::super::procs;
use super::launcher::Launched;
use super::output::Output;
use evenhand_core::EndCause;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, wait,
};
use rustix::time::Timespec;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// Time to save in for a job whose machine is being shut down: nobody wrote how long it has.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(30);

/// A job that runs, and all that is heard of it.
#[derive(Debug)]
pub(super) struct Shift {
    folder: PathBuf,
    child: Child,
    /// Number of the process, and of the group that it leads.
    leader: Pid,
    gone: OwnedFd,
    hears: UnixStream,
    pipe: std::fs::File,
    output: Output,
    group: Option<Group>,
    told: Option<EndCause>,
    kill_at: Option<Instant>,
}

impl Shift {
    pub(super) fn new(
        folder: &Path,
        launched: Launched,
        hears: UnixStream,
        output: Output,
        group: Option<Group>,
    ) -> io::Result<Self> {
        let leader = Pid::from_child(&launched.child);
        let gone = pidfd_open(leader, PidfdFlags::empty())?;
        ioctl_fionbio(&launched.output, true)?;
        Ok(Self {
            folder: folder.to_owned(),
            child: launched.child,
            leader,
            gone,
            hears,
            pipe: launched.output.into(),
            output,
            group,
            told: None,
            kill_at: None,
        })
    }

    /// Stays until the job has exited and nothing of it is left.
    pub(super) fn stay(mut self) -> io::Result<Exit> {
        // An order that came before the signal could be heard.
        self.obey(false);
        while !self.wait()? {
            if self.kill_at.is_some_and(|at| at <= Instant::now()) {
                self.kill_at = None;
                self.kill();
            }
        }
        // The leader is not reaped yet, so that the number of its group is still its own.
        self.kill();
        let status = self.child.wait()?;
        sweep();
        self.group.iter().for_each(leave);
        self.take_output();
        let how = status.code().map_or_else(|| How::Signalled(status.signal().unwrap_or(0)), How::Exited);
        Ok(Exit { how, told: self.told })
    }

    /// Waits for something to happen; whether the job has exited.
    fn wait(&mut self) -> io::Result<bool> {
        let left =
            self.kill_at.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = [
            PollFd::new(&self.gone, PollFlags::IN),
            PollFd::new(&self.hears, PollFlags::IN),
            PollFd::new(&self.pipe, PollFlags::IN),
        ];
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [gone, told, printed] = [0, 1, 2].map(|at: usize| fds[at].revents());
        if told.contains(PollFlags::IN) {
            let mut bytes = [0; 64];
            let _ = self.hears.read(&mut bytes);
            self.obey(true);
        }
        if printed.contains(PollFlags::IN) {
            self.take_output();
        } else if printed.contains(PollFlags::HUP) {
            // The job closed its output and lives on: without a pause, this would be all that we do.
            thread::sleep(Duration::from_millis(20));
        }
        Ok(gone.contains(PollFlags::IN))
    }

    /// Passes the order to leave on to the job. A signal without an order is the machine being shut down.
    fn obey(&mut self, was_told: bool) {
        let stop: Option<Stop> = folder::read(&self.folder, STOP);
        let (cause, grace) = match stop {
            Some(stop) => (stop.cause, Duration::from_millis(stop.grace_ms)),
            None if was_told => (EndCause::Stopped, SHUTDOWN_GRACE),
            None => return,
        };
        let kill_at = Instant::now() + grace;
        match (self.told, cause) {
            (None, _) => {
                self.told = Some(cause);
                self.kill_at = Some(kill_at);
                self.signal(Signal::TERM);
            }
            (_, EndCause::NodeLost) => {
                self.told = Some(cause);
                self.kill();
            }
            // Told again: the shorter time counts.
            _ => self.kill_at = self.kill_at.map(|before| before.min(kill_at)),
        }
    }

    fn signal(&self, signal: Signal) {
        // Only a group without living members refuses, and that is as good as done.
        let _ = kill_process_group(self.leader, signal);
    }

    /// Kills whatever belongs to the job, as far as that is known.
    fn kill(&self) {
        self.signal(Signal::KILL);
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    /// Takes what there is to read, and no more.
    fn take_output(&mut self) {
        let mut bytes = [0; 16 * 1024];
        while let Ok(count) = self.pipe.read(&mut bytes) {
            if count == 0 {
                return;
            }
            self.output.write(&bytes[..count]);
        }
    }
}

/// Nothing of the job is left in its group when this returns, whoever its parent was.
pub(super) fn leave(group: &Group) {
    while !group.clear() {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Kills and reaps whatever the job left behind, wherever it went: orphans are handed to this process. Returns when nothing is left.
pub(super) fn sweep() {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Err(_) => return,
            Ok(None) => {
                for pid in procs::own_children().into_iter().filter_map(Pid::from_raw) {
                    // It may have gone by itself.
                    let _ = kill_process(pid, Signal::KILL);
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }
}
