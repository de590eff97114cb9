//! What jobs print, and how long it is kept.

use crate::service::{Folder, Server, eventually};
use crate::until_running;
use std::process::{Command, Stdio};

#[test]
fn output_is_followed_to_the_end() {
    let folder = Folder::new("submit-output");
    let server = Server::start(&folder.0, &[]);
    let gate = folder.0.join("gate");
    let script = format!("echo one; while ! [ -e {} ]; do sleep 0.02; done; echo two", gate.display());
    server.says(&["submit", "--name", "talks", "--", "sh", "-c", &script]);
    eventually("it prints", || (server.says(&["output", "talks"]) == "one\n").then_some(()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.env("EVENHAND_SERVER", &server.url).env("EVENHAND_TOKEN", &server.token);
    let follows = command.args(["output", "talks", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    std::fs::write(gate, "").unwrap();
    let output = follows.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "one\ntwo\n");
    let (code, message) = server.refuses(&["output", "nobody"]);
    assert!(code == 2 && message.contains("no job `nobody`"), "{message}");
}

#[test]
fn what_ended_jobs_left_is_removed_in_time_and_nothing_else() {
    let folder = Folder::new("submit-clean");
    let server = Server::start(&folder.0, &["--keep-output", "1s", "--retries", "0"]);
    let jobs = folder.0.join("state/jobs");
    server.says(&["submit", "--", "sh", "-c", "echo done"]);
    server.says(&["submit", "--", "sh", "-c", "exit 1"]);
    server.says(&["submit", "--", "sh", "-c", "echo here; exec sleep 1000"]);
    until_running(&server, 1);
    std::fs::create_dir(jobs.join("77")).unwrap();
    std::fs::create_dir(jobs.join("notes")).unwrap();
    eventually("they are removed", || (!jobs.join("1").exists() && !jobs.join("2").exists()).then_some(()));
    assert_eq!(server.says(&["output", "3"]), "here\n", "a job that runs keeps what it printed");
    assert!(jobs.join("77").exists() && jobs.join("notes").exists(), "what is nobody's is left alone");
    assert_eq!(server.says(&["output", "1"]), "", "it is gone, and that is no error");
    server.says(&["cancel", "3"]);
    server.until_queue_is_empty();
    eventually("it follows", || (!jobs.join("3").exists()).then_some(()));
}
