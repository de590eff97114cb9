//! The service as people use it: a server, a client, and what happens when there is no room.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod service;

use service::{Folder, Server};
use std::process::Command;

#[test]
fn a_job_is_submitted_listed_explained_and_cancelled() {
    let folder = Folder::new("serve-story");
    let server = Server::start(&folder.0, &[]);
    assert_eq!(
        server.says(&[
            "submit",
            "--gpus",
            "2",
            "--name",
            "hello",
            "--",
            "sh",
            "-c",
            "echo $GREETING; exit 0",
            "x"
        ]),
        "job 1\n"
    );
    server.until_queue_is_empty();
    let story = server.says(&["explain", "hello"]);
    assert!(story.contains("is given 2 GPUs on 1 node") && story.contains("finished"), "{story}");
    assert_eq!(server.says(&["submit", "--key", "k", "--", "sleep", "1000"]), "job 2\n");
    assert_eq!(server.says(&["submit", "--key", "k", "--", "sleep", "1000"]), "job 2 (submitted before)\n");
    assert_eq!(server.says(&["cancel", "2"]), "job 2 is being ended\n");
    server.until_queue_is_empty();
    let all = server.says(&["queue", "--all", "--json"]);
    let page: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!(page["jobs"][0]["phase"], "finished");
    assert_eq!(page["jobs"][1]["phase"], "cancelled");
    let (code, message) = server.refuses(&["submit", "--gpus", "5", "--", "true"]);
    assert!(code == 2 && message.contains("gpus is 5"), "{message}");
    let (code, message) = server.refuses(&["submit", "--key", "k", "--", "sleep", "1"]);
    assert!(code == 2 && message.contains("another content"), "{message}");
    let (code, message) = server.refuses(&["explain", "nobody"]);
    assert!(code == 2 && message.contains("no job `nobody`"), "{message}");
}

#[test]
fn a_described_job_sees_what_it_was_given() {
    let folder = Folder::new("serve-file");
    let described =
        "name = \"n\"\nargv = [\"sh\", \"-c\", \"echo $SEED in $(pwd)\"]\n[environment]\nSEED = \"7\"\n";
    let server = Server::start(&folder.0, &[]);
    let file = folder.0.join("job.toml").display().to_string();
    std::fs::write(&file, described).unwrap();
    assert_eq!(server.says(&["submit", &file, "--dir", &folder.0.display().to_string()]), "job 1\n");
    server.until_queue_is_empty();
    let output = std::fs::read_to_string(folder.0.join("state/jobs/1/output.log")).unwrap();
    assert_eq!(output, format!("7 in {}\n", folder.0.canonicalize().unwrap().display()));
}

#[test]
fn a_ledger_without_room_refuses_new_work_and_loses_nothing() {
    let folder = Folder::new("serve-full");
    let mut accepted = Vec::new();
    {
        let server = Server::start(&folder.0, &["--ledger-max", "1"]);
        let big = "x".repeat(50_000);
        let refused = (0..40).find_map(|_| {
            let output = server.run(&["submit", "--", "sh", "-c", "exit 0", &big]);
            accepted.extend(output.status.success().then(|| String::from_utf8(output.stdout).unwrap()));
            (!output.status.success())
                .then(|| (output.status.code(), String::from_utf8(output.stderr).unwrap()))
        });
        let (code, message) = refused.expect("a megabyte is full at some time");
        assert_eq!(code, Some(1), "{message}");
        assert!(message.contains("full") && message.contains("nothing was accepted"), "{message}");
        assert!(!accepted.is_empty());
        assert!(server.says(&["queue", "--all"]).contains("job"), "looking still works");
    }
    let server = Server::start(&folder.0, &[]);
    server.until_queue_is_empty();
    let all = server.says(&["queue", "--all", "--json"]);
    let page: serde_json::Value = serde_json::from_str(&all).unwrap();
    let jobs = page["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), accepted.len(), "those that were accepted and no others");
}

#[test]
fn a_copy_of_the_store_is_a_service_like_it() {
    let folder = Folder::new("serve-copy");
    let (state, copy) = (folder.0.join("state"), folder.0.join("copy.db").display().to_string());
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--name", "before", "--", "true"]);
    server.until_queue_is_empty();
    server.says(&["backup", "--state", &state.display().to_string(), &copy]);
    let over = server.refuses(&["restore", &copy, "--state", &state.display().to_string()]);
    assert!(over.0 == 2 && over.1.contains("a service may be using it"), "{over:?}");
    let again = server.refuses(&["backup", "--state", &state.display().to_string(), &copy]);
    assert!(again.0 == 2 && again.1.contains("is there already"), "{again:?}");
    drop(server);
    let elsewhere = folder.0.join("elsewhere");
    let restored = elsewhere.join("state").display().to_string();
    let restore = |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_evenhand")).args(words).output().unwrap();
    assert!(restore(&["restore", &copy, "--state", &restored]).status.success());
    assert_eq!(
        restore(&["restore", &copy, "--state", &restored]).status.code(),
        Some(2),
        "it has a ledger now"
    );
    let server = Server::start(&elsewhere, &[]);
    assert!(server.says(&["explain", "before"]).contains("finished"));
}

#[test]
fn what_does_not_fit_is_said_before_anything_is_done() {
    let folder = Folder::new("serve-wrong");
    let state = folder.0.join("state").display().to_string();
    drop(Server::start(&folder.0, &[]));
    let refused = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_evenhand")).args(words).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) =
        refused(&["serve", "--state", &state, "--listen", "127.0.0.1:0", "--fake-gpus", "v100=2"]);
    assert!(code == 2 && message.contains("other machines"), "{message}");
    let nobody = folder.0.join("nobody").display().to_string();
    let (code, message) =
        refused(&["serve", "--state", &nobody, "--listen", "0.0.0.0:0", "--fake-gpus", "v100=4"]);
    assert!(code == 2 && message.contains("evenhand token add"), "{message}");
    let (code, message) = refused(&["queue", "--server", "http://127.0.0.1:9"]);
    assert!(code == 1 && message.contains("is `evenhand serve` running there?"), "{message}");
    let (code, message) = refused(&["submit"]);
    assert!(code == 2 && message.contains("after --"), "{message}");
    let file = folder.0.join("job.toml").display().to_string();
    std::fs::write(&file, "argv = [\"true\"]\nsteps_per_second = inf\n").unwrap();
    for (words, expected) in [
        (["submit", "--steps", "nan", "--", "true"].as_slice(), "steps is not a number"),
        (&["submit", &file], "steps_per_second is not a number"),
        (&["submit", "--gpus", "-1", "--", "true"], "at least 1"),
    ] {
        let (code, message) = refused(words);
        assert!(code == 2 && message.contains(expected), "{words:?}: {message}");
    }
}
