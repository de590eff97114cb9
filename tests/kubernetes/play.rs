//! Plays the kubelets and the Job controller, and watches that no node holds more than it has.
//!
//! A pod runs as its annotations say, in milliseconds: `test/run-ms` until it is done, `test/crash-ms` until it fails, `test/save-ms` to save
//! when it is told to stop. What was saved counts for the next pod of the same Job.

#![allow(dead_code, reason = "no test needs all of it")]

use super::cluster::Cluster;
use evenhand_live::Clock;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happened while it played.
#[derive(Clone, Default)]
pub struct Player(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// What went wrong.
    faults: Vec<String>,
    /// Pods of each Job that ended well, by its name: evicted in the same moment, they are gone afterwards.
    done: BTreeMap<String, u32>,
}

impl Player {
    pub fn start(cluster: &Cluster) -> Self {
        let player = Self::default();
        let (client, seen) = (cluster.admin.clone(), player.0.clone());
        cluster.spawn(async move {
            let mut stage = Stage::new(client, seen);
            loop {
                // The server may be going already.
                let _ = stage.turn().await;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        player
    }

    /// Nothing went wrong so far.
    pub fn check(&self) {
        let faults = &self.0.lock().unwrap().faults;
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// How many pods of a Job ended well.
    pub fn done(&self, job: &str) -> u32 {
        self.0.lock().unwrap().done.get(job).copied().unwrap_or(0)
    }
}

struct Stage {
    client: Client,
    clock: Clock,
    /// Since when pods run, and how much of their work was saved then, in ms.
    since: BTreeMap<String, (u64, u64)>,
    /// Since when pods have been told to stop.
    told: BTreeMap<String, u64>,
    /// What was saved of Jobs, in ms.
    saved: BTreeMap<String, u64>,
    /// Pods that were made for Jobs.
    made: u64,
    seen: Arc<Mutex<Seen>>,
}

/// A number of milliseconds that a pod says of itself.
fn said(pod: &Pod, what: &str) -> Option<u64> {
    pod.metadata.annotations.as_ref()?.get(what)?.parse().ok()
}

/// Whose work a pod does: that of its Job, or its own.
fn work_of(pod: &Pod) -> String {
    let owner = pod.metadata.owner_references.iter().flatten().next();
    owner.map_or_else(|| pod.metadata.uid.clone().unwrap(), |owner| owner.uid.clone())
}

impl Stage {
    fn new(client: Client, seen: Arc<Mutex<Seen>>) -> Self {
        let (since, told, saved) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { client, clock: Clock::start(), since, told, saved, made: 0, seen }
    }

    async fn turn(&mut self) -> Result<(), kube::Error> {
        let every = ListParams::default();
        let jobs = Api::<Job>::all(self.client.clone()).list(&every).await?.items;
        let pods = Api::<Pod>::all(self.client.clone()).list(&every).await?.items;
        let nodes = Api::<Node>::all(self.client.clone()).list(&every).await?.items;
        self.judge(&pods, &nodes);
        for pod in &pods {
            // One that is gone meanwhile is no fault.
            let _ = self.kubelet(pod).await;
        }
        for job in &jobs {
            let _ = self.controller(job, &pods).await;
        }
        Ok(())
    }

    fn judge(&self, pods: &[Pod], nodes: &[Node]) {
        let mut held: BTreeMap<String, u32> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| !["Succeeded", "Failed"].contains(&phase(pod))) {
            if let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()) {
                *held.entry(node).or_default() += gpus(pod);
            }
        }
        for (name, held) in held {
            let node = nodes.iter().find(|node| node.metadata.name.as_ref() == Some(&name));
            let has = node.and_then(|node| node.status.as_ref()?.allocatable.as_ref()?.get("nvidia.com/gpu"));
            let has: u32 = has.and_then(|has| has.0.parse().ok()).unwrap_or(0);
            if held > has {
                self.seen
                    .lock()
                    .unwrap()
                    .faults
                    .push(format!("{held} GPUs are held on {name}, which has {has}"));
            }
        }
    }

    async fn kubelet(&mut self, pod: &Pod) -> Result<(), kube::Error> {
        let meta = &pod.metadata;
        let (name, uid) = (meta.name.clone().unwrap(), meta.uid.clone().unwrap());
        let api = Api::<Pod>::namespaced(self.client.clone(), meta.namespace.as_deref().unwrap());
        if pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).is_none() {
            return Ok(());
        }
        if meta.deletion_timestamp.is_some() {
            return self.leave(pod, &api).await;
        }
        let now = self.clock.now().0;
        let saved = self.saved.get(&work_of(pod)).copied().unwrap_or(0);
        let is_due = |what: &str| {
            let (since, before) = self.since.get(&uid).copied().unwrap_or((now, 0));
            said(pod, what).is_some_and(|ms| now > since + ms.saturating_sub(before))
        };
        let next = match phase(pod) {
            "Pending" => {
                self.since.insert(uid, (now, saved));
                "Running"
            }
            "Running" if is_due("test/crash-ms") => "Failed",
            "Running" if is_due("test/run-ms") => "Succeeded",
            _ => return Ok(()),
        };
        let patch = Patch::Strategic(json!({ "status": status(next) }));
        api.patch_status(&name, &PatchParams::default(), &patch).await?;
        let job = meta.owner_references.iter().flatten().next().filter(|_| next == "Succeeded");
        if let Some(job) = job {
            *self.seen.lock().unwrap().done.entry(job.name.clone()).or_default() += 1;
        }
        Ok(())
    }

    /// A pod that is told to stop saves if it has the time, and is gone.
    async fn leave(&mut self, pod: &Pod, api: &Api<Pod>) -> Result<(), kube::Error> {
        let meta = &pod.metadata;
        let (name, uid) = (meta.name.as_deref().unwrap(), meta.uid.clone().unwrap());
        let now = self.clock.now().0;
        let told = *self.told.entry(uid.clone()).or_insert(now);
        let grace = 1000 * meta.deletion_grace_period_seconds.unwrap_or(0) as u64;
        let has_saved = now >= told + said(pod, "test/save-ms").unwrap_or(0);
        if !has_saved && now <= told + grace {
            return Ok(());
        }
        let ran = self.since.get(&uid).copied().filter(|_| has_saved && phase(pod) == "Running");
        if let Some((since, before)) = ran {
            // All pods of a Job do the same work.
            let saved = self.saved.entry(work_of(pod)).or_default();
            *saved = (before + told - since).max(*saved);
            let steps = format!("{}.{:03}", *saved / 1000, *saved % 1000);
            let patch = json!({ "metadata": { "annotations": { "evenhand.io/steps-done": steps } } });
            api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        }
        api.delete(name, &DeleteParams::default().grace_period(0)).await.map(drop)
    }

    async fn controller(&mut self, job: &Job, pods: &[Pod]) -> Result<(), kube::Error> {
        let (meta, spec) = (&job.metadata, job.spec.as_ref().unwrap());
        let namespace = meta.namespace.as_deref().unwrap();
        let (name, uid) = (meta.name.clone().unwrap(), meta.uid.clone().unwrap());
        let is_own =
            |pod: &&Pod| pod.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        let own: Vec<&Pod> = pods.iter().filter(is_own).collect();
        let done = self.seen.lock().unwrap().done.get(&name).copied().unwrap_or(0) as i32;
        let active = own.iter().filter(|pod| {
            pod.metadata.deletion_timestamp.is_none() && !["Succeeded", "Failed"].contains(&phase(pod))
        });
        let wanted = spec.completions.unwrap_or(1);
        if done >= wanted {
            let condition = json!({ "type": "Complete", "status": "True" });
            let patch = Patch::Merge(json!({ "status": { "succeeded": done, "conditions": [condition] } }));
            let api = Api::<Job>::namespaced(self.client.clone(), namespace);
            return api.patch_status(&name, &PatchParams::default(), &patch).await.map(drop);
        }
        let missing = (wanted - done).min(spec.parallelism.unwrap_or(1)) - active.count() as i32;
        for _ in 0..missing {
            self.made += 1;
            let template = spec.template.metadata.clone().unwrap_or_default();
            let owner = json!({
                "apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": true,
            });
            let pod = json!({
                "metadata": {
                    "name": format!("{name}-{}", self.made),
                    "labels": template.labels,
                    "annotations": template.annotations,
                    "ownerReferences": [owner],
                },
                "spec": spec.template.spec,
            });
            let api = Api::<Pod>::namespaced(self.client.clone(), namespace);
            api.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await?;
        }
        Ok(())
    }
}

/// What a kubelet says of a pod that is this far now.
fn status(phase: &str) -> Value {
    let now = Timestamp::from_millisecond(evenhand_live::system_ms() as i64).unwrap().to_string();
    if phase == "Running" {
        return json!({ "phase": phase, "startTime": now });
    }
    let terminated = json!({ "exitCode": i32::from(phase == "Failed"), "finishedAt": now });
    let container = json!({
        "name": "main", "image": "none", "imageID": "", "ready": false, "restartCount": 0, "state": { "terminated": terminated },
    });
    json!({ "phase": phase, "containerStatuses": [container] })
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn gpus(pod: &Pod) -> u32 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let asked = containers.filter_map(|it| it.resources.as_ref()?.limits.as_ref()?.get("nvidia.com/gpu"));
    asked.filter_map(|gpus| gpus.0.parse::<u32>().ok()).sum()
}
