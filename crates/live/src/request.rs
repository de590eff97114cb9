//! What people ask of the service, and what they are told.

use crate::access::TokenChange;
use crate::program::Program;
use crate::store::Target;
use evenhand_core::{AgentSeat, AppId, BidError, Choice, JobId, JobSpec, NodeId, Packets, Time};
use evenhand_engine::{Outlook, Rehearsal};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
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
    /// Jobs that must have ended well first; it is cancelled if one of them does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Called>,
    /// Jobs that must have ended first, well or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after_any: Vec<Called>,
    /// The app it is one of the jobs of; made if its tenant has none of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app: Option<String>,
    /// Where the agent of that app lives: inside, or outside, and then it is asked for bids. Counts when the app is made.
    #[serde(default, skip_serializing_if = "is_inside")]
    pub agent: AgentSeat,
    /// Wanted by then: so long from now (`2h`), or a date (`2030-01-31T18:00:00Z`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// Many jobs from this one description, one for each of these indices: `0-9`, `1,3,5-7`, `0-99%4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// What it runs.
    #[serde(flatten)]
    pub program: Program,
}

/// A job as people call it: by number, by name, or as one of an array (`17_3`); an array stands for all its jobs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Called {
    /// By number.
    Number(u64),
    /// In another way.
    Name(String),
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// What is submitted at a time: all of it is taken, or nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Work {
    /// One job, or one array.
    One(Box<Wanted>),
    /// Several jobs and arrays. One may wait for earlier ones of the same batch, by name.
    Batch(Vec<Wanted>),
    /// A job that was found in an engine outside.
    Found(Box<Found>),
}

/// A job that was found in an engine outside.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// What is wanted for it; what it runs is that engine's business.
    pub wanted: Wanted,
    /// What the engine calls it.
    pub outside: String,
    /// If its GPUs come in packets, of what kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Packets>,
}

/// What can be done to jobs that were submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobVerb {
    /// End it.
    Cancel,
    /// Do not start it until it is released; stop it if it runs.
    Hold,
    /// Let it go on.
    Release,
    /// End it because its tuner has seen enough: it counts as ended well.
    Retire,
}

impl JobVerb {
    fn name(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Hold => "hold",
            Self::Release => "release",
            Self::Retire => "retire",
        }
    }
}

/// Whose a job is if nobody says.
pub const DEFAULT_TENANT: &str = "default";

fn default_tenant() -> String {
    DEFAULT_TENANT.to_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_inside(seat: &AgentSeat) -> bool {
    *seat == AgentSeat::Inside
}

fn one() -> u32 {
    1
}

/// GPUs by the name of their model.
pub type Quota = BTreeMap<String, u32>;

/// What is to change of a tenant. What is left out stays; `null` takes a group or quota away.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantChange {
    /// How much it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The group it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub group: Option<Option<String>>,
    /// GPUs it may never exceed; models that are not named are not limited.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub limit: Option<Option<Quota>>,
    /// GPUs it can always have back.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    pub guaranteed: Option<Option<Quota>>,
}

/// Tells `null` from nothing.
#[expect(clippy::option_option, reason = "left out, taken away and set are three things")]
fn said<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

/// What somebody wants.
#[derive(Clone, Debug)]
pub enum Wish {
    /// Run something; the same key with the same content twice is one submission.
    Submit {
        /// What.
        work: Work,
        /// The client's own name for this submission.
        key: Option<String>,
    },
    /// Say what would come of a submission, and take nothing.
    Try(Work),
    /// Do something to a job, or to all jobs of an array.
    Change(JobVerb, Target),
    /// End an app, and what is left of its jobs.
    CloseApp(AppId),
    /// An app's agent answers an offer.
    Bid(AppId, evenhand_core::Answer),
    /// No new leases on a node.
    Drain(NodeId),
    /// A node may be used again.
    Return(NodeId),
    /// Another policy decides from now on.
    ChangePolicy(Choice),
    /// Say what another policy would change, and change nothing.
    Rehearse(Choice),
    /// Say what is before a job, and change nothing.
    Foresee(JobId),
    /// A tenant appears, or its weight or quota changes. Its number is taken from its name if that is known.
    ChangeTenant {
        /// What it is called.
        name: String,
        /// What is to change.
        change: TenantChange,
    },
    /// Note that a token is about to be changed; the change itself is none of the engine's.
    NoteToken(Box<TokenChange>),
}

impl Wish {
    /// What is wanted, in a few words, for the list of who asked for what. A job that is submitted has its number only afterwards.
    pub fn told(&self) -> String {
        match self {
            Self::Submit { .. } => "submit".to_owned(),
            Self::Try(_) => "try".to_owned(),
            Self::Change(verb, target) => format!("{} {target}", verb.name()),
            Self::CloseApp(app) => format!("close app {}", app.0),
            Self::Bid(app, _) => format!("bid for app {}", app.0),
            Self::Drain(node) => format!("drain node {}", node.0),
            Self::Return(node) => format!("return node {}", node.0),
            Self::Foresee(job) => format!("foresee job {}", job.0),
            Self::Rehearse(choice) => format!("rehearse policy {}", choice.name),
            Self::ChangePolicy(choice) => format!("change policy to {}", choice.name),
            Self::ChangeTenant { name, .. } => format!("change tenant {name}"),
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
    /// An array is accepted.
    Array {
        /// Its number.
        array: JobId,
        /// Its jobs, by index.
        jobs: Vec<JobId>,
        /// Whether it is new.
        created: bool,
    },
    /// A batch is accepted.
    Batch {
        /// The numbers of its jobs and arrays, in the order in which they were described.
        jobs: Vec<JobId>,
        /// Whether they are new.
        created: bool,
    },
    /// It is done.
    Done,
    /// It is done to these jobs.
    Changed(Vec<JobId>),
    /// What would come of a submission.
    Tried(Arc<Tried>),
    /// What another policy would change.
    Rehearsed(Arc<Rehearsal>),
    /// What is before a job, and by when it was promised to have ended.
    Foreseen(Box<Outlook>, Option<Time>),
}

/// What would come of a submission.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// The jobs as they would be.
    pub specs: Vec<Arc<JobSpec>>,
    /// What the next decision would be.
    pub next: Rehearsal,
    /// What a regular round would be, if that is another one and somebody would wait until then.
    pub at_round: Option<Rehearsal>,
}

/// Why it was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// There is no such job.
    #[error("there is no {0}, or it has ended")]
    NoJob(JobId),
    /// Every job of an array has ended.
    #[error("every job of {0} has ended")]
    ArrayOver(Target),
    /// There is no such app.
    #[error("there is no {0}, or it is closed")]
    NoApp(AppId),
    /// A bid that does not count.
    #[error("the bid does not count: {0}")]
    Bid(BidError),
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

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

    #[test]
    fn left_out_and_taken_away_are_told_apart() {
        let read = |text: &str| serde_json::from_str::<TenantChange>(text).unwrap();
        assert!(read("{}").limit.is_none());
        assert_eq!(read(r#"{"limit": null}"#).limit, Some(None));
        assert!(serde_json::from_str::<TenantChange>(r#"{"wight": 2}"#).is_err());
    }
}
