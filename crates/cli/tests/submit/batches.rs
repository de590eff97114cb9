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
