//! Jobs that hide: what they left running is gone when their lease has ended, whoever was killed meanwhile.

use crate::eventually::eventually;
use crate::server::Server;
use crate::skipped::skipped;
use evenhand_live::Cgroups;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::path::Path;

/// A job that leaves a process behind: of another session, with another parent, with nothing in its environment that tells whose it is.
struct Hidden {
    server: Server,
    job: u64,
    mark: String,
}

/// Whether the service may make groups here; says so if not.
fn has_groups() -> bool {
    match Cgroups::find() {
        Ok(_) => true,
        Err(error) => {
            skipped(&format!("no cgroups for jobs: {error}"));
            false
        }
    }
}

impl Hidden {
    fn start(test: &str) -> Self {
        let server = Server::start(test, &["--retries", "0"]);
        // Unlike the argument of any other.
        let mark = format!("1000.{}{}", std::process::id(), test.len());
        let program = format!("env -i setsid sh -c 'sleep {mark} & exit 0' & sleep 1000");
        let job = server.submit(&server.admin, &json!({"argv": ["sh", "-c", program]}));
        let hidden = Self { server, job, mark };
        eventually("it hides", || hidden.process());
        eventually("it runs", || (hidden.row()["phase"] == "running").then_some(()));
        hidden
    }

    fn row(&self) -> Value {
        self.server.get(&format!("/v1/jobs/{}", self.job), &self.server.admin).json()
    }

    /// The process that hides, if it lives.
    fn process(&self) -> Option<Pid> {
        let words = format!("sleep\0{}\0", self.mark);
        let pids = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let found = pids.filter_map(|pid| pid.parse().ok()).find(|pid: &i32| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == words.as_bytes())
        });
        found.and_then(Pid::from_raw)
    }

    fn lease(&self) -> String {
        format!("{}/leases/{}", self.server.state.display(), self.row()["lease"])
    }

    fn group(&self) -> String {
        let order = std::fs::read(format!("{}/order.json", self.lease())).unwrap();
        serde_json::from_slice::<Value>(&order).unwrap()["cgroup"].as_str().unwrap().to_owned()
    }

    fn until_nothing_is_left(&self, phase: &str, group: &str) {
        eventually("it has ended", || (self.row()["phase"] == phase).then_some(()));
        assert_eq!(self.process(), None, "gone before its end is told");
        assert!(!Path::new(group).exists(), "{group}");
    }
}

fn kill_supervisor(lease: &str) {
    let claim = std::fs::read(format!("{lease}/claim.json")).unwrap();
    let claim: Value = serde_json::from_slice(&claim).unwrap();
    let pid = Pid::from_raw(claim["pid"].as_i64().unwrap() as i32).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn what_hides_is_gone_after_a_cancel() {
    if !has_groups() {
        return;
    }
    let hidden = Hidden::start("hidden");
    let group = hidden.group();
    hidden.server.post(&format!("/v1/jobs/{}/cancel", hidden.job), &hidden.server.admin, &Value::Null);
    eventually("its group is gone", || (!Path::new(&group).exists()).then_some(()));
    hidden.until_nothing_is_left("cancelled", &group);
}

#[test]
fn what_hides_is_gone_when_its_supervisor_was_killed() {
    if !has_groups() {
        return;
    }
    let hidden = Hidden::start("orphaned");
    let group = hidden.group();
    kill_supervisor(&hidden.lease());
    hidden.until_nothing_is_left("failed", &group);
}

#[test]
fn what_hides_is_found_by_a_server_that_was_not_there_when_its_supervisor_was_killed() {
    if !has_groups() {
        return;
    }
    let mut hidden = Hidden::start("adopted-orphan");
    let group = hidden.group();
    let lease = hidden.lease();
    hidden.server.kill();
    kill_supervisor(&lease);
    assert!(hidden.process().is_some(), "nobody is there who could have killed it");
    hidden.server.start_again();
    hidden.until_nothing_is_left("failed", &group);
}

#[test]
fn a_limit_of_the_whole_job_is_kept_or_the_job_is_not_run() {
    let server = Server::start("limited", &["--retries", "0"]);
    let program = "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait; echo all";
    let body = json!({"argv": ["sh", "-c", program], "limits": {"job_processes": 4}});
    let job = server.submit(&server.admin, &body);
    eventually("it has ended", || {
        server.get(&format!("/v1/jobs/{job}"), &server.admin).json()["ended_ms"].as_u64()
    });
    let said = server.get(&format!("/v1/jobs/{job}/output"), &server.admin).body;
    assert!(said.contains("limits.job_processes cannot be kept") || said.contains("fork"), "{said}");
    if said.contains("cannot be kept") {
        skipped(&format!("a limit on processes: {}", said.trim()));
    }
    let refused = server.post("/v1/jobs", &server.admin, &json!({"argv": ["x"], "limits": {"job_cpus": 0}}));
    assert_eq!(refused.status, 422);
}
