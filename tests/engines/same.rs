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

/// A policy, and how much more or less an interruption may cost than was said, in seconds. `promise` weighs it against what is to be gained, so that half a
/// second decides who is interrupted: simulated alone, that makes a tenth of the makespan.
pub const POLICIES: [(&str, &[f64]); 3] = [("fifo", &[0.0]), ("las", &[0.0]), ("promise", &[0.0, -0.5, 0.5])];

/// Both within a twentieth of what was simulated, one way or another.
#[expect(clippy::print_stderr, reason = "the figures are what it is run for")]
pub fn compare(what: &str, live: [f64; 2], simulated: &[[f64; 2]]) {
    let off = |simulated: &[f64; 2]| [0, 1].map(|at| 100.0 * (live[at] / simulated[at] - 1.0));
    for simulated in simulated {
        let ([end, mean], [end_off, mean_off]) = (simulated, off(simulated));
        eprintln!(
            "{what}: makespan {:.1} s live, {end:.1} s simulated ({end_off:+.1} %); mean time {:.1} s live, {mean:.1} s simulated ({mean_off:+.1} %)",
            live[0], live[1]
        );
    }
    let is_near = |simulated: &[f64; 2]| off(simulated).iter().all(|off| off.abs() <= 5.0);
    assert!(simulated.iter().any(is_near), "{what}: {live:?} s live and {simulated:?} s simulated");
}
