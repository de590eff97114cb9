//! A child process with everything it starts: one process group, which lives and dies as a whole.

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A running process group. Dropping it kills the group and reaps the child.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Arc<Mutex<Leader>>,
    reaper: Option<JoinHandle<()>>,
}

/// The process that was started; the group carries its number.
#[derive(Debug)]
struct Leader {
    child: Child,
    id: Pid,
    reaped: bool,
}

impl ProcessGroup {
    /// Runs a command in a group of its own; `tell` hears from another thread how it exited, if that can be known.
    pub(super) fn spawn(
        command: &mut Command,
        tell: impl FnOnce(Option<ExitStatus>) + Send + 'static,
    ) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let leader = Arc::new(Mutex::new(Leader { id: Pid::from_child(&child), child, reaped: false }));
        let watched = Arc::clone(&leader);
        let reaper = thread::Builder::new().name("reaper".to_owned()).spawn(move || tell(watch(&watched)));
        match reaper {
            Ok(reaper) => Ok(Self { leader, reaper: Some(reaper) }),
            Err(error) => {
                lock(&leader).clear_away();
                Err(error)
            }
        }
    }

    /// Asks every process of the group to save and leave.
    pub(super) fn ask_to_leave(&self) {
        lock(&self.leader).signal(Signal::TERM);
    }

    /// Kills every process of the group.
    pub(super) fn kill(&self) {
        lock(&self.leader).signal(Signal::KILL);
    }

    /// The number of the group.
    #[cfg(test)]
    pub(super) fn id(&self) -> i32 {
        lock(&self.leader).id.as_raw_nonzero().get()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
        if let Some(reaper) = self.reaper.take() {
            // A reaper that panicked has nothing left to do.
            let _ = reaper.join();
        }
    }
}

impl Leader {
    fn signal(&mut self, signal: Signal) {
        // A number may be given to a stranger once the child is reaped.
        if !self.reaped {
            // Only a group without living members refuses, and that is as good as done.
            let _ = kill_process_group(self.id, signal);
        }
    }

    /// Kills what is left of the group, and reaps the child.
    fn clear_away(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::KILL);
        let status = self.child.wait();
        self.reaped = true;
        status.ok()
    }
}

/// Waits until the leader has exited, then clears the group away.
///
/// `NOWAIT` leaves the leader a zombie, so that the number of the group stays taken until the rest of the group
/// has been killed; the lock keeps others from signalling a number that was just given up.
fn watch(leader: &Mutex<Leader>) -> Option<ExitStatus> {
    let id = lock(leader).id;
    let exited = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
    let mut leader = lock(leader);
    if exited.is_err() {
        // Somebody else reaped our child: its number is no longer ours.
        leader.reaped = true;
    }
    leader.clear_away()
}

fn lock(leader: &Mutex<Leader>) -> MutexGuard<'_, Leader> {
    leader.lock().unwrap_or_else(PoisonError::into_inner)
}
