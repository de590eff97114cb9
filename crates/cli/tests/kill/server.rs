//! The server, and what runs under it, as the operating system sees them.

use evenhand_core::{Random, Time};
use evenhand_live::Clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A running server.
pub struct Server {
    child: Child,
    folder: PathBuf,
}

/// Where the server of a folder listens, if one was ever started there.
pub fn address(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("state/address")).ok()
}

/// What says who asks: the token that the first server of a folder made.
pub fn bearer(folder: &Path) -> String {
    format!("Bearer {}", fs::read_to_string(folder.join("state/token")).unwrap_or_default())
}

impl Server {
    /// Starts one and waits until it answers.
    pub fn start(folder: &Path, policy: &str) -> Self {
        let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("server.log")).unwrap();
        let words =
            "serve --listen 127.0.0.1:0 --fake-gpus v100=4,p100=4 --round 1s --grace 2s --retries 1000";
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.args(words.split(' ')).args(["--retry-delay", "100ms", "--policy", policy]);
        command.arg("--state").arg(folder.join("state"));
        let _ = fs::remove_file(folder.join("state/address"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut server = Self { child, folder: folder.to_owned() };
        let clock = Clock::start();
        while server.get("/v1/health").is_none() {
            let log = || fs::read_to_string(folder.join("server.log")).unwrap_or_default();
            assert!(server.child.try_wait().unwrap().is_none(), "the server is gone: {}", log());
            assert!(clock.now() < Time(60_000), "the server does not answer: {}", log());
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to leave, and waits until it has.
    pub fn leave(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        get(&self.folder, path)
    }

    /// The whole ledger, as it is exported.
    pub fn ledger(&self) -> String {
        let url = format!("http://{}/v1/ledger", address(&self.folder).unwrap());
        let request = ureq::get(url).header("authorization", bearer(&self.folder));
        request.call().unwrap().body_mut().with_config().limit(1 << 30).read_to_string().unwrap()
    }

    /// Supervisors that run: their lease and their number.
    pub fn supervisors(&self) -> Vec<(u64, i32)> {
        let prefix = format!("{}/state/leases/", self.folder.display());
        let mut found = Vec::new();
        for pid in everybody() {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = words.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
            // A launcher has more words and is about to become the job.
            if let [_, supervise, lease, _] = &words[..]
                && supervise == "supervise"
                && let Some(lease) = lease.strip_prefix(&prefix)
            {
                found.push((lease.parse().unwrap(), pid));
            }
        }
        found.sort_unstable();
        found
    }

    /// Programs of jobs that run.
    fn programs(&self) -> Vec<i32> {
        let own = self.folder.display().to_string();
        let is_own = |pid: &i32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.starts_with(b"bash\0-c\0")
                && words.split(|byte| *byte == 0).any(|word| word == own.as_bytes())
        };
        everybody().filter(is_own).collect()
    }

    pub fn kill_a_job(&self, random: &mut Random) -> bool {
        kill_one(&self.programs(), random)
    }

    pub fn kill_a_supervisor(&self, random: &mut Random) -> bool {
        kill_one(&self.supervisors().into_iter().map(|(_, pid)| pid).collect::<Vec<_>>(), random)
    }

    /// Leases that hold GPUs, according to the service.
    fn leases(&self) -> BTreeSet<u64> {
        let page = self.get("/v1/jobs?phase=starting,running,stopping&limit=1000").unwrap_or_default();
        page["jobs"].as_array().into_iter().flatten().filter_map(|job| job["lease"].as_u64()).collect()
    }

    /// What runs is what the ledger says, apart from what is just beginning or ending.
    pub fn until_ledger_and_processes_agree(&self, patience: Duration) {
        let clock = Clock::start();
        loop {
            let running: BTreeSet<u64> = self.supervisors().into_iter().map(|(lease, _)| lease).collect();
            let leased = self.leases();
            if running == leased {
                return;
            }
            assert!(
                clock.now() < until(patience),
                "supervisors of leases {running:?}, but leases {leased:?}"
            );
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn until_all_jobs_ended(&self, patience: Duration) {
        let clock = Clock::start();
        loop {
            let page = self.get("/v1/jobs?phase=queued,held,starting,running,stopping&limit=1000");
            if page.as_ref().is_some_and(|page| page["jobs"].as_array().is_some_and(Vec::is_empty)) {
                return;
            }
            assert!(clock.now() < until(patience), "jobs are left: {page:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the server of a folder answers, if it does.
pub fn get(folder: &Path, path: &str) -> Option<Value> {
    let url = format!("http://{}{path}", address(folder)?);
    ureq::get(url).header("authorization", bearer(folder)).call().ok()?.body_mut().read_json().ok()
}

fn everybody() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn kill_one(pids: &[i32], random: &mut Random) -> bool {
    let Some(pid) = (!pids.is_empty()).then(|| pids[random.below(pids.len() as u64) as usize]) else {
        return false;
    };
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).is_ok()
}

/// When patience is over, for a clock that was just started.
pub fn until(patience: Duration) -> Time {
    Time(patience.as_millis() as u64)
}
