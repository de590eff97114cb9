//! Slurm's own commands: the only place where processes of it are run.

use super::jobs::{self, SlurmId, SlurmJob};
use super::nodes::{self, SlurmNode};
use super::submit::Submission;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Why a command of Slurm came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ToolError {
    /// Nobody answered: whether it was done is not known.
    Silent(String),
    /// Slurm said no.
    Refused(String),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(what) => write!(f, "Slurm does not answer: {what}"),
            Self::Refused(what) => write!(f, "Slurm refuses: {what}"),
        }
    }
}

/// What is to be done to a job of Slurm. Each may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Let it start, on exactly these nodes; `spread` if it was submitted without saying on how many.
    Start { nodes: Vec<String>, spread: bool },
    /// Back to where jobs wait.
    Home,
    /// An ended job waits again.
    Requeue,
    /// It is not held back any more.
    Release,
    /// It should save and leave.
    Term,
    /// It has to leave now.
    Kill,
    /// It is not wanted any more.
    Cancel,
    /// Tell its submitter something.
    Tell(String),
}

/// Runs the commands of Slurm.
#[derive(Clone, Debug)]
pub(super) struct Tool {
    /// Where jobs wait.
    pub home: String,
    /// Where jobs run.
    pub run: String,
    /// The configuration of Slurm, if not the one it would find by itself.
    pub conf: Option<PathBuf>,
}

impl Tool {
    /// All jobs and all machines as they are now.
    pub(super) fn look(&self) -> Result<(Vec<SlurmJob>, Vec<SlurmNode>), ToolError> {
        let jobs = self.call("squeue", &["--json".to_owned()])?;
        let jobs = jobs::parse(&jobs).map_err(ToolError::Silent)?;
        let nodes = self.call("scontrol", &["show", "node", "-o", "-a"].map(str::to_owned))?;
        Ok((jobs, nodes::parse(&nodes)))
    }

    fn call(&self, program: &str, words: &[String]) -> Result<String, ToolError> {
        call(self.conf.as_deref(), program, words)
    }

    pub(super) fn carry_out(&self, job: SlurmId, act: &Act) -> Result<(), ToolError> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let id = job.to_string();
        let update = |fields: &[String]| {
            let mut words = vec!["update".to_owned(), format!("jobid={id}")];
            words.extend_from_slice(fields);
            self.call("scontrol", &words)
        };
        match act {
            Act::Start { nodes, spread } => {
                if *spread {
                    update(&[format!("numnodes={0}-{0}", nodes.len())])?;
                }
                let list = format!("reqnodelist={}", nodes.join(","));
                update(&[format!("partition={}", self.run), list, "starttime=now".to_owned()])
            }
            Act::Home => update(&[format!("partition={}", self.home), "reqnodelist=".to_owned()]),
            Act::Requeue => self.call("scontrol", &words(&["requeue", &id])),
            Act::Release => self.call("scontrol", &words(&["release", &id])),
            Act::Term => self.call("scancel", &words(&["--signal=TERM", "--batch", &id])),
            Act::Kill => self.call("scancel", &words(&["--signal=KILL", "--full", &id])),
            Act::Cancel => self.call("scancel", &words(&[&id])),
            Act::Tell(what) => update(&[format!("admincomment={what}")]),
        }
        .map(drop)
    }

    /// Submits a job to where jobs wait.
    pub(super) fn submit(&self, submission: &Submission) -> Result<SlurmId, ToolError> {
        let said = self.call("sbatch", &submission.words(&self.home))?;
        // With several clusters, that of the job follows after a semicolon.
        let id = said.trim().split(';').next().and_then(|id| id.parse().ok());
        id.ok_or_else(|| ToolError::Silent(format!("sbatch said {said:?}")))
    }
}

/// What Slurm's commands say when nobody answers them.
const SILENCE: [&str; 6] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Unexpected message received",
    "Zero Bytes were transmitted or received",
    "Slurm backup controller in standby mode",
];

fn call(conf: Option<&Path>, program: &str, words: &[String]) -> Result<String, ToolError> {
    let silent = |error: std::io::Error| ToolError::Silent(format!("{program}: {error}"));
    let mut command = Command::new(program);
    command.envs(conf.map(|conf| ("SLURM_CONF", conf)));
    let Output { status, stdout, stderr } =
        command.args(words).stdin(Stdio::null()).output().map_err(silent)?;
    let said = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(said);
    }
    // scontrol tells errors on either.
    let told = format!("{}{said}", String::from_utf8_lossy(&stderr)).trim().replace('\n', "; ");
    if SILENCE.iter().any(|words| told.contains(words)) {
        return Err(ToolError::Silent(told));
    }
    Err(ToolError::Refused(if told.is_empty() { format!("{program} failed") } else { told }))
}
