//! The last step before a job runs: a process that becomes the job's user, limits itself, ties its life to its supervisor, and becomes the job.
//!
//! All of it is done after the fork by ordinary safe code, at the price of running the binary once more. The launcher's standard
//! input is a pipe back to the supervisor: it closes when the job runs, and carries the error if it cannot.

use super::super::folder::{self, ORDER, Order};
use super::super::launch::MARK;
use super::LAUNCH;
use crate::account::Account;
use crate::program::ProgramLimits;
use evenhand_core::Retry;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

/// A job that runs, and the end of the pipe that its output comes out of.
#[derive(Debug)]
pub(super) struct Launched {
    pub child: Child,
    pub output: OwnedFd,
}

/// Launches the job of a folder.
pub(super) fn start(folder: &Path, order: &Order) -> io::Result<Launched> {
    let (output, into) = pipe_with(PipeFlags::CLOEXEC)?;
    let (verdict, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    // This very binary, also if another was put in its place meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.args([OsStr::new(super::SUPERVISE), OsStr::new(LAUNCH)]);
    command.arg(std::process::id().to_string()).arg(folder);
    // Of what the submitter chose nothing counts before the launcher has become the job's user: a variable can name a library to load.
    let mark = order.environment.iter().find(|(name, _)| name == MARK);
    command.env_clear().envs(mark.map(|(name, value)| (name, value)));
    command.stdin(tell).stdout(into.try_clone()?).stderr(into).process_group(0);
    let mut child = command.spawn()?;
    // Our copies of the writing ends go with it, or we would wait for ourselves.
    drop(command);
    let mut said = String::new();
    File::from(verdict).read_to_string(&mut said)?;
    if said.is_empty() {
        return Ok(Launched { child, output });
    }
    child.wait()?;
    Err(said.trim().parse().map_or_else(|_| io::Error::other(said), io::Error::from_raw_os_error))
}

/// Becomes the job.
pub(super) fn run(parent: &OsStr, folder: &Path) -> ExitCode {
    let Ok(verdict) = fcntl_dupfd_cloexec(io::stdin(), 3) else { return ExitCode::FAILURE };
    let error = become_job(parent, folder);
    let said = error.raw_os_error().map_or_else(|| error.to_string(), |code| code.to_string());
    // If the supervisor is gone, nobody need know.
    let _ = File::from(verdict).write_all(said.as_bytes());
    ExitCode::FAILURE
}

/// Returns only if it cannot.
fn become_job(parent: &OsStr, folder: &Path) -> io::Error {
    let Some(order) = folder::read::<Order>(folder, ORDER) else {
        return io::Error::other("the order cannot be read");
    };
    match prepared(parent, &order) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

/// Becomes the job's user and limits itself; gives what is left to be run.
fn prepared(parent: &OsStr, order: &Order) -> io::Result<Command> {
    // While we still may.
    order.group().map_or(Ok(()), |group| group.join())?;
    let account = order.user.as_deref().map(Account::find).transpose()?;
    let other = account.filter(|account| !account.is_own());
    if let Some(other) = &other {
        other.assume()?;
    }
    limit(order.limits())?;
    // After becoming another user, which forgets it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // A supervisor that died before that call sends no signal any more.
    let alive = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if alive.as_deref() != parent.to_str() {
        return Err(io::Error::other("the supervisor is gone"));
    }
    if order.own.contains(&order.folder) {
        // As the job's user, who may not make folders just anywhere.
        std::fs::create_dir_all(&order.folder)?;
    } else if !std::fs::metadata(&order.folder)?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let (program, words) = order.program.argv.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(words).env_clear();
    command.envs(other.iter().flat_map(Account::environment));
    command.envs(order.environment.iter().map(|(name, value)| (name, value)));
    command.current_dir(&order.folder).stdin(Stdio::null());
    Ok(command)
}

fn limit(limits: ProgramLimits) -> io::Result<()> {
    let asked = [
        (Resource::As, limits.memory_bytes),
        (Resource::Cpu, limits.cpu_s),
        (Resource::Nofile, limits.open_files),
    ];
    for (resource, most) in asked {
        if let Some(most) = most {
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
    }
    Ok(())
}

/// Whether a launch that failed like this may succeed another time.
pub(super) fn retry(error: &io::Error) -> Retry {
    match error.kind() {
        // The program is missing, not ours to run, not a program, or its arguments or limits are no good.
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidInput
        | ErrorKind::ArgumentListTooLong
        | ErrorKind::Unsupported => Retry::Never,
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => Retry::Never,
        _ => Retry::Later,
    }
}
