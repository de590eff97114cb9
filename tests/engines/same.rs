//! One scenario for every engine: what it takes there, and what it takes simulated.

use std::fmt::Write as _;

/// A job of the scenario.
pub struct Job {
    /// When it comes, in seconds.
    pub at_s: u64,
    pub tenant: &'static str,
    pub gpus: u32,
    /// How long it takes by itself.
    pub seconds: u32,
}

const fn job(at_s: u64, tenant: &'static str, gpus: u32, seconds: u32) -> Job {
    Job { at_s, tenant, gpus, seconds }
}

/// On four nodes of eight GPUs. Jobs are long beside the second or two that an engine takes to start one.
pub const SCENARIO: [Job; 12] = [
    job(0, "vision", 8, 60),
    job(0, "vision", 8, 75),
    job(1, "speech", 8, 60),
    job(2, "robots", 8, 90),
    job(4, "speech", 4, 45),
    job(6, "robots", 4, 60),
    job(8, "vision", 2, 40),
    job(15, "speech", 2, 40),
    job(25, "robots", 8, 50),
    job(30, "vision", 4, 45),
    job(40, "speech", 8, 60),
    job(45, "robots", 2, 60),
];

/// Time between two rounds: long beside what an interruption costs.
pub const ROUND: &str = "20s";

/// The scenario as a trace for the simulator. Jobs declare ten steps a second.
pub fn trace() -> String {
    let mut text = "job_id,submit_s,gpus,duration_s,tenant,steps\n".to_owned();
    for (number, job) in SCENARIO.iter().enumerate() {
        let Job { at_s, tenant, gpus, seconds } = job;
        let _ = writeln!(text, "j{number},{at_s},{gpus},{seconds},{tenant},{}", 10 * seconds);
    }
    text
}

/// The end of all, and the mean time from submission to end, in seconds, as `--json` tells them.
pub fn figures(json: &str) -> [f64; 2] {
    let summary: serde_json::Value = serde_json::from_str(json).unwrap();
    ["makespan_s", "jct_mean_s"].map(|name| summary[name].as_f64().unwrap())
}

/// Both within a twentieth of what was simulated.
#[expect(clippy::print_stderr, reason = "the figures are what it is run for")]
pub fn compare(what: &str, live: [f64; 2], simulated: [f64; 2]) {
    for ((name, live), simulated) in ["makespan", "mean time"].iter().zip(live).zip(simulated) {
        let off = 100.0 * (live / simulated - 1.0);
        eprintln!("{what}: {name} {live:.1} s live, {simulated:.1} s simulated ({off:+.1} %)");
        assert!(off.abs() <= 5.0, "{what}: {name} is {live:.1} s live and {simulated:.1} s simulated");
    }
}
