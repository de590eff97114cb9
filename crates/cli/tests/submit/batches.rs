//! Several jobs at a time, all or none.

use crate::service::{Folder, Server};
use crate::{jobs, phases};
use std::path::Path;

/// A job file; gives its path.
pub fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn all_jobs_of_a_batch_are_taken_or_none() {
    let folder = Folder::new("submit-batch");
    let server = Server::start(&folder.0, &[]);
    let prepare = file(&folder.0, "a.toml", "name = \"prepare\"\nargv = [\"true\"]\n");
    let train = file(&folder.0, "b.yaml", "name: train\nafter: [prepare]\nargv: ['true']\n");
    let wrong = file(&folder.0, "c.toml", "name = \"huge\"\ngpus = 5\nargv = [\"true\"]\n");
    let (code, message) = server.refuses(&["submit", &prepare, &train, &wrong]);
    assert!(code == 2 && message.contains("jobs[2]: gpus is 5"), "{message}");
    assert!(jobs(&server).is_empty(), "nothing of it was taken");
    assert_eq!(server.says(&["submit", "--key", "k", &prepare, &train]), "job 1\njob 2\n");
    let again = server.says(&["submit", "--key", "k", &prepare, &train]);
    assert_eq!(again, "job 1 (submitted before)\njob 2 (submitted before)\n");
    let (code, message) = server.refuses(&["submit", "--key", "k", &train, &prepare]);
    assert!(code == 2, "another order is another content: {message}");
    let (code, message) = server.refuses(&["submit", "--key", "k", &prepare]);
    assert!(code == 2 && message.contains("another content"), "{message}");
    server.until_queue_is_empty();
    assert_eq!(phases(&server), ["finished", "finished"]);
    let story = server.says(&["explain", "train"]);
    assert!(story.contains("to run when job 1 has ended well"), "{story}");
    assert!(story.contains("job 1 finished; it waits for no other job"), "{story}");
}

#[test]
fn a_batch_is_there_after_the_server_was_killed() {
    let folder = Folder::new("submit-killed");
    let (first, second) = ("argv = [\"true\"]\nname = \"a\"\n", "argv = [\"true\"]\nafter = [\"a\"]\n");
    let (first, second) = (file(&folder.0, "a.toml", first), file(&folder.0, "b.toml", second));
    let server = Server::start(&folder.0, &[]);
    let words = ["submit", "--key", "k", &first, &second];
    server.says(&words);
    drop(server);
    let server = Server::start(&folder.0, &[]);
    assert_eq!(server.says(&words), "job 1 (submitted before)\njob 2 (submitted before)\n");
    server.until_queue_is_empty();
    assert_eq!(phases(&server), ["finished", "finished"]);
}

#[test]
fn a_pipeline_with_an_array_in_it_is_one_batch() {
    let folder = Folder::new("submit-pipeline");
    let server = Server::start(&folder.0, &[]);
    let sweep = file(&folder.0, "a.toml", "name = \"sweep\"\narray = \"0-2\"\nargv = [\"true\"]\n");
    let sum = file(&folder.0, "b.yaml", "name: sum\nafter: [sweep]\nargv: ['true']\n");
    let more = file(&folder.0, "c.yaml", "name: more\narray: 5,7\nafter: [sum, sweep-1]\nargv: ['true']\n");
    let last = file(&folder.0, "d.toml", "after = [\"more\"]\nargv = [\"true\"]\n");
    let words = ["submit", "--key", "k", &sweep, &sum, &more, &last];
    assert_eq!(server.says(&words), "array 1\njob 5\narray 6\njob 9\n");
    let before = " (submitted before)\n";
    assert_eq!(server.says(&words), ["array 1", "job 5", "array 6", "job 9", ""].join(before));
    server.until_queue_is_empty();
    let jobs = jobs(&server);
    let names: Vec<_> = jobs.iter().map(|job| job["name"].as_str().unwrap_or("")).collect();
    assert_eq!(names, ["sweep-0", "sweep-1", "sweep-2", "sum", "more-5", "more-7", ""]);
    assert!(jobs.iter().all(|job| job["phase"] == "finished"), "{jobs:?}");
    let ended = |at: usize| jobs[at]["ended_ms"].as_u64().unwrap();
    let started = |at: usize| jobs[at]["started_ms"].as_u64().unwrap();
    assert!((0..3).all(|part| ended(part) <= started(3)) && ended(3) <= started(4) && ended(5) <= started(6));
}
