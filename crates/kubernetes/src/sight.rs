//! Watching a cluster: lists of nodes and pods, and nothing else. Pods of every scheduler count.

use crate::connect::{KubernetesError, find};
use crate::gang::Identity;
use crate::node::NodeFacts;
use crate::pod::{Phase, PodFacts};
use evenhand_core::Outcome;
use evenhand_live::shadow::{Eyes, SeenEnd, SeenJob, SeenNode, SeenRun, Sight};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ListParams;
use kube::{Api, Client};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// Objects that are asked for at once.
const PAGE: u32 = 500;

/// Looks at a cluster.
pub struct KubernetesEyes {
    runtime: Runtime,
    client: Client,
}

/// A pod with GPUs, and its times.
struct Timed {
    pod: PodFacts,
    created_ms: u64,
    started_ms: Option<u64>,
    ended_ms: Option<u64>,
}

impl KubernetesEyes {
    /// Eyes for the cluster of a kubeconfig file, or that of the surroundings.
    pub fn new(kubeconfig: Option<PathBuf>) -> Result<Self, KubernetesError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let config = runtime.block_on(find(kubeconfig))?;
        let client = {
            let _inside = runtime.enter();
            Client::try_from(config)?
        };
        Ok(Self { runtime, client })
    }
}

impl Eyes for KubernetesEyes {
    fn look(&mut self) -> Result<Sight, String> {
        let (nodes, pods) = self
            .runtime
            .block_on(async {
                let nodes = all(Api::<Node>::all(self.client.clone())).await?;
                Ok((nodes, all(Api::<Pod>::all(self.client.clone())).await?))
            })
            .map_err(|error: kube::Error| error.to_string())?;
        let nodes = nodes.iter().filter_map(NodeFacts::read).filter(|node| node.gpus > 0);
        let nodes = nodes.map(|node| SeenNode { name: node.name, model: node.model, gpus: node.gpus });
        let mut gangs: BTreeMap<Identity, Vec<Timed>> = BTreeMap::new();
        for timed in pods.iter().filter_map(timed) {
            let PodFacts { namespace, group, owner, uid, .. } = &timed.pod;
            let owner = owner.clone().unwrap_or_else(|| uid.clone());
            let identity = Identity { namespace: namespace.clone(), group: group.clone(), owner };
            gangs.entry(identity).or_default().push(timed);
        }
        let jobs = gangs.into_iter().filter_map(|(identity, pods)| seen(&identity, &pods));
        Ok(Sight { nodes: nodes.collect(), jobs: jobs.collect() })
    }
}

/// All objects of a kind, page by page.
async fn all<K>(api: Api<K>) -> Result<Vec<K>, kube::Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let (mut found, mut params) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let page = api.list(&params).await?;
        found.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(found),
        }
    }
}

/// A pod with its times; none if it has no GPUs.
fn timed(pod: &Pod) -> Option<Timed> {
    let facts = PodFacts::read(pod).filter(|facts| facts.gpus > 0)?;
    let status = pod.status.as_ref();
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let finished = containers
        .into_iter()
        .flatten()
        .filter_map(|container| container.state.as_ref()?.terminated.as_ref()?.finished_at.as_ref().map(ms));
    let created_ms = pod.metadata.creation_timestamp.as_ref().map(ms)?;
    // Without a kubelet that says so, a pod counts from when it was bound.
    let bound = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let mut bound = bound.filter(|it| it.type_ == "PodScheduled" && it.status == "True");
    let bound = bound.find_map(|it| it.last_transition_time.as_ref().map(ms));
    let started = status.and_then(|status| status.start_time.as_ref().map(ms));
    let started_ms = facts.node.is_some().then(|| started.or(bound).unwrap_or(created_ms));
    let ended_ms = finished.max().filter(|_| facts.is_over());
    Some(Timed { pod: facts, created_ms, started_ms, ended_ms })
}

fn ms(time: &Time) -> u64 {
    time.0.as_millisecond().max(0) as u64
}

/// A gang as it is seen: it runs when all its pods that are there do.
fn seen(identity: &Identity, pods: &[Timed]) -> Option<SeenJob> {
    let first = pods.first()?;
    // Pods that failed may have been replaced by others: these count.
    let is_left = |timed: &&Timed| !matches!(timed.pod.phase, Phase::Failed(_));
    let left: Vec<&Timed> = pods.iter().filter(is_left).collect();
    let counted: Vec<&Timed> = if left.is_empty() { pods.iter().collect() } else { left };
    let started = counted.iter().map(|timed| timed.started_ms).collect::<Option<Vec<u64>>>();
    let is_over = counted.iter().all(|timed| timed.pod.is_over());
    let latest = |times: &mut dyn Iterator<Item = u64>| times.max();
    let ended_ms = latest(&mut counted.iter().filter_map(|timed| timed.ended_ms));
    let run = started.and_then(|started| {
        let started_ms = started.into_iter().max()?;
        let seat = |timed: &&Timed| Some((timed.pod.node.clone()?, u8::try_from(timed.pod.gpus).ok()?));
        let seats = merged(counted.iter().filter_map(seat));
        let ended_ms = is_over.then(|| ended_ms.unwrap_or(started_ms));
        // Gangs that are made anew start later, so that the time tells their runs apart.
        Some(SeenRun { number: (started_ms / 1000) as u32, started_ms, ended_ms, seats })
    });
    let has_failed = counted.iter().any(|timed| matches!(timed.pod.phase, Phase::Failed(_)));
    let outcome = if has_failed { Outcome::Failed } else { Outcome::Finished };
    let submitted_ms = pods.iter().map(|timed| timed.created_ms).min()?;
    let ended = is_over.then(|| SeenEnd { at_ms: ended_ms.unwrap_or(submitted_ms), outcome });
    let wishes = &first.pod.wishes;
    Some(SeenJob {
        key: format!("{identity}/{}", identity.owner),
        name: format!("{}.{}", identity.namespace, identity.group.name()),
        tenant: wishes.tenant.clone(),
        gpus: counted.iter().map(|timed| timed.pod.gpus).sum(),
        model: wishes.models.first().cloned().filter(|_| wishes.models.len() == 1),
        packet: u8::try_from(first.pod.gpus).ok(),
        submitted_ms,
        run,
        ended,
    })
}

/// Several pods on one node hold their GPUs together.
fn merged(seats: impl Iterator<Item = (String, u8)>) -> Vec<(String, u8)> {
    let mut nodes: BTreeMap<String, u8> = BTreeMap::new();
    for (node, gpus) in seats {
        let held = nodes.entry(node).or_default();
        *held = held.saturating_add(gpus);
    }
    nodes.into_iter().collect()
}
