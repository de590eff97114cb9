//! How a job is launched: its command line and its environment.

use super::script::Program;
use evenhand_core::{GpuSet, Lease, Retry};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{Command, Stdio};

/// The command that runs a job under a lease.
pub(super) fn command(program: &Program, lease: &Lease, checkpoint: &Path) -> Command {
    let mut command = Command::new(&program.path);
    command.args(&program.args);
    command.env("EVENHAND_JOB", lease.job.0.to_string());
    command.env("EVENHAND_LEASE", lease.id.0.to_string());
    command.env("EVENHAND_GPUS", gpus(&lease.gpus));
    command.env("EVENHAND_CHECKPOINT", checkpoint);
    command.env("CUDA_VISIBLE_DEVICES", devices(&lease.gpus));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
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

/// Each GPU as `node.ordinal`.
fn gpus(set: &GpuSet) -> String {
    listed(set.iter().map(|gpu| format!("{}.{}", gpu.node.0, gpu.ordinal)))
}

/// The ordinals, each once: pretended nodes share this machine's GPUs, and CUDA refuses a list with repeats.
fn devices(set: &GpuSet) -> String {
    listed(set.iter().map(|gpu| gpu.ordinal).collect::<BTreeSet<_>>())
}

fn listed(items: impl IntoIterator<Item = impl Display>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}
