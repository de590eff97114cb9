//! The same gangs of three tenants on nodes of two models, under several policies.

use crate::cluster::{Cluster, until};
use crate::play::Player;
use crate::scheduler::Scheduler;
use crate::things::{install, job_of, node_with, pod_spec};
use evenhand_live::Clock;
use serde_json::{Value, json};

const TENANTS: [&str; 3] = ["vision", "speech", "robots"];
const MODELS: [&str; 2] = ["NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-16GB"];
const NODES: u32 = 64;
const GPUS: u32 = 8;

/// Pods of the gang of this number.
fn size(number: u32) -> u32 {
    1 + number % 8
}

/// A Job of whole nodes, for one model or either, that knows how long it takes.
fn gang(cluster: &Cluster, number: u32) {
    let seconds = 2 + u64::from(number % 5);
    let annotations = json!({
        "test/run-ms": (1000 * seconds).to_string(),
        "evenhand.io/steps": seconds.to_string(),
        "evenhand.io/steps-per-second": "1",
    });
    let labels = json!({ "evenhand.io/tenant": TENANTS[number as usize % 3] });
    let mut spec = pod_spec(GPUS);
    if let Some(model) = MODELS.get(number as usize / 3 % 3) {
        spec["nodeSelector"] = json!({ "nvidia.com/gpu.product": model });
    }
    let template = json!({ "metadata": { "labels": labels, "annotations": annotations }, "spec": spec });
    job_of(cluster, "default", &format!("gang-{number}"), (size(number), &template));
}

/// Runs so many gangs under a policy. Every one ends once, no node holds more than it has, and the ledger, given to a fresh engine, has it decide
/// the same. Says how many leases were ended for others.
fn run_under(policy: &str, count: u32) -> usize {
    let Some(cluster) = Cluster::start() else { return 0 };
    let kubeconfig = install(&cluster);
    for index in 0..NODES {
        node_with(&cluster, &format!("node-{index}"), GPUS, MODELS[index as usize % 2]);
    }
    let player = Player::start(&cluster);
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &["--policy", policy]);
    let clock = Clock::start();
    (0..count).for_each(|number| gang(&cluster, number));
    until(600, "all have finished", || scheduler.count("finished") == count as usize);
    let took = clock.now().0;
    assert_eq!(scheduler.jobs().len(), count as usize, "every gang is one job, made anew or not");
    for number in 0..count {
        assert_eq!(player.done(&format!("gang-{number}")), size(number), "gang-{number} was done once");
    }
    player.check();
    let stops = replay(&scheduler, &cluster);
    eprintln!("{policy}: {count} gangs were done after {took} ms, {stops} leases were ended for others");
    stops
}

/// The ledger as the service hands it out, given to a fresh engine. Says how many leases it was told to stop.
fn replay(scheduler: &Scheduler, cluster: &Cluster) -> usize {
    scheduler.says(&cluster.folder, &["report", "--json"]);
    let said = scheduler.says(&cluster.folder, &["replay", "evenhand-ledger.jsonl"]);
    assert!(said.ends_with("all the same\n"), "{said}");
    let ledger = std::fs::read_to_string(cluster.folder.join("evenhand-ledger.jsonl")).unwrap();
    let records = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.map(|record| record.to_string().matches("\"stop\":").count()).sum()
}

#[test]
fn gangs_of_three_tenants_end_once_and_their_ledger_can_be_repeated() {
    run_under("las", 24);
}

/// Takes minutes. `EVENHAND_KUBERNETES_GANGS` says how many gangs; 60 if nothing is said.
#[test]
#[ignore = "it takes minutes"]
fn the_same_gangs_end_once_under_every_kind_of_policy() {
    let count = std::env::var("EVENHAND_KUBERNETES_GANGS").ok().and_then(|count| count.parse().ok());
    for policy in ["promise", "oef-cooperative", "themis", "las"] {
        run_under(policy, count.unwrap_or(60));
    }
}
