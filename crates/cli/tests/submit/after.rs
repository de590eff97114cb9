//! Jobs that wait for others.

use crate::jobs;
use crate::service::{Folder, Server, eventually};

fn phase(server: &Server, at: usize) -> String {
    jobs(server)[at]["phase"].as_str().unwrap().to_owned()
}

#[test]
fn a_job_waits_for_others_and_says_so() {
    let folder = Folder::new("submit-after");
    let server = Server::start(&folder.0, &[]);
    let gate = folder.0.join("gate");
    let script = format!("while ! [ -e {} ]; do sleep 0.02; done", gate.display());
    server.says(&["submit", "--name", "first", "--", "sh", "-c", &script]);
    server.says(&["submit", "--name", "second", "--after", "first", "--", "true"]);
    server.says(&["submit", "--after", "1,second", "--", "true"]);
    let listed = server.says(&["queue"]);
    assert!(listed.contains("waits for job 1") && listed.contains("waits for jobs 1 and 2"), "{listed}");
    assert_eq!(jobs(&server)[2]["after"], serde_json::json!([1, 2]));
    std::fs::write(gate, "").unwrap();
    server.until_queue_is_empty();
    assert!(jobs(&server).iter().all(|job| job["phase"] == "finished"));
    let (first, second) = (jobs(&server)[0].clone(), jobs(&server)[1].clone());
    assert!(second["started_ms"].as_u64() >= first["ended_ms"].as_u64());
    // What has ended well is not waited for.
    server.says(&["submit", "--after", "first", "--", "true"]);
    server.until_queue_is_empty();
}

#[test]
fn whoever_needs_a_good_end_that_does_not_come_is_cancelled_with_the_reason() {
    let folder = Folder::new("submit-forsaken");
    let server = Server::start(&folder.0, &["--retries", "0"]);
    let gate = folder.0.join("gate");
    let script = format!("while ! [ -e {} ]; do sleep 0.02; done; exit 3", gate.display());
    server.says(&["submit", "--name", "first", "--", "sh", "-c", &script]);
    server.says(&["submit", "--name", "well", "--after", "first", "--", "true"]);
    server.says(&["submit", "--name", "chain", "--after", "well", "--", "true"]);
    server.says(&["submit", "--name", "any", "--after-any", "first", "--", "true"]);
    std::fs::write(gate, "").unwrap();
    server.until_queue_is_empty();
    let found: Vec<String> = (0..4).map(|at| phase(&server, at)).collect();
    assert_eq!(found, ["failed", "cancelled", "cancelled", "finished"]);
    let story = server.says(&["explain", "well"]);
    assert!(story.contains("job 1 failed, and this one was to run only after it had ended well"), "{story}");
    assert!(server.says(&["explain", "chain"]).contains("job 2 was cancelled, and this one"));
    assert!(jobs(&server)[1]["why"].as_str().unwrap().contains("job 1 failed"));
    assert!(server.says(&["queue", "--all"]).contains("job 1 failed, and this one"));
    let (code, message) = server.refuses(&["submit", "--after", "first", "--", "true"]);
    assert!(code == 2 && message.contains("that failed, so this job would never run"), "{message}");
    let (code, message) = server.refuses(&["submit", "--after", "nobody", "--", "true"]);
    assert!(code == 2 && message.contains("after has nobody: there is no such job"), "{message}");
    server.says(&["submit", "--after-any", "first", "--", "true"]);
    server.until_queue_is_empty();
}

#[test]
fn a_job_may_wait_for_a_whole_array_across_a_restart() {
    let folder = Folder::new("submit-after-array");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--name", "parts", "--array", "0-2", "--", "sleep", "1000"]);
    server.says(&["submit", "--name", "sum", "--after-any", "parts", "--", "true"]);
    drop(server);
    let server = Server::start(&folder.0, &[]);
    assert!(server.says(&["queue"]).contains("waits for jobs 2, 3 and 4"));
    server.says(&["cancel", "1_0", "1_1"]);
    eventually("two are gone", || server.says(&["queue"]).contains("waits for job 4").then_some(()));
    server.says(&["cancel", "parts"]);
    server.until_queue_is_empty();
    assert_eq!(phase(&server, 3), "finished");
}

#[test]
fn too_many_pairs_are_refused_with_a_way_out() {
    let folder = Folder::new("submit-pairs");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--name", "first", "--array", "0-399", "--", "sleep", "1000"]);
    let (code, message) = server.refuses(&["submit", "--after", "first", "--array", "0-299", "--", "true"]);
    assert!(code == 2 && message.contains("after makes 120000 pairs of jobs"), "{message}");
    server.says(&["submit", "--name", "gate", "--after", "first", "--", "true"]);
    server.says(&["submit", "--name", "second", "--after", "gate", "--array", "0-299", "--", "true"]);
    // Everybody who waits falls with the first array.
    server.says(&["cancel", "first"]);
    server.until_queue_is_empty();
    assert_eq!(jobs(&server).last().unwrap()["phase"], "cancelled");
}
