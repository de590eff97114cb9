//! What is remembered of a pod: the few facts that decide anything.

use crate::gang::Group;
use crate::model::short_name;
use crate::words;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use std::collections::BTreeMap;

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed(Failing),
}

/// Whose fault it is that a pod failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failing {
    /// Its own.
    Own,
    /// Its node gave it up.
    Node,
    /// Its node would not take it.
    Admission,
}

/// What is remembered of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodFacts {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub scheduler: String,
    /// The node it is bound to.
    pub node: Option<String>,
    pub phase: Phase,
    /// Its deletion was asked for.
    pub deleting: bool,
    pub gpus: u32,
    /// The mark and number of the lease by which it was bound.
    pub lease: Option<String>,
    pub group: Group,
    /// Its controller.
    pub owner: Option<String>,
    pub wishes: Wishes,
    pub steps_done: Option<f64>,
}

/// What a pod asks for besides GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wishes {
    pub tenant: String,
    pub priority: i32,
    pub models: Vec<String>,
    /// How many pods its gang has, if it says so.
    pub gang_size: Option<u32>,
    /// How many Jobs its JobSet has.
    pub jobs_in_set: Option<u32>,
    /// The UID of its JobSet.
    pub job_set_uid: Option<String>,
    pub steps: Option<f64>,
    pub steps_per_second: Option<f64>,
    /// What it asks for and cannot have, in words.
    pub refused: Option<String>,
}

impl PodFacts {
    /// The facts of a pod; `None` of one that the server did not name.
    pub(crate) fn read(pod: &Pod) -> Option<Self> {
        let meta = &pod.metadata;
        let none = BTreeMap::new();
        let labels = meta.labels.as_ref().unwrap_or(&none);
        let annotations = meta.annotations.as_ref().unwrap_or(&none);
        let spec = pod.spec.as_ref();
        let owners = meta.owner_references.iter().flatten();
        let namespace = meta.namespace.clone()?;
        let name = meta.name.clone()?;
        Some(Self {
            scheduler: spec.and_then(|spec| spec.scheduler_name.clone()).unwrap_or_default(),
            node: spec.and_then(|spec| spec.node_name.clone()).filter(|node| !node.is_empty()),
            phase: phase(pod),
            deleting: meta.deletion_timestamp.is_some(),
            gpus: spec.map_or(0, gpus),
            lease: annotations.get(words::LEASE).cloned(),
            group: Group::of(labels, &name),
            owner: owners
                .filter(|owner| owner.controller == Some(true))
                .map(|owner| owner.uid.clone())
                .next(),
            wishes: wishes(&namespace, labels, annotations, spec),
            steps_done: annotations.get(words::STEPS_DONE).and_then(|steps| steps.parse().ok()),
            uid: meta.uid.clone()?,
            namespace,
            name,
        })
    }

    /// It holds what it asked for on a node.
    pub(crate) fn is_seated(&self) -> bool {
        self.node.is_some() && !self.is_over()
    }

    /// Nothing of it runs any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed(_))
    }

    /// It could be bound.
    pub(crate) fn is_waiting(&self) -> bool {
        self.node.is_none() && !self.deleting && self.phase == Phase::Pending
    }
}

fn phase(pod: &Pod) -> Phase {
    let status = pod.status.as_ref();
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => {
            let reason = status.and_then(|status| status.reason.as_deref()).unwrap_or_default();
            Phase::Failed(match reason {
                "Evicted" | "NodeLost" | "NodeShutdown" | "Shutdown" | "Terminated" | "Preempting" => {
                    Failing::Node
                }
                "UnexpectedAdmissionError" | "NodeAffinity" | "Admission" => Failing::Admission,
                reason if reason.starts_with("OutOf") => Failing::Admission,
                _ => Failing::Own,
            })
        }
        _ => Phase::Pending,
    }
}

/// GPUs of a pod: its containers run side by side, those that prepare it one after the other before.
fn gpus(spec: &PodSpec) -> u32 {
    let own = spec.containers.iter().map(of_container).sum::<u32>();
    let before = spec.init_containers.iter().flatten().map(of_container).max();
    own.max(before.unwrap_or(0))
}

fn of_container(container: &Container) -> u32 {
    let resources = container.resources.as_ref();
    let limits = resources.and_then(|resources| resources.limits.as_ref()?.get(words::GPU));
    let asked =
        limits.or_else(|| resources.and_then(|resources| resources.requests.as_ref()?.get(words::GPU)));
    asked.and_then(|quantity| quantity.0.parse().ok()).unwrap_or(0)
}

type Texts = BTreeMap<String, String>;

fn wishes(namespace: &str, labels: &Texts, annotations: &Texts, spec: Option<&PodSpec>) -> Wishes {
    let mut wishes = Wishes {
        tenant: labels.get(words::TENANT).map_or(namespace, String::as_str).to_owned(),
        priority: spec.and_then(|spec| spec.priority).unwrap_or(0),
        ..Wishes::default()
    };
    let mut refused = None;
    wishes.gang_size = number(labels, words::GANG_SIZE, &mut refused);
    if wishes.gang_size.is_none() && labels.contains_key(words::TRAINING_JOB) {
        wishes.gang_size = spec.and_then(of_training);
    }
    wishes.jobs_in_set = labels.get(words::JOB_SET_JOBS).and_then(|jobs| jobs.parse().ok());
    wishes.job_set_uid = labels.get(words::JOB_SET_UID).cloned();
    wishes.steps = number(annotations, words::STEPS, &mut refused);
    wishes.steps_per_second = number(annotations, words::STEPS_PER_SECOND, &mut refused);
    for (key, value) in spec.and_then(|spec| spec.node_selector.as_ref()).into_iter().flatten() {
        if [words::GPU_PRODUCT, words::GPU_MODEL].contains(&key.as_str()) {
            wishes.models.push(short_name(value));
        } else {
            refused = Some(format!("nodeSelector has {key}: only GPU models are chosen here"));
        }
    }
    let affinity = spec.and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    if affinity.is_some_and(|affinity| affinity.required_during_scheduling_ignored_during_execution.is_some())
    {
        refused = Some(
            "affinity requires certain nodes: only GPU models are chosen here, by nodeSelector".to_owned(),
        );
    }
    wishes.refused = refused;
    wishes
}

/// How many pods the training operator says that there are; nothing if that may change while they run.
fn of_training(spec: &PodSpec) -> Option<u32> {
    let variables = || spec.containers.iter().flat_map(|container| container.env.iter().flatten());
    let said = |name: &str| variables().find(|variable| variable.name == name)?.value.as_deref();
    words::TRAINING_PODS.iter().find_map(|name| said(name))?.parse().ok()
}

fn number<T: std::str::FromStr>(texts: &Texts, key: &str, refused: &mut Option<String>) -> Option<T> {
    let text = texts.get(key)?;
    let number = text.parse().ok();
    if number.is_none() {
        *refused = Some(format!("{key} is {text:?}: a number is needed"));
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(labels: &Value, variables: &Value) -> PodFacts {
        let pod = json!({
            "metadata": { "name": "p", "namespace": "n", "uid": "u", "labels": labels },
            "spec": { "containers": [{ "name": "main", "env": variables }] },
        });
        PodFacts::read(&serde_json::from_value(pod).unwrap()).unwrap()
    }

    #[test]
    fn a_pytorch_job_says_how_many_pods_it_has_unless_that_may_change() {
        let labels = json!({ "training.kubeflow.org/job-name": "train" });
        let size = |variables| read(&labels, &variables).wishes.gang_size;
        let world = json!({ "name": "WORLD_SIZE", "value": "16" });
        assert_eq!(size(json!([world, { "name": "PET_NNODES", "value": "4" }])), Some(4));
        assert_eq!(size(json!([world])), Some(16));
        assert_eq!(size(json!([world, { "name": "PET_NNODES", "value": "1:4" }])), None);
        assert_eq!(
            read(&json!({}), &json!([world])).wishes.gang_size,
            None,
            "anybody may have such a variable"
        );
    }

    #[test]
    fn pods_of_a_job_set_say_how_many_jobs_it_has() {
        let labels = json!({
            "jobset.sigs.k8s.io/jobset-name": "set", "jobset.sigs.k8s.io/jobset-uid": "s",
            "jobset.sigs.k8s.io/global-replicas": "3", "job-name": "set-workers-0",
        });
        let pod = read(&labels, &json!([]));
        assert_eq!((pod.wishes.jobs_in_set, pod.wishes.job_set_uid.as_deref()), (Some(3), Some("s")));
        assert_eq!(pod.group, Group::JobSet("set".to_owned()));
    }
}
