//! Apps: jobs with one goal.

use crate::service::{Folder, Server};
use crate::{json, phases, until_running};

#[test]
fn two_apps_share_the_machine_by_auction_and_finish() {
    let folder = Folder::new("submit-apps");
    let flags = ["--round", "1s", "--set", "lease=1m", "--grace", "1s"];
    let server = Server::start_with(&folder.0, Some("themis"), &flags);
    for app in ["one", "two"] {
        for _ in 0..3 {
            server.says(&["submit", "--gpus", "2", "--steps", "1", "--app", app, "--", "sleep", "0.3"]);
        }
    }
    let apps = json(&server, &["app", "list", "--json", "--all"]);
    assert_eq!(apps["apps"].as_array().unwrap().len(), 2, "{apps}");
    server.until_queue_is_empty();
    assert_eq!(phases(&server), ["finished"; 6]);
    assert_eq!(server.says(&["app", "list"]), "no apps\n", "they are over with their last jobs");
    let of_one = json(&server, &["queue", "--all", "--app", "one", "--json"]);
    assert_eq!(of_one["jobs"].as_array().unwrap().len(), 3);
    let story = server.says(&["explain", "1"]);
    assert!(story.contains("for app 1"), "{story}");
}

#[test]
fn an_app_is_closed_with_what_is_left_of_its_jobs() {
    let folder = Folder::new("submit-app-close");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--app", "search", "--array", "0-5", "--", "sleep", "1000"]);
    until_running(&server, 4);
    assert_eq!(
        server.says(&["app", "close", "search"]),
        "app 1 (search) is closed, and 6 of its jobs are being ended\n"
    );
    server.until_queue_is_empty();
    assert_eq!(phases(&server), ["retired"; 6]);
    let (code, message) = server.refuses(&["app", "close", "search"]);
    assert!(code == 2 && message.contains("it is closed"), "{message}");
    let (code, message) = server.refuses(&["app", "close", "nobody"]);
    assert!(code == 2 && message.contains("there is no app `nobody`"), "{message}");
    // The name may be used again, for another app.
    server.says(&["submit", "--app", "search", "--", "sleep", "1000"]);
    assert!(server.says(&["app", "list"]).contains("search"));
    server.says(&["app", "close", "2"]);
    server.until_queue_is_empty();
}
