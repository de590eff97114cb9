//! What a job finds when it starts: its environment and its folders.
//!
//! | Variable | Meaning |
//! |---|---|
//! | `EVENHAND_JOB`, `EVENHAND_LEASE` | the numbers of the job and of the lease |
//! | `EVENHAND_GPUS` | its GPUs as `node.ordinal,...` |
//! | `CUDA_VISIBLE_DEVICES` | the devices of this machine that these are |
//! | `EVENHAND_CHECKPOINT_DIR` | a folder that is kept until the job ends |
//! | `EVENHAND_CHECKPOINT` | a file in it: begins with the number of steps done, the rest is the job's own |
//! | `EVENHAND_PROGRESS` | a file in it in which it may tell how far it is between checkpoints, its loss and its batch size |
//! | `EVENHAND_RESUME` | 1 if that file is there, else 0 |
//! | `EVENHAND_ARRAY`, `EVENHAND_ARRAY_INDEX` | the number of its array and which of its jobs it is, if it is one |
//! | `EVENHAND_MARK` | tells the processes of this lease from all others |
//!
//! Replace the checkpoint by renaming, since a job may be killed at any time. `SIGTERM` means: save, then exit with 75 within the grace
//! period. Exit code 0 means: finished. Of the server's own environment only [`PASSED_ON`] and [`PERSONAL`] are seen.

use super::folder::Order;
use super::{Devices, JobFolder};
use crate::account::own_user;
use crate::runner::LiveJob;
use evenhand_core::{GpuSet, Lease};

/// Variables of the server that jobs see; everything else they must be given.
pub(crate) const PASSED_ON: [&str; 5] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// Those that say who somebody is: only jobs of the user who runs the server see them, others have their own.
pub(crate) const PERSONAL: [&str; 5] = ["HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"];

/// Size at which the output of a job begins a new file.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;

/// The variable that tells the processes of a lease from all others.
pub(super) const MARK: &str = "EVENHAND_MARK";

/// The mark of a lease, as it stands in the environment of its processes.
pub(super) fn mark(store: &str, lease: evenhand_core::LeaseId) -> String {
    format!("{MARK}={store}-{}", lease.0)
}

/// The order for the supervisor of a lease.
pub(super) fn order(lease: &Lease, job: &LiveJob, own: &JobFolder, devices: &Devices, mark: &str) -> Order {
    let program = job.program.as_ref().clone();
    let user = job.user.as_deref().map(str::to_owned);
    let personal: &[&str] = if user.is_none() || user == own_user() { &PERSONAL } else { &[] };
    let names = PASSED_ON.iter().chain(personal);
    let passed_on = names.filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    let mut environment: Vec<(String, String)> = passed_on.collect();
    environment.extend(program.environment.iter().map(|(name, value)| (name.clone(), value.clone())));
    let checkpoint = own.checkpoint();
    let resumes = if checkpoint.exists() { "1" } else { "0" };
    let set = [
        ("EVENHAND_JOB", lease.job.0.to_string()),
        ("EVENHAND_LEASE", lease.id.0.to_string()),
        ("EVENHAND_GPUS", gpus(&lease.gpus)),
        ("EVENHAND_CHECKPOINT_DIR", own.checkpoints().display().to_string()),
        ("EVENHAND_CHECKPOINT", checkpoint.display().to_string()),
        ("EVENHAND_PROGRESS", own.progress().display().to_string()),
        ("EVENHAND_RESUME", resumes.to_owned()),
        ("CUDA_VISIBLE_DEVICES", devices.of(&lease.gpus)),
    ];
    environment.extend(set.map(|(name, value)| (name.to_owned(), value)));
    if let Some(member) = job.spec.array {
        let names = [("EVENHAND_ARRAY", member.array.0), ("EVENHAND_ARRAY_INDEX", member.index.into())];
        environment.extend(names.map(|(name, value)| (name.to_owned(), value.to_string())));
    }
    environment.extend(mark.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut owned = vec![own.checkpoints()];
    let folder = program.folder.clone().unwrap_or_else(|| {
        owned.push(own.work());
        own.work()
    });
    let output = own.output();
    let (cgroup, output_bytes_max) = (None, OUTPUT_BYTES_MAX);
    Order { program, environment, folder, user, cgroup, own: owned, output, output_bytes_max }
}

/// Each GPU as `node.ordinal`.
pub(crate) fn gpus(set: &GpuSet) -> String {
    let names: Vec<String> = set.iter().map(|gpu| format!("{}.{}", gpu.node.0, gpu.ordinal)).collect();
    names.join(",")
}
