//! The same scenario, simulated and in a real Slurm.

use crate::cluster::{Cluster, eventually, is_installed};
use crate::scenario::{ROUND, SCENARIO, compare, figures, trace};
use crate::server::Server;
use evenhand_core::Time;
use evenhand_live::Clock;
use std::fs;
use std::thread;
use std::time::Duration;

/// What the simulator is told an interruption costs in Slurm: to be seen and to save, to be put back and to be running again.
const COSTS: [&str; 4] = ["--save", "1s", "--restore", "2s"];

/// Under policies that go by what jobs have received: those that go by what is left decide otherwise where nobody sees how far a job is.
/// Takes minutes: jobs must be long beside the seconds that Slurm takes to start one.
#[test]
#[ignore = "it takes minutes"]
fn a_scenario_takes_as_long_in_slurm_as_simulated() {
    if !is_installed() {
        return;
    }
    for policy in ["fifo", "las"] {
        let cluster = Cluster::start();
        let server = Server::start_with(&format!("slurm-same-{policy}"), &cluster, policy, ROUND);
        eventually("the machines are known", || server.says(&["nodes"]).contains("gpu3"));
        fs::write(server.folder.join("scenario.csv"), trace()).unwrap();
        let words =
            ["simulate", "--trace", "scenario.csv", "--cluster", "v100=16,p100=16", "--policy", policy];
        let simulated = figures(
            &server.says(&[&words[..], &["--round", ROUND], &COSTS, &["--json", "--out", "out"]].concat()),
        );
        play(&server, &cluster);
        compare(&format!("slurm, {policy}"), figures(&server.says(&["report", "--json"])), simulated);
    }
}

fn play(server: &Server, cluster: &Cluster) {
    let clock = Clock::start();
    for (number, job) in SCENARIO.iter().enumerate() {
        thread::sleep(Duration::from_millis((1000 * job.at_s).saturating_sub(clock.now().0)));
        let gpus = format!("--gres=gpu:{}", job.gpus);
        server.sbatch(cluster, job.tenant, &format!("j{number}"), &[&gpus], 10 * job.seconds);
    }
    let is_done =
        |number: usize| server.told(&format!("j{number}")).last().is_some_and(|line| line == "done");
    for number in 0..SCENARIO.len() {
        while !is_done(number) {
            let told = server.told(&format!("j{number}"));
            assert!(clock.now() < Time(900_000), "j{number}: {told:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }
    eventually("no job is left", || server.says(&["queue"]) == "no jobs\n");
}
