//! What would come of a submission that is not made.

use crate::service::{Folder, Server};
use crate::{jobs, json, until_running};

#[test]
fn a_trial_says_who_would_start_wait_or_go_and_records_nothing() {
    let folder = Folder::new("submit-trial");
    let server = Server::start_with(&folder.0, Some("las"), &["--round", "1h"]);
    let would = |words: &[&str]| server.says(&[&["submit", "--dry-run"], words].concat());
    let told = would(&["--gpus", "2", "--", "true"]);
    assert_eq!(
        told,
        "it would start at once, on 2 v100: it has received the least GPU-time\nnothing was submitted\n"
    );
    server.says(&["submit", "--gpus", "4", "--name", "big", "--", "sleep", "1000"]);
    until_running(&server, 1);
    let ledger = || crate::at_address(&server, "/v1/ledger");
    let before = ledger();
    let told = would(&["--name", "new", "--", "true"]);
    assert!(
        told.contains("new would wait: not enough GPUs are free\nif a regular round were due:\n"),
        "{told}"
    );
    assert!(told.contains("new would start as soon as others have left them, on 1 v100"), "{told}");
    assert!(
        told.contains("job 1 (big) of default would be stopped; GPUs it holds: 4\nnothing was"),
        "{told}"
    );
    let told = would(&["--after", "big", "--", "true"]);
    assert!(told.contains("it would wait: waits for job 1"), "{told}");
    let told = json(&server, &["submit", "--dry-run", "--array", "0-9%4", "--json", "--", "true"]);
    assert_eq!(told["jobs"].as_array().unwrap().len(), 10);
    let (code, message) = server.refuses(&["submit", "--dry-run", "--gpus", "5", "--", "true"]);
    assert!(code == 2 && message.contains("gpus is 5"), "{message}");
    assert_eq!(ledger(), before, "nothing was recorded");
    assert_eq!(jobs(&server).len(), 1);
    server.says(&["cancel", "big"]);
    server.until_queue_is_empty();
}
