//! Thousands of nodes and gangs: how fast it is, and how much of that is the API server's own limit. Nothing is played: bound pods stay so.

use crate::cluster::{Cluster, until};
use crate::scheduler::Scheduler;
use crate::things::{install, node_of, pod_spec, pods, why_waiting};
use evenhand_live::Clock;
use futures_util::stream::{self, StreamExt};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, VersionMatch};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Requests of the test that are on their way at a time: as many as the scheduler has for a gang.
const AT_ONCE: usize = 16;
const GPUS: u32 = 8;
const PODS_PER_GANG: usize = 3;

/// How large it is: `EVENHAND_SCALE_NODES`, 5,000 if nothing is said, and two gangs for five nodes.
fn nodes_wanted() -> usize {
    std::env::var("EVENHAND_SCALE_NODES").ok().and_then(|nodes| nodes.parse().ok()).unwrap_or(5_000)
}

fn make_nodes(cluster: &Cluster, count: usize) {
    let api = Api::<Node>::all(cluster.admin.clone());
    let make = async |number: usize| {
        // Two are of another model.
        let model = if number < 2 { "NVIDIA-H200" } else { "NVIDIA-A100-SXM4-80GB" };
        let (name, labels) = (format!("node-{number}"), json!({ "nvidia.com/gpu.product": model }));
        let node = json!({ "metadata": { "name": name, "labels": labels } });
        api.create(&PostParams::default(), &serde_json::from_value(node).unwrap()).await.unwrap();
        let amounts = json!({ "nvidia.com/gpu": GPUS.to_string(), "cpu": "64", "pods": "110" });
        let ready = json!({ "type": "Ready", "status": "True", "reason": "Played", "message": "" });
        let status = json!({ "capacity": amounts, "allocatable": amounts, "conditions": [ready] });
        let patch = Patch::Strategic(json!({ "status": status }));
        api.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    };
    cluster.wait(stream::iter(0..count).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>());
}

/// Pods of a gang of this size, which ask for this scheduler unless `spec` says otherwise.
fn gang_pods(gang: &str, size: usize, spec: &Value) -> Vec<Value> {
    let labels = json!({ "evenhand.io/gang": gang, "evenhand.io/gang-size": size.to_string() });
    let name = |index: usize| format!("{gang}-{index}");
    let metadata = |index: usize| json!({ "name": name(index), "labels": labels });
    (0..size).map(|index| json!({ "metadata": metadata(index), "spec": spec })).collect()
}

fn make_pods(cluster: &Cluster, made: Vec<Value>) {
    let api = pods(&cluster.admin);
    let make = async |pod: Value| {
        api.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    };
    cluster.wait(stream::iter(made).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>());
}

fn end_pods(cluster: &Cluster, names: &[String]) {
    let api = pods(&cluster.admin);
    let end = async |name: &String| {
        api.delete(name, &DeleteParams::default().grace_period(0)).await.unwrap();
    };
    cluster.wait(stream::iter(names).map(end).buffer_unordered(AT_ONCE).collect::<Vec<()>>());
}

/// All pods, as the server last remembers them: a look that costs it little.
fn look(cluster: &Cluster) -> Vec<Pod> {
    let all = ListParams::default().at("0").matching(VersionMatch::NotOlderThan);
    cluster.wait(pods(&cluster.admin).list(&all)).unwrap().items
}

fn bound(cluster: &Cluster, prefix: &str) -> usize {
    let is_meant = |pod: &&Pod| pod.metadata.name.as_ref().is_some_and(|name| name.starts_with(prefix));
    look(cluster).iter().filter(is_meant).filter(|pod| node_of(pod).is_some()).count()
}

/// Binds per second that the server manages when nobody decides anything.
fn raw(cluster: &Cluster, count: usize) -> f64 {
    let mut spec = pod_spec(0);
    spec["schedulerName"] = json!("nobody");
    make_pods(cluster, gang_pods("raw", count, &spec));
    let api = pods(&cluster.admin);
    let names: Vec<String> = (0..count).map(|index| format!("raw-{index}")).collect();
    let clock = Clock::start();
    let bind = async |name: &String| {
        let target = json!({ "apiVersion": "v1", "kind": "Node", "name": "node-2" });
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name }, "target": target,
        });
        let params = PostParams::default();
        api.create_subresource::<_, Value>("binding", name, &params, &binding).await.unwrap();
    };
    cluster.wait(stream::iter(&names).map(bind).buffer_unordered(AT_ONCE).collect::<Vec<()>>());
    let took = clock.now().0;
    end_pods(cluster, &names);
    count as f64 * 1000.0 / took as f64
}

/// No node holds more than it has.
fn judge(cluster: &Cluster) {
    let mut held: BTreeMap<String, u32> = BTreeMap::new();
    for pod in look(cluster) {
        let gpus = pod.spec.as_ref().and_then(|spec| spec.containers[0].resources.as_ref()?.limits.clone());
        let gpus = gpus.and_then(|gpus| gpus.get("nvidia.com/gpu")?.0.parse::<u32>().ok()).unwrap_or(0);
        if let Some(node) = node_of(&pod) {
            *held.entry(node).or_default() += gpus;
        }
    }
    assert!(held.values().all(|held| *held <= GPUS), "{held:?}");
}

fn tell_decisions(scheduler: &Scheduler, when: &str) {
    let text = scheduler.metrics();
    let read = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<f64>().ok()
    };
    let (sum, count) = (read("evenhand_decision_seconds_sum"), read("evenhand_decision_seconds_count"));
    let (sum, count) = (sum.unwrap_or(0.0), count.unwrap_or(0.0));
    eprintln!("{when}: {count} decisions, {:.1} ms each", 1000.0 * sum / count.max(1.0));
}

/// When gangs were found, and when they were given their nodes.
fn tell_ledger(scheduler: &Scheduler, cluster: &Cluster) {
    scheduler.says(&cluster.folder, &["report", "--json"]);
    let ledger = std::fs::read_to_string(cluster.folder.join("evenhand-ledger.jsonl")).unwrap();
    let records: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let times = |is: &dyn Fn(&Value) -> bool| {
        let times = records.iter().filter(|record| is(record)).filter_map(|record| record["now"].as_u64());
        // The wide gang was before.
        times.skip(1).fold((u64::MAX, 0), |(first, last), now| (now.min(first), now.max(last)))
    };
    let (found, found_last) = times(&|record| !record["event"]["submitted"].is_null());
    let is_start = |command: &Value| !command["start"].is_null();
    let (start, start_last) =
        times(&|record| record["commands"].as_array().is_some_and(|them| them.iter().any(is_start)));
    let since = |time: u64| time as i64 - found as i64;
    eprintln!(
        "from the first gang found: the last after {} ms, the first start after {}, the last after {}",
        since(found_last),
        since(start),
        since(start_last)
    );
}

/// A gang of a thousand pods on an empty cluster: when the first of them is bound, it was decided.
fn wide(cluster: &Cluster, size: usize) {
    let mut made = gang_pods("wide", size, &pod_spec(1));
    let last = made.pop().unwrap();
    make_pods(cluster, made);
    let clock = Clock::start();
    make_pods(cluster, vec![last]);
    until(120, "a pod of the wide gang is bound", || bound(cluster, "wide") > 0);
    let decided = clock.now().0;
    until(120, "all are", || bound(cluster, "wide") == size);
    eprintln!(
        "a gang of {size} pods: the first bound after {decided} ms, the last after {} ms",
        clock.now().0
    );
    end_pods(cluster, &(0..size).map(|index| format!("wide-{index}")).collect::<Vec<_>>());
}

/// A gang that the whole cluster could not hold, in the middle of all others.
fn too_large(cluster: &Cluster) {
    let mut spec = pod_spec(GPUS);
    spec["nodeSelector"] = json!({ "nvidia.com/gpu.product": "NVIDIA-H200" });
    let clock = Clock::start();
    make_pods(cluster, gang_pods("large", 3, &spec));
    let api = pods(&cluster.admin);
    let says = || why_waiting(&cluster.wait(api.get("large-0")).unwrap());
    until(120, "it says so", || says().is_some_and(|(reason, _)| reason == "Unschedulable"));
    eprintln!("too large a gang said so after {} ms: {}", clock.now().0, says().unwrap().1);
}

/// Takes minutes. `EVENHAND_SCALE_POLICY` says who decides.
#[test]
#[ignore = "it takes minutes"]
fn thousands_of_nodes_and_gangs() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    let (nodes, gangs) = (nodes_wanted(), nodes_wanted() * 2 / 5);
    let policy = std::env::var("EVENHAND_SCALE_POLICY").unwrap_or_else(|_| "promise".to_owned());
    let clock = Clock::start();
    make_nodes(&cluster, nodes);
    eprintln!("{nodes} nodes were made in {} ms", clock.now().0);
    let state = cluster.folder.join("state");
    let start = || Scheduler::start(&kubeconfig, &state, &["--policy", &policy]);
    let scheduler = start();
    until(120, "all nodes are known", || scheduler.metrics().contains("a100-sxm4-80gb"));
    wide(&cluster, nodes.min(1000));
    tell_decisions(&scheduler, "wide gang");
    scheduler.kill();
    let alone = raw(&cluster, nodes.min(2000));
    eprintln!("the API server alone: {alone:.0} binds/s");
    let clock = Clock::start();
    let spec = pod_spec(GPUS);
    make_pods(
        &cluster,
        (0..gangs).flat_map(|gang| gang_pods(&format!("gang-{gang}"), PODS_PER_GANG, &spec)).collect(),
    );
    eprintln!("{gangs} gangs of {PODS_PER_GANG} pods were made in {} ms", clock.now().0);
    let fit = ((nodes - 2) / PODS_PER_GANG).min(gangs) * PODS_PER_GANG;
    let clock = Clock::start();
    let scheduler = start();
    let served = clock.now().0;
    until(600, "a first pod is bound", || bound(&cluster, "gang") > 0);
    let first = clock.now().0;
    until(600, "all that fit are bound", || bound(&cluster, "gang") == fit);
    let took = clock.now().0;
    let speed = fit as f64 * 1000.0 / (took - served) as f64;
    eprintln!(
        "it served after {served} ms; the first of {fit} pods was bound after {first} ms, the last after {took} ms"
    );
    eprintln!("{speed:.0} binds/s: {:.0} % of the API server's own", 100.0 * speed / alone);
    tell_decisions(&scheduler, "many gangs");
    tell_ledger(&scheduler, &cluster);
    too_large(&cluster);
    judge(&cluster);
}
