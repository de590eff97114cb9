//! Many jobs of all shapes, under several policies.

use crate::cluster::{Cluster, after_losses, is_installed};
use crate::server::Server;
use crate::troubles::lose_everything;
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

/// Under each policy everything is lost once in the middle, and comes back. Takes minutes. `EVENHAND_SLURM_JOBS` says how many jobs, and
/// `EVENHAND_SLURM_POLICIES` under which policies; 60 and four policies, one of each kind, if nothing is said.
#[test]
#[ignore = "it takes minutes"]
#[expect(clippy::print_stderr, reason = "what was seen is worth reading")]
fn every_job_ends_once_under_every_kind_of_policy() {
    if !is_installed() {
        return;
    }
    let said = |name: &str| std::env::var(name).ok();
    let count = said("EVENHAND_SLURM_JOBS").and_then(|count| count.parse().ok()).unwrap_or(60);
    let policies = said("EVENHAND_SLURM_POLICIES");
    let policies = policies.unwrap_or_else(|| "promise,oef-cooperative,themis,las".to_owned());
    for policy in policies.split(',') {
        let mut cluster = Cluster::start();
        let mut server = Server::start(&format!("slurm-many-{policy}"), &cluster, policy);
        let names = submit_many(&server, &cluster, count);
        let done = |server: &Server| names.iter().filter(|name| is_done(server, name)).count();
        let compared = compare_until(&server, &cluster, || done(&server) >= count / 3);
        lose_everything(&mut cluster, &mut server);
        let compared = compared + compare_until(&server, &cluster, || done(&server) == count);
        after_losses("no job is left", || server.says(&["queue"]) == "no jobs\n");
        each_ended_once(&server, &names);
        server.replays();
        let moved = names.iter().filter(|name| went_on_elsewhere(&server, name)).count();
        eprintln!(
            "{policy}: {compared} placements compared, {moved} jobs went on from where they were on another node"
        );
    }
}

pub fn is_done(server: &Server, name: &str) -> bool {
    server.told(name).last().is_some_and(|line| line == "done")
}

/// Whether a job started on other nodes than before, and not from its beginning.
fn went_on_elsewhere(server: &Server, name: &str) -> bool {
    let told = server.told(name);
    let starts: Vec<Vec<&str>> = told.iter().map(|line| line.split(' ').collect()).collect();
    let starts: Vec<&Vec<&str>> = starts.iter().filter(|words| words[0] == "start").collect();
    starts.windows(2).any(|pair| pair[0][3] != pair[1][3] && pair[1][1] != "0")
}

/// Compares placements again and again until it holds; says how many.
fn compare_until(server: &Server, cluster: &Cluster, holds: impl Fn() -> bool) -> usize {
    let mut compared = 0;
    while !holds() {
        after_losses("a placement is compared, or it holds", || {
            let now = placed_alike(server, cluster);
            compared += now;
            now > 0 || holds()
        });
    }
    compared
}
