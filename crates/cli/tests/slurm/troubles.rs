//! Twenty jobs of three tenants under `promise`, and in the middle of them a controller, a node and the server are lost.

use crate::cluster::{Cluster, after_losses, eventually, is_installed};
use crate::many::{is_done, submit_many};
use crate::server::Server;
use crate::verdict::{each_ended_once, placed_alike};
use std::thread;
use std::time::Duration;

#[test]
fn every_job_ends_once_whatever_is_lost_on_the_way() {
    if !is_installed() {
        return;
    }
    let mut cluster = Cluster::start();
    let mut server = Server::start("slurm-troubles", &cluster, "promise");
    let mut names = vec!["long".to_owned()];
    server.sbatch(&cluster, "vision", "long", &["--gres=gpu:8"], 100);
    let first = move_to_another_node(&server, &cluster);
    names.extend(submit_many(&server, &cluster, 18));
    names.extend(submit_here(&server));

    compare_placements(&server, &cluster);
    lose_everything(&mut cluster, &mut server);
    cluster.set_node(&first, "resume");
    after_losses("no job is left", || server.says(&["queue"]) == "no jobs\n");
    each_ended_once(&server, &names);
    server.replays();
}

/// Slurm then holds the job back by itself, which is no wish of anybody's.
#[test]
fn a_job_whose_prolog_fails_is_tried_again_elsewhere() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    let server = Server::start("slurm-prolog", &cluster, "fifo");
    cluster.fail_prolog(true);
    server.sbatch(&cluster, "vision", "unlucky", &["--gres=gpu:1"], 10);
    let is_closed =
        || !cluster.says("sinfo", &["-h", "-N", "-p", "evenhand", "-t", "drain", "-o", "%N"]).is_empty();
    eventually("Slurm closes the node", is_closed);
    cluster.fail_prolog(false);
    eventually("no job is left", || server.says(&["queue"]) == "no jobs\n");
    each_ended_once(&server, &["unlucky".to_owned()]);
    server.replays();
}

/// The controller, the daemon of a node, a node and the server are lost one after the other, and come back.
pub fn lose_everything(cluster: &mut Cluster, server: &mut Server) {
    cluster.kill_controller();
    thread::sleep(Duration::from_secs(3));
    cluster.restart_controller();
    // A node tells it of jobs that ended meanwhile at its next attempt, after up to 15 s. If the node were lost before that, nobody would ever know; and Slurm would run again
    // whoever ended just as the daemon or the node goes. So nobody ends until they are gone.
    server.let_nobody_end(true);
    eventually("the controller has heard of all ends", || {
        let running = cluster.says("squeue", &["-h", "-t", "running,completing", "-o", "%j"]);
        !running.is_empty() && !running.lines().any(|name| is_done(server, name))
    });
    cluster.restart_node(2);
    cluster.set_node("gpu1", "down");
    thread::sleep(Duration::from_secs(2));
    server.let_nobody_end(false);
    server.kill();
    thread::sleep(Duration::from_secs(2));
    cluster.set_node("gpu1", "resume");
    server.restart();
}

/// A job that is stopped saves, and goes on from there on another node. Says which node is closed for it.
fn move_to_another_node(server: &Server, cluster: &Cluster) -> String {
    let node = |line: &String| line.split(' ').nth(3).unwrap_or_default().to_owned();
    let starts =
        || server.told("long").into_iter().filter(|line| line.starts_with("start")).collect::<Vec<_>>();
    eventually("it runs", || !starts().is_empty());
    thread::sleep(Duration::from_secs(1));
    server.says(&["hold", "long"]);
    eventually("it has saved and left", || server.told("long").iter().any(|line| line.starts_with("left")));
    let first = node(&starts()[0]);
    cluster.set_node(&first, "drain");
    server.says(&["release", "long"]);
    eventually("it runs again", || starts().len() == 2);
    let second = &starts()[1];
    assert_ne!(node(second), first, "{:?}", server.told("long"));
    assert!(!second.starts_with("start 0 "), "it goes on where it was: {:?}", server.told("long"));
    first
}

/// Jobs that are submitted to Evenhand, not to Slurm.
fn submit_here(server: &Server) -> Vec<String> {
    let jobs = server.folder.join("jobs").display().to_string();
    let script = server.folder.join("job.sh").display().to_string();
    let submit = |name: &str| {
        server.says(&["submit", "--gpus", "2", "--name", name, "--", "sh", &script, &jobs, name, "30"]);
        name.to_owned()
    };
    ["own-a", "own-b"].map(submit).to_vec()
}

fn compare_placements(server: &Server, cluster: &Cluster) {
    let mut compared = 0;
    eventually("ten placements are compared", || {
        compared += placed_alike(server, cluster);
        compared >= 10
    });
}
