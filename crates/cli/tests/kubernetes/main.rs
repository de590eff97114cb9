//! Pods of a real Kubernetes API server, scheduled by the binary with exactly the permissions of its manifests.
//!
//! There are no kubelets and no controllers: [`play`] plays them, and watches all the while that no node holds more than it has.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

#[path = "../../../../tests/kubernetes/cluster.rs"]
mod cluster;
mod many;
#[path = "../../../../tests/kubernetes/play.rs"]
mod play;
mod rules;
mod same;
mod scale;
#[path = "../../../../tests/engines/same.rs"]
mod scenario;
mod scheduler;
mod shadow;
#[path = "../../../../tests/kubernetes/things.rs"]
mod things;

use cluster::{Cluster, until};
use evenhand_live::Clock;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use play::Player;
use scheduler::Scheduler;
use std::time::Duration;
use things::{
    batch_job, foreign_pod, gang_pod, install, node, node_of, phase_of, pods, pods_of, ready, why_waiting,
};

fn bound(pods: &[Pod]) -> usize {
    pods.iter().filter(|pod| node_of(pod).is_some()).count()
}

#[test]
fn a_gang_waits_for_all_its_pods_and_for_gpus_that_others_hold() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    node(&cluster, "node-a", 4);
    node(&cluster, "node-b", 4);
    foreign_pod(&cluster, "foreign", "node-b", 3);
    let player = Player::start(&cluster);
    // One that interrupts nobody.
    let _scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &["--policy", "fifo"]);
    for index in 0..2 {
        gang_pod(&cluster, "three", index, (3, 1), None);
    }
    let said = |prefix: &str, word: &str| {
        let why = |pod: &Pod| why_waiting(pod).is_some_and(|(reason, _)| reason == word);
        pods_of(&cluster, prefix).iter().any(why)
    };
    until(20, "pods say that others are missing", || said("three", "GangIncomplete"));
    let events = Api::<Event>::namespaced(cluster.admin.clone(), "default");
    until(10, "an event says so", || {
        let all = cluster.wait(events.list(&ListParams::default())).unwrap().items;
        all.iter().any(|event| event.reason.as_deref() == Some("GangIncomplete"))
    });
    assert_eq!(bound(&pods_of(&cluster, "three")), 0, "a gang without one of its pods is not started");
    gang_pod(&cluster, "three", 2, (3, 1), None);
    until(20, "all of the gang run", || {
        pods_of(&cluster, "three").iter().all(|pod| phase_of(pod) == "Running")
    });
    // Three of five GPUs are held now: a gang of three more has to wait for the stranger.
    for index in 0..3 {
        gang_pod(&cluster, "more", index, (3, 1), None);
    }
    until(20, "pods say that GPUs are missing", || said("more", "Unschedulable"));
    assert_eq!(bound(&pods_of(&cluster, "more")), 0);
    cluster.wait(pods(&cluster.admin).delete("foreign", &DeleteParams::default())).unwrap();
    until(20, "the second gang runs", || {
        pods_of(&cluster, "more").iter().all(|pod| phase_of(pod) == "Running")
    });
    player.check();
}

#[test]
fn the_permissions_of_the_manifests_are_enough_and_no_more() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    let as_scheduler = cluster.client(&kubeconfig);
    let code = |result: Result<(), kube::Error>| match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    };
    let secrets = Api::<Secret>::namespaced(as_scheduler.clone(), "evenhand");
    assert_eq!(code(cluster.wait(secrets.list(&ListParams::default())).map(drop)), 403);
    let own = pods(&as_scheduler);
    let pod = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "own" }, "spec": { "containers": [{ "name": "main", "image": "none" }] },
    }));
    let (params, pod) = (kube::api::PostParams::default(), pod.unwrap());
    assert_eq!(code(cluster.wait(own.create(&params, &pod)).map(drop)), 403, "it starts no pods of its own");
    cluster.wait(own.list(&ListParams::default())).unwrap();
}

#[test]
fn a_gang_that_cannot_be_bound_whole_is_not_bound_at_all() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    for index in 0..16 {
        node(&cluster, &format!("node-{index}"), 8);
    }
    let player = Player::start(&cluster);
    let size = 120;
    // As soon as one pod is bound, another that is not is taken away.
    let api = pods(&cluster.admin);
    cluster.spawn(async move {
        loop {
            let all = api.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default();
            if all.iter().any(|pod| node_of(pod).is_some()) {
                let left = all.iter().rev().find(|pod| node_of(pod).is_none());
                if let Some(name) = left.and_then(|pod| pod.metadata.name.clone()) {
                    let _ = api.delete(&name, &DeleteParams::default().grace_period(0)).await;
                    eprintln!("took {name} away");
                }
                return;
            }
        }
    });
    for index in 0..size {
        gang_pod(&cluster, "wide", index, (size, 1), None);
    }
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &[]);
    until(60, "something was bound and is gone again", || {
        let left = pods_of(&cluster, "wide");
        left.len() < size && bound(&left) == 0
    });
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(bound(&pods_of(&cluster, "wide")), 0, "what is left is not started without the others");
    assert_eq!(scheduler.count("running"), 0);
    player.check();
}

#[test]
fn a_preempted_gang_comes_back_as_the_same_job() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    node(&cluster, "node-a", 4);
    let player = Player::start(&cluster);
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &["--policy", "las"]);
    batch_job(&cluster, "long", (2, 2), 15_000);
    until(30, "the first runs", || scheduler.count("running") == 1);
    let first: Vec<_> = pods_of(&cluster, "long").iter().map(|pod| pod.metadata.uid.clone()).collect();
    batch_job(&cluster, "short", (2, 2), 500);
    until(30, "the second has finished", || scheduler.count("finished") >= 1);
    until(90, "both have finished", || scheduler.count("finished") == 2);
    let jobs = scheduler.jobs();
    assert_eq!(jobs.len(), 2, "made anew, its pods are the same job: {jobs:?}");
    let last: Vec<_> = pods_of(&cluster, "long").iter().map(|pod| pod.metadata.uid.clone()).collect();
    assert!(first.iter().all(|uid| !last.contains(uid)), "it was stopped in between");
    player.check();
}

#[test]
fn a_lost_node_takes_its_gang_along_and_it_runs_elsewhere() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    node(&cluster, "node-a", 4);
    let player = Player::start(&cluster);
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &[]);
    batch_job(&cluster, "moving", (2, 2), 4_000);
    until(30, "it runs", || scheduler.count("running") == 1);
    node(&cluster, "node-b", 4);
    ready(&cluster, "node-a", false);
    let is_elsewhere = |pod: &Pod| node_of(pod).as_deref() == Some("node-b");
    until(30, "it runs elsewhere", || {
        let pods = pods_of(&cluster, "moving");
        pods.len() == 2 && pods.iter().all(is_elsewhere)
    });
    until(30, "it has finished", || scheduler.count("finished") == 1);
    player.check();
}

#[test]
fn killed_again_and_again_every_gang_ends_exactly_once() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    let (nodes, jobs) = (16, 30);
    for index in 0..nodes {
        node(&cluster, &format!("node-{index}"), 8);
    }
    let player = Player::start(&cluster);
    let state = cluster.folder.join("state");
    for index in 0..jobs {
        batch_job(&cluster, &format!("job-{index}"), (1 + index % 4, 4), 2_000 + 100 * u64::from(index));
    }
    for pause in [300, 1500, 900, 2500, 100] {
        let scheduler = Scheduler::start(&kubeconfig, &state, &[]);
        std::thread::sleep(Duration::from_millis(pause));
        scheduler.kill();
    }
    let scheduler = Scheduler::start(&kubeconfig, &state, &[]);
    until(180, "all have finished", || scheduler.count("finished") == jobs as usize);
    let all = scheduler.jobs();
    assert_eq!(all.len(), jobs as usize, "every gang is one job");
    for index in 0..jobs {
        assert_eq!(player.done(&format!("job-{index}")), 1 + index % 4, "job-{index} was done once");
    }
    player.check();
}

#[test]
fn a_second_replica_takes_over_when_the_leader_is_killed() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    node(&cluster, "node-a", 4);
    let player = Player::start(&cluster);
    let state = cluster.folder.join("state");
    let first = Scheduler::start(&kubeconfig, &state, &[]);
    batch_job(&cluster, "before", (2, 2), 8_000);
    until(30, "it runs", || first.count("running") == 1);
    let second = Scheduler::spawn(&kubeconfig, &state, &[]);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!state.join("address").exists(), "one leads at a time");
    first.kill();
    let clock = Clock::start();
    batch_job(&cluster, "after", (2, 2), 500);
    until(40, "the second serves", || state.join("address").exists());
    eprintln!("the second replica led {} ms after the first was killed", clock.now().0);
    until(60, "both have finished", || second.count("finished") == 2);
    player.check();
}

#[test]
fn a_gang_of_a_thousand_pods_and_sixty_jobs_on_sixty_four_nodes() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    let (nodes, jobs, wide) = (64, 60, 1000);
    for index in 0..nodes {
        node(&cluster, &format!("node-{index}"), 16);
    }
    let player = Player::start(&cluster);
    for index in 0..wide {
        gang_pod(&cluster, "wide", index, (wide, 1), Some(3_000));
    }
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &["--policy", "fifo"]);
    let clock = Clock::start();
    until(60, "all of the gang are bound", || bound(&pods_of(&cluster, "wide")) == wide);
    eprintln!("{wide} pods were bound {} ms after the scheduler served", clock.now().0);
    until(120, "the gang has finished", || scheduler.count("finished") == 1);
    let clock = Clock::start();
    for index in 0..jobs {
        batch_job(&cluster, &format!("job-{index}"), (1 + index % 8, 8), 1_000);
    }
    until(180, "all have finished", || scheduler.count("finished") == 1 + jobs as usize);
    eprintln!("{jobs} Jobs of 1 to 8 pods with 8 GPUs each were done after {} ms", clock.now().0);
    player.check();
}
