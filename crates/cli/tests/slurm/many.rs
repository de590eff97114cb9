//! Many jobs of all shapes, under several policies.

use crate::cluster::{Cluster, eventually, is_installed};
use crate::server::Server;
use crate::verdict::{each_ended_once, placed_alike};

const TENANTS: [&str; 3] = ["vision", "speech", "robots"];

/// Submits so many jobs of all shapes to Slurm, and says what they are called.
pub fn submit_many(server: &Server, cluster: &Cluster, count: usize) -> Vec<String> {
    let shapes: [&[&str]; 3] =
        [&["--gres=gpu:2"], &["--gpus-per-node=v100:4"], &["-N2", "--gres=gpu:p100:4"]];
    let mut names = Vec::new();
    for number in 0..count {
        let (tenant, shape) = (TENANTS[number % 3], shapes[(number / 3) % 3]);
        let name = format!("{tenant}-{number}");
        server.sbatch(cluster, tenant, &name, shape, 60 + 10 * (number as u32 % 5));
        names.push(name);
    }
    names
}

/// Takes minutes. `EVENHAND_SLURM_JOBS` says how many jobs; 60 if nothing is said.
#[test]
#[ignore = "it takes minutes"]
fn every_job_ends_once_under_every_kind_of_policy() {
    if !is_installed() {
        return;
    }
    let count = std::env::var("EVENHAND_SLURM_JOBS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    for policy in ["promise", "oef-cooperative", "themis", "las"] {
        let cluster = Cluster::start();
        let server = Server::start(&format!("slurm-many-{policy}"), &cluster, policy);
        let names = submit_many(&server, &cluster, count);
        let all_done =
            || names.iter().all(|name| server.told(name).last().is_some_and(|line| line == "done"));
        while !all_done() {
            eventually("a placement is compared, or no job is left", || {
                placed_alike(&server, &cluster) > 0 || all_done()
            });
        }
        eventually("no job is left", || server.says(&["queue"]) == "no jobs\n");
        each_ended_once(&server, &names);
        server.replays();
    }
}
