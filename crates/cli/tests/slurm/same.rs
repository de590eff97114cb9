//! The same scenario, simulated and in a real Slurm.

use crate::cluster::{Cluster, eventually, is_installed};
use crate::scenario::{POLICIES, ROUND, SCENARIO, compare, figures, trace};
use crate::server::Server;
use evenhand_core::Time;
use evenhand_live::Clock;
use std::fs;
use std::thread;
use std::time::Duration;

/// What simulator and server are told an interruption costs in Slurm, in seconds: to be seen and to save, to be put back and to be running again.
const COSTS: [f64; 2] = [1.0, 2.0];

fn costs(more: f64) -> [String; 4] {
    let [save, restore] = COSTS.map(|cost| format!("{}s", cost + more));
    ["--save".to_owned(), save, "--restore".to_owned(), restore]
}

/// Takes minutes: jobs must be long beside the seconds that Slurm takes to start one.
#[test]
#[ignore = "it takes minutes"]
fn a_scenario_takes_as_long_in_slurm_as_simulated() {
    if !is_installed() {
        return;
    }
    for (policy, more) in POLICIES {
        let cluster = Cluster::start();
        let told = costs(0.0);
        let flags: Vec<&str> =
            ["--round", ROUND].into_iter().chain(told.iter().map(String::as_str)).collect();
        let server = Server::start_with(&format!("slurm-same-{policy}"), &cluster, policy, &flags);
        eventually("the machines are known", || server.says(&["nodes"]).contains("gpu3"));
        fs::write(server.folder.join("scenario.csv"), trace()).unwrap();
        let simulate = |more: &f64| {
            let costs = costs(*more);
            let mut words = vec![
                "simulate",
                "--trace",
                "scenario.csv",
                "--cluster",
                "v100=16,p100=16",
                "--policy",
                policy,
            ];
            words.extend(["--round", ROUND, "--json", "--out", "out"]);
            words.extend(costs.iter().map(String::as_str));
            figures(&server.says(&words))
        };
        let simulated: Vec<[f64; 2]> = more.iter().map(simulate).collect();
        play(&server, &cluster);
        compare(&format!("slurm, {policy}"), figures(&server.says(&["report", "--json"])), &simulated);
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
