//! Watching a cluster in which another scheduler decides, with a role that may list and nothing else.

use crate::cluster::{Cluster, until};
use crate::play::Player;
use crate::things::{install_file, make_in, node, pod_spec, pods, token_of};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A pod of another scheduler that waits to be bound, and then runs for so long.
fn pod(cluster: &Cluster, name: &str, tenant: &str, run_ms: u64) {
    let mut spec = pod_spec(4);
    spec["schedulerName"] = json!("default-scheduler");
    let (annotations, labels) =
        (json!({ "test/run-ms": run_ms.to_string() }), json!({ "evenhand.io/tenant": tenant }));
    let metadata = json!({ "name": name, "annotations": annotations, "labels": labels });
    make_in::<Pod>(cluster, "default", json!({ "metadata": metadata, "spec": spec }));
}

fn binding(name: &str, node: &str) -> Value {
    let target = json!({ "apiVersion": "v1", "kind": "Node", "name": node });
    json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name }, "target": target })
}

#[test]
fn another_schedulers_cluster_is_watched_with_a_role_that_may_only_list() {
    let Some(cluster) = Cluster::start() else { return };
    install_file(&cluster, "namespace");
    install_file(&cluster, "shadow/role");
    let kubeconfig = cluster.kubeconfig("shadow", &token_of(&cluster, "evenhand-shadow"));
    node(&cluster, "node-a", 4);
    node(&cluster, "node-b", 4);
    let player = Player::start(&cluster);
    let watcher = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.args(words).current_dir(&cluster.folder).stdin(Stdio::null());
        command
    };
    let config = kubeconfig.display().to_string();
    let words =
        ["shadow", "kubernetes", "--kubeconfig", &config, "--journal", "seen.jsonl", "--every", "300ms"];
    let mut watching = watcher(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    for (name, tenant) in [("first", "vision"), ("second", "vision"), ("third", "speech")] {
        pod(&cluster, name, tenant, 3000);
    }
    let bind = |client: &kube::Client, name: &str, node: &str| {
        let (api, body) = (pods(client), binding(name, node));
        cluster.wait(api.create_subresource::<_, Value>("binding", name, &PostParams::default(), &body))
    };
    // What watches may change nothing.
    let shadow = cluster.client(&kubeconfig);
    assert!(is_forbidden(&bind(&shadow, "first", "node-a").unwrap_err()));
    let gone = cluster.wait(pods(&shadow).delete("first", &DeleteParams::default()));
    assert!(is_forbidden(&gone.unwrap_err()));

    bind(&cluster.admin, "first", "node-a").unwrap();
    bind(&cluster.admin, "second", "node-b").unwrap();
    std::thread::sleep(Duration::from_secs(4));
    bind(&cluster.admin, "third", "node-a").unwrap();
    let seen = || std::fs::read_to_string(cluster.folder.join("seen.jsonl")).unwrap_or_default();
    until(60, "all three were seen to finish", || seen().matches("\"finished\"").count() >= 3);
    let pid = rustix::process::Pid::from_child(&watching);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(watching.wait().unwrap().success());
    player.check();

    let says = |words: &[&str]| {
        let output = watcher(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let report: Value = serde_json::from_str(&says(&["report", "seen.jsonl", "--json"])).unwrap();
    assert_eq!((report["policy"].as_str(), report["finished"].as_u64()), (Some("kubernetes"), Some(3)));
    let wait = report["wait_mean_s"].as_f64().unwrap();
    assert!((1.0..4.0).contains(&wait), "one of three waited for four seconds: {wait}");
    let told = says(&["whatif", "seen.jsonl"]);
    assert!(told.contains("What happened, under kubernetes: 3 of 3 jobs"), "{told}");
    assert!(told.contains("Under promise jobs would"), "{told}");
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
