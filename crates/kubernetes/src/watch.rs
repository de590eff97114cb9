//! Watches: pods, nodes and batch Jobs, kept as facts. After an error everything is listed again.

use crate::facts::Facts;
use crate::hub::Hub;
use crate::node::NodeFacts;
use crate::owner::BatchJobFacts;
use crate::pod::PodFacts;
use futures_util::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::sync::watch;

/// One kind of thing that is watched: what is remembered of it, and where.
pub(crate) trait Watched:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    type Row: PartialEq + Send;
    fn read(&self) -> Option<(String, Self::Row)>;
    fn table(facts: &mut Facts) -> &mut BTreeMap<String, Self::Row>;
    /// One of them is gone, and this is how it was at the end.
    fn gone(_facts: &mut Facts, _row: Self::Row) {}
}

impl Watched for Pod {
    type Row = PodFacts;
    fn read(&self) -> Option<(String, PodFacts)> {
        PodFacts::read(self).map(|pod| (pod.uid.clone(), pod))
    }
    fn table(facts: &mut Facts) -> &mut BTreeMap<String, PodFacts> {
        &mut facts.pods
    }
    fn gone(facts: &mut Facts, row: PodFacts) {
        if row.steps_done.is_some() || row.phase == crate::pod::Phase::Succeeded {
            facts.gone.push(row);
        }
    }
}

impl Watched for Node {
    type Row = NodeFacts;
    fn read(&self) -> Option<(String, NodeFacts)> {
        NodeFacts::read(self).map(|node| (node.name.clone(), node))
    }
    fn table(facts: &mut Facts) -> &mut BTreeMap<String, NodeFacts> {
        facts.nodes_changed = true;
        &mut facts.nodes
    }
}

impl Watched for Job {
    type Row = BatchJobFacts;
    fn read(&self) -> Option<(String, BatchJobFacts)> {
        BatchJobFacts::read(self)
    }
    fn table(facts: &mut Facts) -> &mut BTreeMap<String, BatchJobFacts> {
        &mut facts.batch_jobs
    }
}

/// What a watch came to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Synced {
    NotYet,
    /// Why not.
    Failing(String),
    Yes,
}

/// Watches one kind of thing for ever; says when all of it has been seen once.
pub(crate) async fn keep<K: Watched>(hub: Arc<Hub>, synced: watch::Sender<Synced>) {
    let api = Api::<K>::all(hub.client.clone());
    let mut events = Box::pin(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(row)) => listed.extend(row.read()),
            Ok(Event::InitDone) => {
                let rows = std::mem::take(&mut listed);
                change(&hub, |facts| *K::table(facts) = rows);
                synced.send_replace(Synced::Yes);
            }
            Ok(Event::Apply(row)) => change(&hub, |facts| K::table(facts).extend(row.read())),
            Ok(Event::Delete(row)) => change(&hub, |facts| {
                if let Some((key, row)) = row.read() {
                    K::table(facts).remove(&key);
                    K::gone(facts, row);
                }
            }),
            Err(error) => {
                synced.send_if_modified(|synced| {
                    let fails = *synced != Synced::Yes;
                    if fails {
                        *synced = Synced::Failing(error.to_string());
                    }
                    fails
                });
            }
        }
    }
}

fn change(hub: &Hub, change: impl FnOnce(&mut Facts)) {
    change(&mut hub.books().facts);
    hub.news.notify_one();
}
