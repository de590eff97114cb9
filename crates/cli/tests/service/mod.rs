//! A server of this binary and a client of it, for tests.

#![allow(dead_code, reason = "no test needs all of it")]

mod eventually;

pub use eventually::eventually;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// An empty folder for one test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

pub struct Server {
    pub child: Child,
    pub url: String,
    pub token: String,
}

impl Server {
    /// Under `fifo`, on four GPUs.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        Self::start_with(folder, Some("fifo"), flags)
    }

    /// Under this policy, or whichever it had before.
    pub fn start_with(folder: &Path, policy: Option<&str>, flags: &[&str]) -> Self {
        let state = folder.join("state");
        let _ = std::fs::remove_file(state.join("address"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--fake-gpus", "v100=4"]);
        command.args(policy.into_iter().flat_map(|policy| ["--policy", policy])).arg("--state");
        command.arg(&state).args(flags).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let address =
            eventually("the server listens", || std::fs::read_to_string(state.join("address")).ok());
        let token = std::fs::read_to_string(state.join("token")).unwrap();
        Self { child, url: format!("http://{address}"), token }
    }

    pub fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.env("EVENHAND_SERVER", &self.url).env("EVENHAND_TOKEN", &self.token);
        command.args(words).output().unwrap()
    }

    pub fn says(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The exit code and the message.
    pub fn refuses(&self, words: &[&str]) -> (i32, String) {
        let output = self.run(words);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    pub fn until_queue_is_empty(&self) {
        eventually("no job is left", || (self.says(&["queue"]) == "no jobs\n").then_some(()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
