//! What people ask of the service, and what they are told.

use crate::access::TokenChange;
use crate::program::Program;
use evenhand_core::{Choice, JobId, NodeId, Tenant};
use evenhand_engine::Rehearsal;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use thiserror::Error;

/// A job as its submitter describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// What to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose it is.
    #[serde(default = "default_tenant")]
    pub tenant: String,
    /// GPUs it takes, all at once.
    #[serde(default = "one")]
    pub gpus: u32,
    /// GPU models that will do; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// More urgent is larger.
    #[serde(default)]
    pub priority: i32,
    /// Steps until it is finished, if that is known: the first word of its checkpoint counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<f64>,
    /// Steps per second on `gpus` GPUs; 1 if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_per_second: Option<f64>,
    /// Jobs that must have ended first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<JobId>,
    /// What it runs.
    #[serde(flatten)]
    pub program: Program,
}

/// Whose a job is if nobody says.
pub const DEFAULT_TENANT: &str = "default";

fn default_tenant() -> String {
    DEFAULT_TENANT.to_owned()
}

fn one() -> u32 {
    1
}

/// What somebody wants.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Run a job; the same key with the same content twice is one job.
    Submit {
        /// The job.
        wanted: Box<Wanted>,
        /// The client's own name for this submission.
        key: Option<String>,
    },
    /// End a job.
    Cancel(JobId),
    /// Do not start a job until it is released; stop it if it runs.
    Hold(JobId),
    /// Let a job go on.
    Release(JobId),
    /// No new leases on a node.
    Drain(NodeId),
    /// A node may be used again.
    Return(NodeId),
    /// Another policy decides from now on.
    ChangePolicy(Choice),
    /// Say what another policy would change, and change nothing.
    Rehearse(Choice),
    /// A tenant appears, or its weight or quota changes. Its number is taken from its name if that is known.
    ChangeTenant(Box<Tenant>),
    /// Note that a token is about to be changed; the change itself is none of the engine's.
    NoteToken(Box<TokenChange>),
}

impl Wish {
    /// What is wanted, in a few words, for the list of who asked for what. A job that is submitted has its number only afterwards.
    pub fn told(&self) -> String {
        match self {
            Self::Submit { .. } => "submit".to_owned(),
            Self::Cancel(job) => format!("cancel job {}", job.0),
            Self::Hold(job) => format!("hold job {}", job.0),
            Self::Release(job) => format!("release job {}", job.0),
            Self::Drain(node) => format!("drain node {}", node.0),
            Self::Return(node) => format!("return node {}", node.0),
            Self::Rehearse(choice) => format!("rehearse policy {}", choice.name),
            Self::ChangePolicy(choice) => format!("change policy to {}", choice.name),
            Self::ChangeTenant(tenant) => format!("change tenant {}", tenant.name),
            Self::NoteToken(change) => change.told(),
        }
    }
}

/// What came of it. Whatever is said here is on disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The job is accepted; `created` is false if it was before.
    Job {
        /// Which.
        job: JobId,
        /// Whether it is new.
        created: bool,
    },
    /// It is done.
    Done,
    /// What another policy would change.
    Rehearsed(Arc<Rehearsal>),
}

/// Why it was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such job.
    #[error("there is no {0}, or it has ended")]
    NoJob(JobId),
    /// There is no such node.
    #[error("there is no {0}")]
    NoNode(NodeId),
    /// The key was used for something else.
    #[error("the key was used for {0}, which was submitted with another content: use a new key")]
    KeyTaken(JobId),
    /// What was asked for makes no sense here.
    #[error("{0}")]
    Invalid(String),
    /// Too much is asked at once.
    #[error("too many requests are waiting: try again in a moment")]
    Busy,
    /// So many jobs wait that no more are taken.
    #[error("{waiting} jobs wait already, and at most {most} may: try again when some have run")]
    QueueFull {
        /// How many wait.
        waiting: u64,
        /// How many may.
        most: u64,
    },
    /// Nothing can be recorded now.
    #[error("{0}; nothing was accepted, and jobs that run go on. Try again later")]
    Unavailable(String),
    /// The service is not there.
    #[error("the service is stopping")]
    Stopping,
}

/// Where an answer goes.
type Reply = Box<dyn FnOnce(Result<Answer, Refusal>) + Send>;

/// Who asks, for those who want to know later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The name of the token that was shown.
    pub name: String,
    /// The tenant whose it is.
    pub tenant: Option<String>,
    /// The system user as whom a job runs that they submit.
    pub user: Option<String>,
}

/// What somebody wants, and where the answer goes.
pub struct Request {
    asker: Asker,
    /// What, and where the answer goes; taken when it is answered.
    open: Option<(Wish, Reply)>,
}

impl Request {
    /// A request whose answer goes to `reply`, exactly once.
    pub fn new(
        wish: Wish,
        asker: Asker,
        reply: impl FnOnce(Result<Answer, Refusal>) + Send + 'static,
    ) -> Self {
        Self { asker, open: Some((wish, Box::new(reply))) }
    }

    /// Who asks.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Takes it apart; the answer must be given by calling the second part.
    pub fn into_parts(mut self) -> (Wish, Reply) {
        self.open.take().expect("a request is open until it is taken apart, and that consumes it")
    }

    /// There is nobody to answer it.
    pub fn turn_away(self) {
        self.into_parts().1(Err(Refusal::Stopping));
    }
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("wish", &self.open.as_ref().map(|(wish, _)| wish))
            .finish_non_exhaustive()
    }
}

/// A request that is lost is answered all the same.
impl Drop for Request {
    fn drop(&mut self) {
        if let Some((_, reply)) = self.open.take() {
            reply(Err(Refusal::Stopping));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_description_is_enough_and_a_misspelt_one_is_refused() {
        let read = serde_json::from_str::<Wanted>;
        let wanted = read(r#"{"argv": ["true"], "limits": {"cpu_s": 3}}"#).unwrap();
        assert_eq!((wanted.gpus, wanted.tenant.as_str()), (1, DEFAULT_TENANT));
        assert_eq!(wanted.program.limits.cpu_s, Some(3));
        for wrong in [
            r#"{"argv": ["true"], "gpu": 2}"#,
            r#"{"gpus": 2}"#,
            r#"{"argv": "true"}"#,
            r#"{"argv": ["x"], "limits": [1]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
