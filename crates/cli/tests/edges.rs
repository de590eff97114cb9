//! What once went wrong.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod service;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::{Folder, Server, eventually};

fn phase(server: &Server, job: &str) -> String {
    let told = server.says(&["queue", "--all", "--json"]);
    let jobs: Value = serde_json::from_str(&told).unwrap();
    let rows = jobs["jobs"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == job).unwrap();
    row["phase"].as_str().unwrap().to_owned()
}

fn until_finished(server: &Server, job: &str) {
    eventually(job, || (phase(server, job) == "finished").then_some(()));
}

#[test]
fn jobs_that_say_nothing_and_save_nothing_do_not_interrupt_each_other_for_ever() {
    let folder = Folder::new("edges-endless");
    let server = Server::start_with(&folder.0, Some("promise"), &["--round", "1s"]);
    server.says(&["submit", "--name", "long", "--gpus", "2", "--", "sleep", "600"]);
    server.says(&["submit", "--name", "short", "--gpus", "4", "--", "sleep", "0.2"]);
    until_finished(&server, "short");
    server.says(&["cancel", "long"]);
    server.until_queue_is_empty();
}

#[test]
fn a_job_that_is_held_before_it_has_begun_has_not_crashed() {
    let folder = Folder::new("edges-held");
    let server = Server::start(&folder.0, &["--retries", "0"]);
    for number in 0..6 {
        let name = format!("job-{number}");
        server.says(&["submit", "--name", &name, "--", "sleep", "0.1"]);
        server.says(&["hold", &name]);
        eventually("it rests", || {
            ["held", "finished"].contains(&phase(&server, &name).as_str()).then_some(())
        });
        if phase(&server, &name) == "held" {
            server.says(&["release", &name]);
        }
        until_finished(&server, &name);
    }
}

#[test]
fn of_jobs_of_one_name_the_one_that_has_not_ended_is_meant() {
    let folder = Folder::new("edges-twins");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--name", "twin", "--", "sleep", "600"]);
    server.says(&["submit", "--name", "twin", "--", "true"]);
    eventually("the second has ended", || {
        (server.says(&["queue"]).matches("twin").count() == 1).then_some(())
    });
    assert!(server.says(&["cancel", "twin"]).contains("job 1"));
    server.until_queue_is_empty();
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let folder = Folder::new("edges-folder");
    let server = Server::start(&folder.0, &["--retries", "0"]);
    let missing = folder.0.join("missing");
    server.says(&["submit", "--name", "lost", "--dir", missing.to_str().unwrap(), "--", "true"]);
    eventually("it has failed", || (phase(&server, "lost") == "failed").then_some(()));
    assert!(!missing.exists());
    assert!(server.says(&["output", "lost"]).contains("No such file"));
}

#[test]
fn a_server_that_leaves_while_its_ledger_is_full_saves_nothing_that_was_not_recorded() {
    let folder = Folder::new("edges-full");
    let mut server = Server::start(&folder.0, &["--ledger-max", "2"]);
    server.says(&["submit", "--name", "kept", "--", "sleep", "600"]);
    let filler = "x".repeat(60_000);
    eventually("it is full", || {
        let many = ["submit", "--array", "0-99", "--gpus", "4", "--", "sleep", "600", &filler[..700]];
        (!server.run(&many).status.success()).then_some(())
    });
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.child.wait().unwrap();
    let store = rusqlite::Connection::open(folder.0.join("state/ledger.db")).unwrap();
    let most = |table: &str| -> Option<u64> {
        store.query_row(&format!("SELECT max(seq) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert!(most("saved") <= most("ledger"), "{:?} and {:?}", most("saved"), most("ledger"));
    drop(store);
    let server = Server::start(&folder.0, &["--ledger-max", "50"]);
    server.says(&["submit", "--name", "more", "--array", "0-9", "--gpus", "4", "--", "sleep", "600"]);
    drop(server);
    let server = Server::start(&folder.0, &["--ledger-max", "50", "--requests-per-second", "100000"]);
    assert_eq!(phase(&server, "kept"), "running");
    end_everything(&server);
}

fn end_everything(server: &Server) {
    loop {
        let told = server.says(&["queue", "--json", "--limit", "1000"]);
        let jobs: Value = serde_json::from_str(&told).unwrap();
        let numbers: Vec<String> =
            jobs["jobs"].as_array().unwrap().iter().map(|row| row["id"].to_string()).collect();
        if numbers.is_empty() {
            return;
        }
        // What is being stopped is still listed, and may have gone meanwhile.
        let words: Vec<&str> = ["cancel"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        server.run(&words);
    }
}
