//! The process that stays with a job: it outlives the server, and writes down how the job ended.
//!
//! It runs as a hidden command of the same binary, in a session of its own, and is the reaper of everything that its job leaves
//! behind. A second process of the same binary, the launcher, becomes the job; see `launcher`.

mod launcher;
mod output;
mod shift;

use super::folder::{self, CLAIM, EXIT, Exit, How, LOCK, ORDER, Order, Reserved, STARTED};
use super::{cgroup, procs, rooms};
use crate::account::Account;
use launcher::Launched;
use output::Output;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{getpid, set_child_subreaper, setsid};
use shift::Shift;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

/// The word that turns the binary into a supervisor; the folder of the lease follows.
pub const SUPERVISE: &str = "supervise";

/// The word that turns it into a launcher instead.
const LAUNCH: &str = "--launch";

/// Runs as a supervisor, or as the launcher of one: `words` are what follows [`SUPERVISE`] on the command line.
pub fn supervise(words: &[OsString]) -> ExitCode {
    match words {
        [folder] => run(Path::new(folder)),
        [launch, parent, folder] if launch == OsStr::new(LAUNCH) => launcher::run(parent, Path::new(folder)),
        _ => ExitCode::from(2),
    }
}

/// Supervises the lease of this folder. Whatever goes wrong before the job runs is told in the exit file; if even that cannot be written, the
/// server finds that nobody supervises.
fn run(folder: &Path) -> ExitCode {
    match claimed(folder) {
        Ok(Some((lock, reserved))) => {
            let exit = attend(folder).unwrap_or_else(|error| {
                abandon(folder);
                refusal(&error)
            });
            let written = reserved.publish(folder, EXIT, &exit);
            drop(lock);
            if written.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        // Another one is there, or was.
        Ok(None) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Becomes the one supervisor of the lease, unless there is or was another. The lock lasts as long as the file is open.
fn claimed(folder: &Path) -> io::Result<Option<(File, Reserved)>> {
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    let lock = File::create(folder.join(LOCK))?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() || folder.join(CLAIM).exists() {
        return Ok(None);
    }
    folder::free_room(folder);
    let reserved = Reserved::new(folder, EXIT)?;
    folder::write(folder, CLAIM, &procs::own_claim())?;
    Ok(Some((lock, reserved)))
}

/// Launches the job and stays until nothing of it is left.
fn attend(folder: &Path) -> io::Result<Exit> {
    // Heard from here on; before, a stop ends the supervisor, and nothing was launched.
    let (hears, told) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, told)?;
    hears.set_nonblocking(true)?;
    let order: Order = folder::read(folder, ORDER).ok_or(io::ErrorKind::NotFound)?;
    // Before anything runs: a job must not end because its beginning cannot be told.
    let started = folder::draft(folder, STARTED, &())?;
    let mut output = Output::open(&order.output, order.output_bytes_max);
    let launched = match launch(folder, &order, &mut output) {
        Ok(launched) => launched,
        Err(error) => {
            // Where whoever submitted the job looks first.
            output.write(complaint(&order, &error).as_bytes());
            abandon(folder);
            return Ok(refusal(&error));
        }
    };
    std::fs::rename(started, folder.join(STARTED))?;
    Shift::new(folder, launched, hears, output, order.group())?.stay()
}

/// Gives the job what is its own, and launches it.
fn launch(folder: &Path, order: &Order, output: &mut Output) -> io::Result<Launched> {
    let account = order.user.as_deref().map(Account::find).transpose()?;
    if let Some(account) = account {
        for own in &order.own {
            rooms::give(own, &account)?;
        }
        output.give(account)?;
    }
    match order.group() {
        Some(group) => group.make(order.limits())?,
        None => cgroup::check_without(order.limits())?,
    }
    launcher::start(folder, order)
}

/// Ends whatever runs of a job that nobody can stay with, so that its end is true when it is told.
fn abandon(folder: &Path) {
    if let Some(group) = folder::read::<Order>(folder, ORDER).and_then(|order| order.group()) {
        shift::leave(&group);
    }
    shift::sweep();
}

/// What could not be run, as whom and where, and why.
fn complaint(order: &Order, error: &io::Error) -> String {
    let program = order.program.argv.first().map_or("", String::as_str);
    let user = order.user.as_ref().map_or_else(String::new, |user| format!(" as {user}"));
    format!("evenhand: {program} cannot be run{user} in {}: {error}\n", order.folder.display())
}

/// The end of a job that could not be run.
fn refusal(error: &io::Error) -> Exit {
    let how = How::NotLaunched { retry: launcher::retry(error), error: error.to_string() };
    Exit { how, told: None }
}
