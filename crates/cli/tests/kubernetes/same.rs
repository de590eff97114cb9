//! The same scenario, simulated and on a real API server.

use crate::cluster::{Cluster, until};
use crate::play::Player;
use crate::scenario::{POLICIES, ROUND, SCENARIO, compare, figures, trace};
use crate::scheduler::Scheduler;
use crate::things::{install, job_of, node_with, pod_spec};
use evenhand_live::Clock;
use serde_json::json;
use std::thread;
use std::time::Duration;

/// Takes minutes: jobs must be long beside the second that a start takes.
#[test]
#[ignore = "it takes minutes"]
fn a_scenario_takes_as_long_in_kubernetes_as_simulated() {
    for (policy, more) in POLICIES {
        let Some(cluster) = Cluster::start() else { return };
        let kubeconfig = install(&cluster);
        for (number, model) in ["v100", "v100", "p100", "p100"].into_iter().enumerate() {
            node_with(&cluster, &format!("node-{number}"), 8, model);
        }
        let player = Player::start(&cluster);
        let flags = ["--policy", policy, "--round", ROUND, "--restore", "1s"];
        let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &flags);
        let says = |words: &[&str]| scheduler.says(&cluster.folder, words);
        std::fs::write(cluster.folder.join("scenario.csv"), trace()).unwrap();
        let simulate = |more: &f64| {
            let restore = format!("{}s", 1.0 + more);
            let words =
                ["simulate", "--trace", "scenario.csv", "--cluster", "v100=16,p100=16", "--policy", policy];
            let costs = ["--round", ROUND, "--restore", &restore, "--json", "--out", "out"];
            figures(&says(&[&words[..], &costs].concat()))
        };
        let simulated: Vec<[f64; 2]> = more.iter().map(simulate).collect();
        play(&cluster);
        until(900, "all have finished", || scheduler.count("finished") == SCENARIO.len());
        player.check();
        compare(&format!("kubernetes, {policy}"), figures(&says(&["report", "--json"])), &simulated);
    }
}

fn play(cluster: &Cluster) {
    let clock = Clock::start();
    for (number, job) in SCENARIO.iter().enumerate() {
        thread::sleep(Duration::from_millis((1000 * job.at_s).saturating_sub(clock.now().0)));
        let annotations = json!({
            "test/run-ms": (1000 * job.seconds).to_string(),
            "evenhand.io/steps": job.seconds.to_string(),
            "evenhand.io/steps-per-second": "1",
        });
        let labels = json!({ "evenhand.io/tenant": job.tenant });
        let metadata = json!({ "labels": labels, "annotations": annotations });
        let template = json!({ "metadata": metadata, "spec": pod_spec(job.gpus) });
        job_of(cluster, "default", &format!("j{number}"), (1, &template));
    }
}
