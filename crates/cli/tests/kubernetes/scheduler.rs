//! The scheduler as a process that can be killed.

use crate::cluster::until;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub struct Scheduler {
    child: Child,
    state: PathBuf,
}

impl Scheduler {
    /// Starts one and waits until it serves.
    pub fn start(kubeconfig: &Path, state: &Path, more: &[&str]) -> Self {
        let scheduler = Self::spawn(kubeconfig, state, more);
        let address = state.join("address");
        until(60, "the scheduler serves", || address.exists());
        scheduler
    }

    /// Starts one that may have to wait for another.
    pub fn spawn(kubeconfig: &Path, state: &Path, more: &[&str]) -> Self {
        // What an earlier one left would be taken for its own.
        let _ = std::fs::remove_file(state.join("address"));
        let log = kubeconfig.with_extension("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = Command::new("setpriv");
        command.args([
            "--pdeathsig",
            "KILL",
            env!("CARGO_BIN_EXE_evenhand"),
            "serve",
            "--kubernetes",
            "--kubeconfig",
        ]);
        command.arg(kubeconfig).arg("--state").arg(state).args(["--listen", "127.0.0.1:0"]);
        command.args(["--retry-delay", "1s", "--grace", "2s"]).args(more);
        if !more.contains(&"--round") {
            command.args(["--round", "2s"]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Self { child: command.spawn().unwrap(), state: state.to_owned() }
    }

    /// Ends it without a chance to tidy up.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// A command of a client of it, run in this folder.
    pub fn run(&self, folder: &Path, words: &[&str]) -> Output {
        let read = |name: &str| std::fs::read_to_string(self.state.join(name)).unwrap_or_default();
        Command::new(env!("CARGO_BIN_EXE_evenhand"))
            .args(words)
            .env("EVENHAND_SERVER", format!("http://{}", read("address").trim()))
            .env("EVENHAND_TOKEN", read("token").trim())
            .current_dir(folder)
            .output()
            .unwrap()
    }

    /// What a command that goes well says.
    pub fn says(&self, folder: &Path, words: &[&str]) -> String {
        let output = self.run(folder, words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Its figures for Prometheus; nothing while it does not answer.
    pub fn metrics(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.state.join(name)).unwrap_or_default();
        let Ok(mut stream) = TcpStream::connect(read("address").trim()) else { return String::new() };
        let token = read("token");
        let request = format!(
            "GET /v1/metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            token.trim()
        );
        let mut text = String::new();
        let asked = stream.write_all(request.as_bytes());
        asked.and_then(|()| stream.read_to_string(&mut text)).map_or_else(|_| String::new(), |_| text)
    }

    /// All its jobs, ended ones too.
    pub fn jobs(&self) -> Vec<Value> {
        let output = self.run(&self.state, &["queue", "--all", "--limit", "1000", "--json"]);
        let page: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        page["jobs"].as_array().cloned().unwrap_or_default()
    }

    /// Jobs in this phase.
    pub fn count(&self, phase: &str) -> usize {
        self.jobs().iter().filter(|job| job["phase"] == phase).count()
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
