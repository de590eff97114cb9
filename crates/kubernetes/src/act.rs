//! What is done to pods: binding them, and ending them.

use crate::hub::Hub;
use crate::tracked::{Bound, PodRef};
use crate::words;
use evenhand_core::{LeaseId, Span};
use futures_util::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client, Error};
use serde_json::{Value, json};
use std::time::Duration;

/// Requests of one gang that are on their way at a time.
const AT_ONCE: usize = 16;
/// How often a request whose fate is unknown is repeated, and the pause before it.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(500);

/// Binds all pods of a lease. One that cannot be bound spoils it for those that have not been tried yet.
pub(crate) async fn bind(hub: &Hub, lease: LeaseId, pods: Vec<(PodRef, String)>) {
    let (mark, job) = {
        let books = hub.books();
        let job = books.leases.get(&lease).map(|tracked| tracked.lease.job.0);
        (books.mark_of(lease), job.unwrap_or_default())
    };
    let spoilt = std::sync::atomic::AtomicBool::new(false);
    let bind_one = async |(pod, node): (PodRef, String)| {
        use std::sync::atomic::Ordering::Relaxed;
        let _turn = hub.requests.acquire().await;
        let leaving = || hub.books().leases.get(&lease).is_none_or(crate::tracked::Tracked::is_leaving);
        if spoilt.load(Relaxed) || leaving() {
            spoilt.store(true, Relaxed);
            return (pod, Bound::No);
        }
        let bound = bind_pod(&hub.client, &pod, &node, &binding(&pod, &node, &mark, job)).await;
        if bound != Bound::Yes {
            spoilt.store(true, Relaxed);
        }
        (pod, bound)
    };
    let results: Vec<_> = stream::iter(pods).map(bind_one).buffer_unordered(AT_ONCE).collect().await;
    hub.bound(lease, &results);
}

/// The pod of this UID goes to this node, and says by which lease: the server does both or neither.
fn binding(pod: &PodRef, node: &str, mark: &str, job: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "annotations": { words::LEASE: mark, words::JOB: job.to_string() },
        },
        "target": { "apiVersion": "v1", "kind": "Node", "name": node },
    })
}

async fn bind_pod(client: &Client, pod: &PodRef, node: &str, binding: &Value) -> Bound {
    let api = Api::<Pod>::namespaced(client.clone(), &pod.namespace);
    for _ in 0..TRIES {
        match api.create_subresource::<_, Value>("binding", &pod.name, &PostParams::default(), binding).await
        {
            Ok(_) => return Bound::Yes,
            Err(Error::Api(status)) if status.code == 409 => return look_where(&api, pod, node).await,
            Err(Error::Api(status)) if (400..500).contains(&status.code) && status.code != 429 => {
                return Bound::No;
            }
            // Whether it was done is not known: the server may be gone, or only its answer.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
    Bound::Unsure
}

/// It is bound already, or another pod has its name: an earlier try may have done it.
async fn look_where(api: &Api<Pod>, pod: &PodRef, node: &str) -> Bound {
    match api.get(&pod.name).await {
        Ok(found) => {
            let same = found.metadata.uid.as_deref() == Some(&pod.uid);
            let at = found.spec.and_then(|spec| spec.node_name);
            if same && at.as_deref() == Some(node) { Bound::Yes } else { Bound::No }
        }
        Err(Error::Api(status)) if status.code == 404 => Bound::No,
        Err(_) => Bound::Unsure,
    }
}

/// Ends a pod, so long as it takes to be heard. Eviction comes first: controllers do not hold it against the pod. A budget that
/// forbids it is heeded as long as the pod's time to save.
pub(crate) async fn remove(hub: &Hub, pod: &PodRef, grace: Option<Span>) {
    let api = Api::<Pod>::namespaced(hub.client.clone(), &pod.namespace);
    let seconds = grace.map(|grace| grace.0.div_ceil(1000) as u32);
    let polite_tries = match seconds {
        Some(0) => 0,
        Some(seconds) => seconds.max(1),
        None => 30,
    };
    for _ in 0..polite_tries {
        let turn = hub.requests.acquire().await;
        let evicted = evict(&api, pod, seconds).await;
        drop(turn);
        match evicted {
            Ok(_) => return,
            Err(Error::Api(status)) if is_elsewhere(status.code) => return,
            Err(Error::Api(status)) if status.code == 429 => tokio::time::sleep(Duration::from_secs(1)).await,
            Err(_) => break,
        }
    }
    let params = DeleteParams {
        grace_period_seconds: seconds,
        preconditions: Some(Preconditions { uid: Some(pod.uid.clone()), resource_version: None }),
        ..DeleteParams::default()
    };
    loop {
        let turn = hub.requests.acquire().await;
        let deleted = api.delete(&pod.name, &params).await;
        drop(turn);
        match deleted {
            Ok(_) => return,
            Err(Error::Api(status)) if is_elsewhere(status.code) => return,
            Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
        }
    }
}

/// The pod is gone, or another has its name.
fn is_elsewhere(code: u16) -> bool {
    code == 404 || code == 409
}

/// Without a version: the server takes it for its own, and these differ (policy/v1beta1 before 1.22, policy/v1 since 1.25).
async fn evict(api: &Api<Pod>, pod: &PodRef, seconds: Option<u32>) -> Result<Value, Error> {
    let mut options = json!({ "preconditions": { "uid": pod.uid } });
    if let Some(seconds) = seconds {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    let eviction = json!({
        "metadata": { "name": pod.name, "namespace": pod.namespace },
        "deleteOptions": options,
    });
    api.create_subresource("eviction", &pod.name, &PostParams::default(), &eviction).await
}
