//! Says on pods why they wait: a condition on each, and an event for each gang.

use crate::books::Note;
use crate::gang::Identity;
use crate::hub::Hub;
use crate::tracked::PodRef;
use crate::why;
use evenhand_core::{JobId, Span};
use evenhand_live::{Answer, Wish, system_ms};
use futures_util::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use tokio::sync::oneshot;

/// The time between two looks at what should be said.
pub(crate) const PAUSE: Span = Span::from_secs(3);
/// Jobs that are asked about, and pods that are written to, at one look: saying why must not keep anybody from being started.
const JOBS_MAX: usize = 64;
const PODS_MAX: usize = 200;
const AT_ONCE: usize = 4;

/// Says what is new.
pub(crate) async fn say_all(hub: &Hub) {
    let (pods, gangs) = unsaid(hub);
    let patched = pods.into_iter().map(|(pod, note)| async move {
        if condition(hub, &pod, &note).await.is_ok() {
            hub.books().noted.insert(pod.uid, note);
        }
    });
    stream::iter(patched).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    for (pod, note) in gangs {
        // One that is lost is no harm: the condition says the same.
        let _ = event(hub, &pod, &note).await;
    }
}

/// Asks the service about jobs that have no lease.
pub(crate) async fn ask(hub: &Hub) {
    let waiting: Vec<(JobId, Identity)> = {
        let mut books = hub.books();
        let leased: BTreeSet<JobId> = books.leases.values().map(|tracked| tracked.lease.job).collect();
        let after = books.asked_about.map_or(Bound::Unbounded, Bound::Excluded);
        let jobs = books.jobs.range((after, Bound::Unbounded)).filter(|(job, _)| !leased.contains(job));
        let jobs = jobs.map(|(job, known)| (*job, known.outside.identity.clone()));
        let waiting: Vec<_> = jobs.take(JOBS_MAX).collect();
        books.asked_about = waiting.last().map(|(job, _)| *job);
        waiting
    };
    for (job, identity) in waiting {
        let (reply, answer) = oneshot::channel();
        // Whoever asked may have stopped waiting.
        hub.ask(Wish::Foresee(job), move |answer| drop(reply.send(answer)));
        let Ok(Ok(Answer::Foreseen(outlook, _))) = answer.await else { continue };
        let mut books = hub.books();
        match why::note(&outlook) {
            Some(note) => books.notes.insert(identity, note),
            None => books.notes.remove(&identity),
        };
    }
}

type Sayings = Vec<(PodRef, Note)>;

/// Pods that should say something else than they do, and of each gang the first of them.
fn unsaid(hub: &Hub) -> (Sayings, Sayings) {
    let mut books = hub.books();
    let books = &mut *books;
    books.noted.retain(|uid, _| books.facts.pods.contains_key(uid));
    let gangs = books.facts.gangs(&books.scheduler);
    let (mut pods, mut firsts) = (Vec::new(), Vec::new());
    for (identity, note) in &books.notes {
        let waiting = gangs.get(identity).map_or(&[][..], |gang| gang.waiting.as_slice());
        let mut silent = waiting.iter().filter(|pod| books.noted.get(&pod.uid) != Some(note)).peekable();
        firsts.extend(silent.peek().map(|pod| (PodRef::of(pod), note.clone())));
        pods.extend(silent.map(|pod| (PodRef::of(pod), note.clone())));
        if pods.len() > PODS_MAX {
            pods.truncate(PODS_MAX);
            break;
        }
    }
    (pods, firsts)
}

fn now() -> Timestamp {
    Timestamp::from_millisecond(system_ms() as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

async fn condition(hub: &Hub, pod: &PodRef, note: &Note) -> Result<(), kube::Error> {
    let condition = json!({
        "type": "PodScheduled",
        "status": "False",
        "reason": note.reason,
        "message": note.message,
        "lastTransitionTime": now().to_string(),
    });
    let patch = json!({ "metadata": { "uid": pod.uid }, "status": { "conditions": [condition] } });
    let api = Api::<Pod>::namespaced(hub.client.clone(), &pod.namespace);
    api.patch_status(&pod.name, &PatchParams::default(), &Patch::Strategic(patch)).await.map(drop)
}

async fn event(hub: &Hub, pod: &PodRef, note: &Note) -> Result<(), kube::Error> {
    let component = hub.books().scheduler.clone();
    let at = now().to_string();
    let event: Value = json!({
        "metadata": { "generateName": format!("{}.", pod.name), "namespace": pod.namespace },
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "name": pod.name, "namespace": pod.namespace, "uid": pod.uid,
        },
        "reason": note.reason,
        "message": note.message,
        "type": "Normal",
        "source": { "component": component },
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    });
    let event: Event = serde_json::from_value(event).map_err(kube::Error::SerdeError)?;
    let api = Api::<Event>::namespaced(hub.client.clone(), &pod.namespace);
    api.create(&PostParams::default(), &event).await.map(drop)
}

/// What pods say, by UID.
pub(crate) type Noted = BTreeMap<String, Note>;
