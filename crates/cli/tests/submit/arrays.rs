//! Many jobs from one description.

use crate::service::{Folder, Server, eventually};
use crate::{jobs, json, phases, until_running};
use serde_json::json as value;

#[test]
fn every_job_of_an_array_knows_which_it_is() {
    let folder = Folder::new("submit-array");
    let server = Server::start(&folder.0, &[]);
    let script = "echo $EVENHAND_ARRAY $EVENHAND_ARRAY_INDEX";
    let words = ["submit", "--name", "sweep", "--array", "1,3,5-6", "--key", "k", "--", "sh", "-c", script];
    assert_eq!(server.says(&words), "array 1: jobs 2 to 5\n");
    assert_eq!(server.says(&words), "array 1: jobs 2 to 5 (submitted before)\n");
    server.until_queue_is_empty();
    let names: Vec<_> = jobs(&server).iter().map(|job| job["name"].clone()).collect();
    assert_eq!(names, ["sweep-1", "sweep-3", "sweep-5", "sweep-6"]);
    assert_eq!(server.says(&["output", "1_5"]), "1 5\n");
    assert_eq!(server.says(&["logs", "sweep-6"]), "1 6\n");
    let story = server.says(&["explain", "sweep"]);
    assert!(story.contains("1_3 (job 3) finished"), "{story}");
    assert!(server.says(&["explain", "1_3"]).contains("submitted as 1_3, 1 GPU"));
    let (code, message) = server.refuses(&["output", "1"]);
    assert!(code == 2 && message.contains("1 is an array"), "{message}");
    assert_eq!(server.says(&["submit", "--", "true"]), "job 6\n", "numbers go on after those of the array");
}

#[test]
fn an_array_is_held_released_and_cancelled_as_one() {
    let folder = Folder::new("submit-array-verbs");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--array", "0-5", "--name", "a", "--", "sleep", "1000"]);
    until_running(&server, 4);
    assert_eq!(server.says(&["cancel", "1_0"]), "job 2 is being ended\n");
    eventually("one is gone", || (phases(&server)[0] == "cancelled").then_some(()));
    assert_eq!(server.says(&["hold", "a"]), "array 1: 5 jobs are held\n");
    eventually("all are held", || (phases(&server)[1..] == ["held"; 5]).then_some(()));
    assert_eq!(server.says(&["release", "1"]), "array 1: 5 jobs may run\n");
    until_running(&server, 4);
    let listed = json(&server, &["queue", "--array", "a", "--json"]);
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 5);
    assert_eq!(listed["jobs"][0]["array_index"], 1);
    assert_eq!(server.says(&["cancel", "a"]), "array 1: 5 jobs are being ended\n");
    server.until_queue_is_empty();
    let (code, message) = server.refuses(&["cancel", "1"]);
    assert!(code == 2 && message.contains("every job of array 1 has ended"), "{message}");
    let audit = crate::at_address(&server, "/v1/audit");
    assert!(audit.contains("submit array 1") && audit.contains("cancel array 1"), "{audit}");
}

#[test]
fn only_so_many_jobs_of_an_array_run_at_a_time() {
    let folder = Folder::new("submit-array-turns");
    let server = Server::start(&folder.0, &[]);
    let at_most = folder.0.join("running");
    std::fs::create_dir(&at_most).unwrap();
    // Each notes how many it sees beside it.
    let script = "mkdir $DIR/$EVENHAND_JOB; ls $DIR | wc -l >> $DIR.log; sleep 0.2; rmdir $DIR/$EVENHAND_JOB";
    let dir = format!("DIR={}", at_most.display());
    server.says(&["submit", "--array", "0-7%2", "--env", &dir, "--", "sh", "-c", script]);
    let row = json(&server, &["queue", "--json"])["jobs"].as_array().unwrap().last().cloned();
    let why = value!("waits for its turn in array 1, 2 at a time");
    assert!(row.is_none_or(|row| row["array_index"] != 7 || row["phase"] != "queued" || row["why"] == why));
    server.until_queue_is_empty();
    assert_eq!(phases(&server), ["finished"; 8]);
    let seen = std::fs::read_to_string(folder.0.join("running.log")).unwrap();
    let seen: Vec<u32> = seen.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(seen.len() == 8 && seen.iter().all(|count| *count <= 2), "{seen:?}");
    assert!(seen.contains(&2), "two ran at a time: {seen:?}");
}

#[test]
fn what_is_no_array_is_refused() {
    let folder = Folder::new("submit-array-wrong");
    let server = Server::start(&folder.0, &[]);
    for (indices, expected) in
        [("3-1", "indices are written"), ("0-9%0", "at least 1"), ("0-1000", "at most 1000 jobs")]
    {
        let (code, message) = server.refuses(&["submit", "--array", indices, "--", "true"]);
        assert!(code == 2 && message.contains(expected), "{indices}: {message}");
    }
    let (code, message) = server.refuses(&["submit", "--name", "17_3", "--", "true"]);
    assert!(code == 2 && message.contains("taken for the number"), "{message}");
    assert!(jobs(&server).is_empty());
}
