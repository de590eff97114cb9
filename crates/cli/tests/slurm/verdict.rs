//! What must hold in the middle, and when all is over.

use crate::cluster::Cluster;
use crate::server::Server;
use serde_json::Value;
use std::collections::BTreeMap;

/// The nodes of each job that runs, by its name.
type Placement = BTreeMap<String, Vec<String>>;

/// Every job ran to its end exactly once, and never twice at a time.
pub fn each_ended_once(server: &Server, names: &[String]) {
    for name in names {
        let told = server.told(name);
        let count = |word: &str| told.iter().filter(|line| line.starts_with(word)).count();
        assert_eq!(count("done"), 1, "{name}: {told:?}");
        assert_eq!(count("twice"), 0, "{name}: {told:?}");
        assert_eq!(told.last().map(String::as_str), Some("done"), "{name}: {told:?}");
    }
}

/// Slurm has every job that runs on exactly the nodes of its lease. Says how many jobs were compared.
pub fn placed_alike(server: &Server, cluster: &Cluster) -> usize {
    let (before, theirs, after) = (ours(server), theirs(cluster), ours(server));
    // What started, moved or ended between two looks is compared another time.
    let steady = before.iter().filter(|(name, nodes)| after.get(*name) == Some(nodes));
    let both = steady.filter_map(|(name, nodes)| Some((name, nodes, theirs.get(name)?)));
    both.map(|(name, ours, theirs)| assert_eq!(ours, theirs, "{name}")).count()
}

fn ours(server: &Server) -> Placement {
    let read = |words: &[&str]| serde_json::from_str::<Value>(&server.says(words)).unwrap();
    let (nodes, jobs) = (read(&["nodes", "--json"]), read(&["queue", "--json"]));
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let names: BTreeMap<u64, String> = list(&jobs, "jobs")
        .iter()
        .filter_map(|job| Some((job["id"].as_u64()?, job["name"].as_str()?.to_owned())))
        .collect();
    let mut placement = Placement::new();
    for node in list(&nodes, "nodes") {
        for job in list(&node, "jobs").iter().filter_map(Value::as_u64) {
            let name = names.get(&job).cloned().unwrap_or_default();
            placement.entry(name).or_default().push(node["name"].as_str().unwrap_or_default().to_owned());
        }
    }
    placement
}

fn theirs(cluster: &Cluster) -> Placement {
    let listed = cluster.says("squeue", &["-h", "-t", "running", "-p", "evenhand-run", "-o", "%j %N"]);
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    let nodes = |list: &str| {
        let names = cluster.says("scontrol", &["show", "hostnames", list.trim()]);
        names.lines().map(str::to_owned).collect()
    };
    pairs.map(|(name, list)| (name.to_owned(), nodes(list))).collect()
}
