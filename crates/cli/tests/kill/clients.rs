//! Submitters who do not give up: each submission is repeated under its key until it is acknowledged.

use super::server::{address, bearer, until};
use evenhand_core::Random;
use evenhand_live::Clock;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A job that notices if it, or one of its GPUs, is taken twice, and that saves after every step.
const JOB: &str = include_str!("job.sh");

/// How much there is to do.
#[derive(Clone, Copy)]
pub struct Load {
    pub jobs: u32,
    pub kills: u32,
    pub seed: u64,
}

/// A thread that submits everything, one after the other: jobs, arrays, jobs that wait for these, jobs of apps.
pub struct Clients {
    thread: JoinHandle<BTreeMap<String, Vec<u64>>>,
}

impl Clients {
    pub fn start(folder: &Path, load: Load) -> Self {
        let folder = folder.to_owned();
        let submit_all = move || {
            // The first half of the time that the kills take.
            let pause = Duration::from_millis(150 * u64::from(load.kills) / u64::from(load.jobs));
            let submit = |(key, body): (String, Value)| {
                thread::sleep(pause);
                let jobs = until_acknowledged(&folder, &key, &body);
                (key, jobs)
            };
            submissions(&folder, load).into_iter().map(submit).collect()
        };
        Self { thread: thread::spawn(submit_all) }
    }

    /// The jobs of every key, once all are acknowledged.
    pub fn finish(self, patience: Duration) -> BTreeMap<String, Vec<u64>> {
        let clock = Clock::start();
        while !self.thread.is_finished() {
            assert!(clock.now() < until(patience), "submissions are not acknowledged");
            thread::sleep(Duration::from_millis(10));
        }
        self.thread.join().unwrap()
    }
}

fn name(number: u32) -> String {
    format!("work-{number:04}")
}

/// What is submitted, by key: the same whenever it is asked for.
fn submissions(folder: &Path, load: Load) -> BTreeMap<String, Value> {
    let mut random = Random::stream(load.seed, "jobs");
    // A kill takes about 0.35 s, a step 0.05 s; a job takes 2 of 8 GPUs in the mean: the work is to last as long as the kills.
    let steps_mean = 28 * u64::from(load.kills) / u64::from(load.jobs);
    let submission = |number| {
        let is_array = number % 4 == 1;
        let steps = 1 + random.below(2 * steps_mean) / if is_array { 3 } else { 1 };
        let gpus = [1, 1, 2, 4][random.below(4) as usize];
        let (tenant, folder) = (format!("tenant-{}", random.below(3)), folder.display().to_string());
        let argv = ["bash", "-c", JOB, "job", &folder, &steps.to_string()];
        let mut body =
            json!({"argv": argv, "gpus": gpus, "tenant": tenant, "steps": steps, "steps_per_second": 20});
        body["name"] = json!(name(number));
        match number % 4 {
            1 => body["array"] = json!("0-2%2"),
            2 => body["after"] = json!([name(number - 1)]),
            3 => body["app"] = json!("search"),
            _ => {}
        }
        (format!("key-{number:04}"), body)
    };
    (0..load.jobs).map(submission).collect()
}

fn until_acknowledged(folder: &Path, key: &str, body: &Value) -> Vec<u64> {
    loop {
        if let Some(jobs) = submit(folder, key, body) {
            return jobs;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The job, or the jobs of the array.
fn submit(folder: &Path, key: &str, body: &Value) -> Option<Vec<u64>> {
    let url = format!("http://{}/v1/jobs", address(folder)?);
    let request = ureq::post(url).header("authorization", bearer(folder)).header("idempotency-key", key);
    let mut answer = request.send_json(body).ok()?;
    let answer = answer.body_mut().read_json::<Value>().ok()?;
    match answer["jobs"].as_array() {
        Some(jobs) => jobs.iter().map(Value::as_u64).collect(),
        None => Some(vec![answer["job"].as_u64()?]),
    }
}

pub fn same_keys_are_the_same_jobs(folder: &Path, acknowledged: &BTreeMap<String, Vec<u64>>, load: Load) {
    for (key, body) in submissions(folder, load) {
        assert_eq!(submit(folder, &key, &body), acknowledged.get(&key).cloned(), "{key}");
    }
}
