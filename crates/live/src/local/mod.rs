//! Runs jobs as processes on this machine, each under a supervisor that outlives the server.

mod cgroup;
mod folder;
mod gpus;
mod launch;
mod procs;
pub(crate) mod progress;
mod rooms;
mod supervisor;
mod tracked;
mod watcher;

pub use cgroup::{Cgroups, NoCgroups};
pub(crate) use gpus::open_driver;
pub use gpus::{FoundGpus, GpuError, find_gpus};
pub(crate) use launch::{PASSED_ON, PERSONAL, gpus};
pub use rooms::barred;
pub(crate) use rooms::{furnish, furnish_job, give, give_file};
pub use supervisor::{SUPERVISE, supervise};

use crate::gauges::GpuName;
use crate::runner::{Ending, LiveJob, Report, Runner, Seen};
use crate::world::Mail;
use cgroup::Group;
use evenhand_core::{Abilities, EndCause, GpuId, GpuSet, JobId, Lease, LeaseId, Outcome, Retry, Span, Work};
use folder::{CLAIM, Claim, EXIT, Exit, How, ORDER, Order, STARTED, STOP, Stop};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;
use tracked::Tracked;
use watcher::Watcher;

/// Which devices of this machine the GPUs of its nodes are: an index or a UUID each, as CUDA names them.
#[derive(Clone, Debug, Default)]
pub struct Devices(BTreeMap<GpuId, String>);

impl Devices {
    /// These GPUs are these devices.
    pub fn new(devices: impl IntoIterator<Item = (GpuId, String)>) -> Self {
        Self(devices.into_iter().collect())
    }

    /// The devices of some GPUs, as `CUDA_VISIBLE_DEVICES` lists them.
    fn of(&self, gpus: &GpuSet) -> String {
        let names: Vec<&str> = gpus.iter().filter_map(|gpu| self.0.get(&gpu).map(String::as_str)).collect();
        names.join(",")
    }
}

/// How supervisors are started: a binary that calls [`supervise`] with what follows these words.
#[derive(Clone, Debug)]
pub struct SupervisorCommand {
    /// The binary.
    pub binary: PathBuf,
}

/// The folder of a job: what is kept between its leases.
#[derive(Clone, Debug)]
pub(crate) struct JobFolder(PathBuf);

impl JobFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
    pub(crate) fn checkpoints(&self) -> PathBuf {
        self.0.join("checkpoint")
    }
    pub(crate) fn checkpoint(&self) -> PathBuf {
        self.checkpoints().join("progress")
    }
    pub(crate) fn progress(&self) -> PathBuf {
        self.checkpoints().join("report.json")
    }
    pub(crate) fn output(&self) -> PathBuf {
        self.0.join("output.log")
    }
    pub(crate) fn work(&self) -> PathBuf {
        self.0.join("work")
    }
}

/// Where a job's output is, given the state folder.
pub fn output_file(state: &Path, job: JobId) -> PathBuf {
    job_folder(state, job).output()
}

/// What is kept of a job between its leases, given the state folder.
pub(crate) fn job_folder(state: &Path, job: JobId) -> JobFolder {
    JobFolder(state.join("jobs").join(job.0.to_string()))
}

/// Runs jobs as processes on this machine.
#[derive(Debug)]
pub struct LocalRunner {
    state: PathBuf,
    store: String,
    devices: Devices,
    supervisor: SupervisorCommand,
    cgroups: Option<Cgroups>,
    watcher: Watcher,
    tracked: BTreeMap<LeaseId, Tracked>,
}

/// What processes on this machine can do.
pub const ABILITIES: Abilities = Abilities { resize: false, share: true, grace: true, bids: true };

/// How soon to look again at something that nobody tells.
const AGAIN: Span = Span(20);

impl LocalRunner {
    /// A runner that keeps everything under this folder. `store` tells its processes from those of others; each lease gets a group of its
    /// own where there are `cgroups`; news goes to `tell`.
    pub fn new(
        state: &Path,
        store: &str,
        devices: Devices,
        supervisor: SupervisorCommand,
        cgroups: Option<Cgroups>,
        tell: Sender<Mail>,
    ) -> io::Result<Self> {
        furnish(state)?;
        Ok(Self {
            state: state.to_owned(),
            store: store.to_owned(),
            devices,
            supervisor,
            cgroups,
            watcher: Watcher::start(tell)?,
            tracked: BTreeMap::new(),
        })
    }

    fn folder(&self, lease: LeaseId) -> PathBuf {
        self.state.join("leases").join(lease.0.to_string())
    }

    /// Writes the order and starts a supervisor for it.
    fn order(&self, lease: &Lease, job: &LiveJob) -> io::Result<OwnedFd> {
        let folder = self.folder(lease.id);
        let own = job_folder(&self.state, lease.job);
        fs::create_dir_all(&folder)?;
        furnish_job(&own.0, &own.checkpoints())?;
        let mark = launch::mark(&self.store, lease.id);
        let mut order = launch::order(lease, job, &own, &self.devices, &mark);
        order.cgroup = self.cgroups.as_ref().map(|all| all.of(&self.store, lease.id).path().to_owned());
        folder::write(&folder, ORDER, &order)?;
        folder::reserve_room(&folder)?;
        self.watcher.watch_folder(lease.id, &folder)?;
        let mut command = Command::new(&self.supervisor.binary);
        command.arg(SUPERVISE).arg(&folder).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
        self.watcher.watch_process(lease.id, &process)?;
        Ok(process)
    }

    /// Starts a lease for which there was no room before.
    fn try_again(&mut self, lease: LeaseId) {
        if let Some(Tracked::NoRoom(pending)) = self.tracked.get(&lease) {
            let (lease, job) = pending.as_ref();
            let tracked = Tracked::new(self.order(lease, job), lease, job);
            self.tracked.insert(lease.id, tracked);
        }
    }

    /// Follows the process that claimed a lease.
    fn follow(&self, lease: LeaseId, claim: &Claim) -> Option<OwnedFd> {
        let process = claim.open()?;
        self.watcher.watch_process(lease, &process).ok()?;
        Some(process)
    }

    /// Kills what is left of a lease whose supervisor is gone, by all that it is known by; whether nothing was there any more.
    fn clear_processes(&self, lease: LeaseId, claim: &Claim) -> bool {
        // As it was when the lease began: the service may have been allowed more then, or less.
        let order: Option<Order> = folder::read(&self.folder(lease), ORDER);
        let is_clear = order.and_then(|order| order.cgroup).is_none_or(|path| Group::at(path).clear());
        procs::kill_left(claim, &launch::mark(&self.store, lease)) == 0 && is_clear
    }

    /// A supervisor is gone and left no exit: what that means depends on how far it came.
    fn left_behind(&mut self, lease: LeaseId) -> Seen {
        let folder = self.folder(lease);
        let Some(claim) = folder::read::<Claim>(&folder, CLAIM) else {
            // Another supervisor, which an earlier server started, may be about to claim.
            if is_locked(&folder) {
                return Seen { again: Some(AGAIN), ..Seen::default() };
            }
            return Seen { ended: Some(Ending::NotLaunched(Retry::Later)), ..Seen::default() };
        };
        if let Some(process) = self.follow(lease, &claim)
            && !is_gone(&process)
        {
            self.tracked.insert(lease, Tracked::Process(Some(process)));
            return Seen { again: Some(AGAIN), ..Seen::default() };
        }
        if !self.clear_processes(lease, &claim) {
            return Seen { again: Some(AGAIN), ..Seen::default() };
        }
        // It may have written its last word between our two looks.
        if let Some(seen) = written(&folder).filter(|seen| seen.ended.is_some()) {
            return seen;
        }
        let rebooted = claim.boot != procs::boot();
        let told = folder::read::<Stop>(&folder, STOP).map(|stop| Ending::Left(stop.cause));
        let ended = if rebooted { Ending::Lost } else { told.unwrap_or(Ending::Crashed) };
        Seen { started: folder.join(STARTED).exists(), ended: Some(ended), again: None }
    }
}

impl Runner for LocalRunner {
    fn abilities(&self) -> Abilities {
        ABILITIES
    }

    fn start(&mut self, lease: &Lease, job: &LiveJob) {
        if self.tracked.contains_key(&lease.id) || self.adopt(lease) {
            return;
        }
        let tracked = Tracked::new(self.order(lease, job), lease, job);
        self.tracked.insert(lease.id, tracked);
    }

    fn adopt(&mut self, lease: &Lease) -> bool {
        let lease = lease.id;
        let folder = self.folder(lease);
        let has_trace = [CLAIM, EXIT].iter().any(|name| folder.join(name).exists());
        if has_trace {
            // A folder that cannot be watched is looked at when its supervisor is gone.
            let _ = self.watcher.watch_folder(lease, &folder);
            let process = folder::read(&folder, CLAIM).and_then(|claim| self.follow(lease, &claim));
            self.tracked.insert(lease, Tracked::Process(process));
        }
        has_trace
    }

    fn stop(&mut self, lease: LeaseId, cause: EndCause, grace: Span) {
        if let Some(tracked @ Tracked::NoRoom(_)) = self.tracked.get_mut(&lease) {
            *tracked = Tracked::Left(cause);
        }
        let Some(process) = self.tracked.get(&lease).and_then(Tracked::process) else { return };
        // If the order cannot be written, the supervisor takes the signal for a shutdown, which ends the job as well.
        let _ = folder::write(&self.folder(lease), STOP, &Stop { cause, grace_ms: grace.0 });
        // One that is gone need not be told.
        let _ = pidfd_send_signal(process, Signal::TERM);
    }

    fn look(&mut self, lease: LeaseId) -> Seen {
        self.try_again(lease);
        let Some(tracked) = self.tracked.get(&lease) else { return Seen::default() };
        if let Some(seen) = tracked.seen() {
            return seen;
        }
        // Whether it is gone is looked at before what it wrote: it writes before it goes.
        let gone = tracked.process().is_none_or(is_gone);
        match written(&self.folder(lease)) {
            Some(seen) if seen.ended.is_some() || !gone => seen,
            _ if gone => self.left_behind(lease),
            _ => Seen::default(),
        }
    }

    fn gpu_names(&self, lease: &Lease) -> Vec<Vec<GpuName>> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let names = |device: &String| {
            let index = device.parse().ok().map(|index| GpuName::On { host: host.clone(), index });
            std::iter::once(GpuName::Device(device.clone())).chain(index).collect()
        };
        lease.gpus.iter().filter_map(|gpu| self.devices.0.get(&gpu).map(names)).collect()
    }

    fn steps(&self, job: JobId) -> Option<Work> {
        let saved = progress::steps(&job_folder(&self.state, job).checkpoint());
        Some(saved.map_or(Work::ZERO, Work::from_steps))
    }

    fn report(&self, lease: LeaseId, job: JobId) -> Option<Report> {
        progress::report(&job_folder(&self.state, job).progress(), lease)
    }

    fn clear(&mut self, lease: LeaseId) {
        if let Some(Tracked::Process(Some(process))) = self.tracked.remove(&lease) {
            // Reaps it if it is our child; the exit file may be there a moment before it has gone.
            let _ = waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
        }
        // What cannot be removed now is removed at the next start.
        let _ = fs::remove_dir_all(self.folder(lease));
    }

    fn end(&mut self, job: JobId, outcome: Outcome) {
        if outcome != Outcome::Failed {
            // There may be none.
            let _ = fs::remove_dir_all(job_folder(&self.state, job).checkpoints());
        }
    }

    fn keep_only(&mut self, leases: &dyn Fn(LeaseId) -> bool) {
        let found = fs::read_dir(self.state.join("leases")).into_iter().flatten();
        let numbers = found.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        for lease in numbers.map(LeaseId).filter(|lease| !leases(*lease)).collect::<Vec<_>>() {
            let folder = self.folder(lease);
            if let Some(claim) = folder::read::<Claim>(&folder, CLAIM) {
                while !self.clear_processes(lease, &claim) {
                    std::thread::sleep(std::time::Duration::from_millis(AGAIN.0));
                }
            }
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// What the supervisor of a lease has written, if anything.
fn written(folder: &Path) -> Option<Seen> {
    if let Some(exit) = folder::read::<Exit>(folder, EXIT) {
        let started = !matches!(exit.how, How::NotLaunched { .. });
        let ended = match (exit.how, exit.told) {
            (How::NotLaunched { retry, .. }, _) => Ending::NotLaunched(retry),
            // Nothing is heard from a lost node, not even that its job was done.
            (_, Some(EndCause::NodeLost)) => Ending::Left(EndCause::NodeLost),
            (How::Exited(0), _) => Ending::Done,
            (_, Some(cause)) => Ending::Left(cause),
            (_, None) => Ending::Crashed,
        };
        return Some(Seen { started, ended: Some(ended), again: None });
    }
    folder.join(STARTED).exists().then_some(Seen { started: true, ..Seen::default() })
}

/// Whether some supervisor holds the lock of a folder.
fn is_locked(folder: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let Ok(lock) = File::open(folder.join(folder::LOCK)) else { return false };
    flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
}

/// Whether a process has exited.
fn is_gone(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    let at_once = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}
