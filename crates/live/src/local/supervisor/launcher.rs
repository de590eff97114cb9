//! The last step before a job runs: a process that limits itself, ties its life to its supervisor, and becomes the job.
//!
//! All of it is done after the fork by ordinary safe code, at the price of running the binary once more. The launcher's standard
//! input is a pipe back to the supervisor: it closes when the job runs, and carries the error if it cannot.

use super::super::folder::{self, ORDER, Order};
use super::LAUNCH;
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

/// Launches the job of a folder. The outer error is ours, the inner one the job's own.
pub(super) fn start(folder: &Path, order: &Order) -> io::Result<Result<Launched, io::Error>> {
    let (output, into) = pipe_with(PipeFlags::CLOEXEC)?;
    let (verdict, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    // This very binary, also if another was put in its place meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.args([OsStr::new(super::SUPERVISE), OsStr::new(LAUNCH)]);
    command.arg(std::process::id().to_string()).arg(folder);
    command.env_clear().envs(order.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(tell).stdout(into.try_clone()?).stderr(into).process_group(0);
    let mut child = command.spawn()?;
    // Our copies of the writing ends go with it, or we would wait for ourselves.
    drop(command);
    let mut said = String::new();
    File::from(verdict).read_to_string(&mut said)?;
    if said.is_empty() {
        return Ok(Ok(Launched { child, output }));
    }
    child.wait()?;
    Ok(Err(said.trim().parse().map_or_else(|_| io::Error::other(said), io::Error::from_raw_os_error)))
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
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // A supervisor that died before that call sends no signal any more.
    let alive = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if alive.as_deref() != parent.to_str() {
        return io::Error::other("the supervisor is gone");
    }
    let Some(order) = folder::read::<Order>(folder, ORDER) else {
        return io::Error::other("the order cannot be read");
    };
    if let Err(error) = limit(order.limits()) {
        return error;
    }
    let Some((program, words)) = order.program.argv.split_first() else {
        return ErrorKind::InvalidInput.into();
    };
    Command::new(program)
        .args(words)
        .env_clear()
        .envs(order.environment)
        .current_dir(order.folder)
        .stdin(Stdio::null())
        .exec()
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
        // The program is missing, not ours to run, not a program, or its arguments are no good.
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidInput
        | ErrorKind::ArgumentListTooLong => Retry::Never,
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => Retry::Never,
        _ => Retry::Later,
    }
}
