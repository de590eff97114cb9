//! Nodes, pods, Jobs and manifests, made for a test.

#![allow(dead_code, reason = "no test needs all of it")]

use super::cluster::Cluster;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// What may be made of a manifest.
pub trait Thing: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize {}
impl<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize> Thing for K {}

pub fn make_in<K: Thing + Resource<Scope = NamespaceResourceScope>>(
    cluster: &Cluster,
    namespace: &str,
    thing: Value,
) -> K {
    let api = Api::<K>::namespaced(cluster.admin.clone(), namespace);
    let thing = serde_json::from_value(thing).unwrap();
    cluster.wait(api.create(&PostParams::default(), &thing)).unwrap()
}

fn make<K: Thing + Resource<Scope = ClusterResourceScope>>(cluster: &Cluster, thing: Value) {
    let api = Api::<K>::all(cluster.admin.clone());
    let thing = serde_json::from_value(thing).unwrap();
    cluster.wait(api.create(&PostParams::default(), &thing)).unwrap();
}

/// Installs the manifests of this repository as they are, and gives a kubeconfig of the service account that they make.
pub fn install(cluster: &Cluster) -> PathBuf {
    for file in ["namespace", "account", "role", "storage", "deployment"] {
        install_file(cluster, file);
    }
    cluster.kubeconfig("evenhand", &token_of(cluster, "evenhand"))
}

/// A token of a service account.
pub fn token_of(cluster: &Cluster, account: &str) -> String {
    let accounts = Api::<ServiceAccount>::namespaced(cluster.admin.clone(), "evenhand");
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "audiences": [] },
    });
    let params = PostParams::default();
    let made = accounts.create_subresource::<_, Value>("token", account, &params, &request);
    cluster.wait(made).unwrap()["status"]["token"].as_str().unwrap().to_owned()
}

/// Installs one file of manifests.
pub fn install_file(cluster: &Cluster, file: &str) {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = above.map(|above| above.join("deploy/kubernetes")).find(|folder| folder.exists()).unwrap();
    let text = std::fs::read_to_string(folder.join(format!("{file}.yaml"))).unwrap();
    for document in text.split("\n---\n") {
        install_one(cluster, serde_saphyr::from_str(document).unwrap());
    }
}

fn install_one(cluster: &Cluster, thing: Value) {
    let kind = thing["kind"].as_str().unwrap().to_owned();
    match kind.as_str() {
        "Namespace" => make::<Namespace>(cluster, thing),
        "CustomResourceDefinition" => make::<CustomResourceDefinition>(cluster, thing),
        "ClusterRole" => make::<ClusterRole>(cluster, thing),
        "ClusterRoleBinding" => make::<ClusterRoleBinding>(cluster, thing),
        "ServiceAccount" => drop(make_in::<ServiceAccount>(cluster, "evenhand", thing)),
        "Role" => drop(make_in::<Role>(cluster, "evenhand", thing)),
        "RoleBinding" => drop(make_in::<RoleBinding>(cluster, "evenhand", thing)),
        "PersistentVolumeClaim" => drop(make_in::<PersistentVolumeClaim>(cluster, "evenhand", thing)),
        "Deployment" => drop(make_in::<Deployment>(cluster, "evenhand", thing)),
        other => panic!("nobody here makes a {other}"),
    }
}

/// A node that is ready, with these GPUs.
pub fn node(cluster: &Cluster, name: &str, gpus: u32) {
    node_with(cluster, name, gpus, "NVIDIA-A100-SXM4-80GB");
}

/// A node that is ready, with these GPUs of this model.
pub fn node_with(cluster: &Cluster, name: &str, gpus: u32, model: &str) {
    let labels = json!({ "nvidia.com/gpu.product": model });
    make::<Node>(cluster, json!({ "metadata": { "name": name, "labels": labels } }));
    let amounts =
        json!({ "nvidia.com/gpu": gpus.to_string(), "cpu": "64", "memory": "512Gi", "pods": "110" });
    set_node(cluster, name, &json!({ "capacity": amounts, "allocatable": amounts }));
    ready(cluster, name, true);
}

/// A node becomes ready, or is lost.
pub fn ready(cluster: &Cluster, name: &str, is_ready: bool) {
    let status = if is_ready { "True" } else { "Unknown" };
    let condition = json!({ "type": "Ready", "status": status, "reason": "Played", "message": "" });
    set_node(cluster, name, &json!({ "conditions": [condition] }));
}

fn set_node(cluster: &Cluster, name: &str, status: &Value) {
    let api = Api::<Node>::all(cluster.admin.clone());
    let patch = Patch::Strategic(json!({ "status": status }));
    cluster.wait(api.patch_status(name, &PatchParams::default(), &patch)).unwrap();
}

/// A pod that asks for this scheduler and so many GPUs.
pub fn pod_spec(gpus: u32) -> Value {
    let resources = json!({ "limits": { "nvidia.com/gpu": gpus.to_string() } });
    let container = json!({ "name": "main", "image": "none", "resources": resources });
    json!({ "schedulerName": "evenhand", "restartPolicy": "Never", "containers": [container] })
}

/// A pod of a gang of ours, that runs for ever unless `run_ms` says otherwise.
pub fn gang_pod(
    cluster: &Cluster,
    gang: &str,
    index: usize,
    (size, gpus): (usize, u32),
    run_ms: Option<u64>,
) {
    let labels = json!({ "evenhand.io/gang": gang, "evenhand.io/gang-size": size.to_string() });
    let annotations = run_ms.map_or(json!({}), |ms| json!({ "test/run-ms": ms.to_string() }));
    let name = format!("{gang}-{index}");
    let metadata = json!({ "name": name, "labels": labels, "annotations": annotations });
    make_in::<Pod>(cluster, "default", json!({ "metadata": metadata, "spec": pod_spec(gpus) }));
}

/// A pod that another scheduler put on a node.
pub fn foreign_pod(cluster: &Cluster, name: &str, node: &str, gpus: u32) {
    let mut spec = pod_spec(gpus);
    spec["schedulerName"] = json!("default-scheduler");
    spec["nodeName"] = json!(node);
    make_in::<Pod>(cluster, "default", json!({ "metadata": { "name": name }, "spec": spec }));
}

/// A batch Job of so many pods that belong together, each of which runs for so long.
pub fn batch_job(cluster: &Cluster, name: &str, (pods, gpus): (u32, u32), run_ms: u64) {
    let annotations = json!({ "test/run-ms": run_ms.to_string() });
    let template = json!({ "metadata": { "annotations": annotations }, "spec": pod_spec(gpus) });
    job_of(cluster, "default", name, (pods, &template));
}

/// A batch Job of so many pods that belong together, made like this; says its UID.
pub fn job_of(cluster: &Cluster, namespace: &str, name: &str, (pods, template): (u32, &Value)) -> String {
    let spec = json!({ "parallelism": pods, "completions": pods, "template": template });
    let job = make_in::<Job>(cluster, namespace, json!({ "metadata": { "name": name }, "spec": spec }));
    job.metadata.uid.unwrap()
}

pub fn pods(client: &Client) -> Api<Pod> {
    Api::namespaced(client.clone(), "default")
}

/// The pods whose name begins like this, as they are now.
pub fn pods_of(cluster: &Cluster, prefix: &str) -> Vec<Pod> {
    let all = cluster.wait(pods(&cluster.admin).list(&kube::api::ListParams::default())).unwrap().items;
    all.into_iter().filter(|pod| pod.metadata.name.as_ref().unwrap().starts_with(prefix)).collect()
}

pub fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.node_name.clone())
}

pub fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

/// The reason and message with which a pod is said not to be scheduled.
pub fn why_waiting(pod: &Pod) -> Option<(String, String)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|it| it.type_ == "PodScheduled" && it.status == "False")?;
    Some((found.reason.clone()?, found.message.clone()?))
}
