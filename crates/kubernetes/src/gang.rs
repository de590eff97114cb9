//! Which pods belong together.
//!
//! A gang is known by its [`Identity`], which stays the same when a controller makes its pods anew: it has the UID of what made them where
//! there is one, and never that of a pod, apart from pods that are alone.

use crate::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a pod says it is part of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Group {
    /// A gang, by our own label.
    Gang(String),
    /// A JobSet.
    JobSet(String),
    /// A job of the training operator.
    Training(String),
    /// A batch Job.
    Job(String),
    /// Nothing.
    Alone(String),
}

impl Group {
    /// What the pod of this name is part of, by its labels: the most particular counts.
    pub(crate) fn of(labels: &BTreeMap<String, String>, pod: &str) -> Self {
        let label = |key: &str| labels.get(key).cloned();
        let job = || words::BATCH_JOBS.iter().find_map(|key| label(key));
        let gang = label(words::GANG).map(Self::Gang);
        let gang = gang.or_else(|| label(words::JOB_SET).map(Self::JobSet));
        let gang = gang.or_else(|| label(words::TRAINING_JOB).map(Self::Training));
        gang.or_else(|| job().map(Self::Job)).unwrap_or_else(|| Self::Alone(pod.to_owned()))
    }

    /// The name alone.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Gang(name)
            | Self::JobSet(name)
            | Self::Training(name)
            | Self::Job(name)
            | Self::Alone(name) => name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Gang(_) => "gang",
            Self::JobSet(_) => "jobset",
            Self::Training(_) => "training",
            Self::Job(_) => "job",
            Self::Alone(_) => "pod",
        }
    }
}

/// What tells a gang from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub namespace: String,
    pub group: Group,
    /// The UID of what made its pods, or of a pod that is alone; empty where pods of one gang have different makers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} in {}", self.group.kind(), self.group.name(), self.namespace)
    }
}

/// A job as it is known in the cluster: kept with the job, so that it is found again after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outside {
    pub identity: Identity,
    /// How many pods it has.
    pub pods: u32,
    /// GPUs of each pod that has any.
    pub gpus: u8,
}

impl Outside {
    /// As it is kept.
    pub(crate) fn written(&self) -> String {
        serde_json::to_string(self).expect("names and numbers can be written as JSON")
    }

    /// As it was kept; `None` if it was found in another engine.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_label_counts_before_that_of_a_job_and_a_pod_without_labels_is_alone() {
        let labels = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let both = labels(&[("job-name", "a"), ("evenhand.io/gang", "b")]);
        assert_eq!(Group::of(&both, "pod"), Group::Gang("b".into()));
        assert_eq!(Group::of(&labels(&[("job-name", "a")]), "pod"), Group::Job("a".into()));
        assert_eq!(Group::of(&labels(&[]), "pod"), Group::Alone("pod".into()));
    }

    #[test]
    fn what_is_kept_with_a_job_can_be_read_again() {
        let identity = Identity { namespace: "n".into(), group: Group::Job("j".into()), owner: "u".into() };
        let outside = Outside { identity, pods: 2, gpus: 8 };
        assert_eq!(Outside::read(&outside.written()), Some(outside));
        assert_eq!(Outside::read("123"), None);
    }
}
