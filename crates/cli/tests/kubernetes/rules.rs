//! Tenants and the policy as objects of the cluster.

use crate::cluster::{Cluster, until};
use crate::scheduler::Scheduler;
use crate::things::{foreign_pod, install, install_file, node};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

fn kind(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("evenhand.io", "v1alpha1", kind), plural)
}

fn tenants() -> ApiResource {
    kind("Tenant", "tenants")
}

fn policies() -> ApiResource {
    kind("SchedulingPolicy", "schedulingpolicies")
}

/// Makes an object, or changes it. A kind is there a moment after it was installed, so that it may take more than one attempt.
fn put(cluster: &Cluster, kind: &ApiResource, name: &str, spec: &Value) {
    let api = Api::<DynamicObject>::all_with(cluster.admin.clone(), kind);
    let object = DynamicObject::new(name, kind).data(json!({ "spec": spec }));
    let patch = Patch::Merge(json!({ "spec": spec }));
    until(20, "the object is as it should be", || match cluster.wait(api.get_opt(name)) {
        Ok(Some(_)) => cluster.wait(api.patch(name, &PatchParams::default(), &patch)).is_ok(),
        Ok(None) => cluster.wait(api.create(&PostParams::default(), &object)).is_ok(),
        Err(_) => false,
    });
}

/// Whether an object was accepted as it is now, and what is said about it.
fn verdict(cluster: &Cluster, kind: &ApiResource, name: &str) -> Option<(bool, String)> {
    let api = Api::<DynamicObject>::all_with(cluster.admin.clone(), kind);
    let object = cluster.wait(api.get(name)).unwrap();
    let status = &object.data["status"];
    let condition = &status["conditions"][0];
    let is_new = status["observedGeneration"].as_i64() == object.metadata.generation;
    is_new.then(|| (condition["status"] == "True", condition["message"].as_str().unwrap_or("").to_owned()))
}

fn until_accepted(cluster: &Cluster, kind: &ApiResource, name: &str) {
    until(40, &format!("{name} is accepted"), || {
        verdict(cluster, kind, name).is_some_and(|(accepted, _)| accepted)
    });
}

fn tenant(cluster: &Cluster, scheduler: &Scheduler, name: &str) -> Value {
    let list: Value = serde_json::from_str(&scheduler.says(&cluster.folder, &["tenants", "--json"])).unwrap();
    let found = list["tenants"].as_array().unwrap().iter().find(|tenant| tenant["name"] == name);
    found.cloned().unwrap_or_default()
}

fn policy(cluster: &Cluster, scheduler: &Scheduler) -> Value {
    let list: Value =
        serde_json::from_str(&scheduler.says(&cluster.folder, &["policies", "--live", "--json"])).unwrap();
    list["current"].clone()
}

#[test]
fn tenants_and_the_policy_are_what_their_objects_say() {
    let Some(cluster) = Cluster::start() else { return };
    let kubeconfig = install(&cluster);
    node(&cluster, "node-a", 8);
    // Its kinds are installed while it serves.
    let scheduler = Scheduler::start(&kubeconfig, &cluster.folder.join("state"), &["--policy", "fifo"]);
    install_file(&cluster, "kinds");
    // Its group comes after it.
    let robots = json!({ "weight": 3, "group": "lab", "limit": { "NVIDIA-A100-SXM4-80GB": 4 } });
    put(&cluster, &tenants(), "robots", &robots);
    put(&cluster, &tenants(), "lab", &json!({}));
    until_accepted(&cluster, &tenants(), "robots");
    let row = tenant(&cluster, &scheduler, "robots");
    assert_eq!((&row["weight"], &row["group"]), (&json!(3.0), &json!("lab")));
    assert_eq!(row["limit"], json!({ "a100-sxm4-80gb": 4 }));

    put(
        &cluster,
        &tenants(),
        "robots",
        &json!({ "weight": 2, "group": null, "limit": { "NVIDIA-H200": 1 } }),
    );
    let refused = || verdict(&cluster, &tenants(), "robots").filter(|(accepted, _)| !accepted);
    until(40, "an unknown model is refused", || {
        refused().is_some_and(|(_, why)| why == "limit has h200: this cluster has a100-sxm4-80gb")
    });
    assert_eq!(tenant(&cluster, &scheduler, "robots")["weight"], json!(3.0), "nothing of it holds");

    put(&cluster, &policies(), "evenhand", &json!({ "policy": "las" }));
    put(&cluster, &policies(), "another", &json!({ "policy": "srsf" }));
    until_accepted(&cluster, &policies(), "evenhand");
    assert_eq!(policy(&cluster, &scheduler)["name"], "las");
    put(&cluster, &policies(), "evenhand", &json!({ "policy": "lass" }));
    until(40, "no such policy", || {
        verdict(&cluster, &policies(), "evenhand").is_some_and(|(accepted, _)| !accepted)
    });
    assert_eq!(policy(&cluster, &scheduler)["name"], "las");
    assert_eq!(verdict(&cluster, &policies(), "another"), None, "it is another scheduler's");

    let own = Api::<DynamicObject>::all_with(cluster.client(&kubeconfig), &tenants());
    let patch = Patch::Merge(json!({ "spec": { "weight": 9 } }));
    let own = cluster.wait(own.patch("robots", &PatchParams::default(), &patch));
    assert!(matches!(own, Err(kube::Error::Api(status)) if status.code == 403), "it may not rule itself");
    what_operators_say_holds(&cluster, &scheduler);
}

/// Jobs come as pods only, and a node that was drained stays so when it changes.
fn what_operators_say_holds(cluster: &Cluster, scheduler: &Scheduler) {
    let output = scheduler.run(&cluster.folder, &["submit", "--", "true"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("jobs come as pods here"), "{said}");
    let node = || {
        let list = scheduler.says(&cluster.folder, &["nodes", "--json"]);
        serde_json::from_str::<Value>(&list).unwrap()["nodes"][0].clone()
    };
    scheduler.says(&cluster.folder, &["nodes", "drain", "0"]);
    assert_eq!(node()["health"], "draining", "{}", node());
    foreign_pod(cluster, "foreign", "node-a", 3);
    until(20, "the stranger's GPUs are seen", || {
        scheduler.says(&cluster.folder, &["report", "--json"]);
        let ledger = std::fs::read_to_string(cluster.folder.join("evenhand-ledger.jsonl")).unwrap();
        ledger.lines().any(|line| line.contains("\"taken\":224") && line.contains("\"drained\":true"))
    });
    assert_eq!(node()["health"], "draining", "{}", node());
    scheduler.says(&cluster.folder, &["nodes", "return", "0"]);
    assert_eq!(node()["health"], "up", "{}", node());
}
