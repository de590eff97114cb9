//! When jobs are wanted by.

use crate::jobs;
use crate::service::{Folder, Server, eventually};

#[test]
fn a_deadline_is_kept_in_mind_and_nobody_is_promised_it() {
    let folder = Folder::new("submit-deadline");
    let server = Server::start(&folder.0, &[]);
    server.says(&["submit", "--deadline", "2h", "--steps", "36000", "--", "sleep", "1000"]);
    server.says(&["submit", "--deadline", "2h", "--steps", "60", "--", "sleep", "1000"]);
    server.says(&["submit", "--deadline", "1s", "--", "sleep", "1000"]);
    server.says(&["submit", "--deadline", "2h", "--", "true"]);
    crate::until_running(&server, 3);
    let rows = jobs(&server);
    let within = rows[0]["deadline_ms"].as_u64().unwrap() - rows[0]["submitted_ms"].as_u64().unwrap();
    assert_eq!(within, 7_200_000);
    let story = server.says(&["explain", "1"]);
    assert!(story.contains("wanted within") && story.contains("it will be missed"), "{story}");
    assert!(server.says(&["explain", "2"]).contains("it is met if it runs on"));
    eventually("the third is late", || server.says(&["explain", "3"]).contains("it is missed").then_some(()));
    eventually("the fourth is done", || {
        server.says(&["explain", "4"]).contains("GPU-hours, before its deadline").then_some(())
    });
    for wrong in ["yesterday", "2001-01-01T00:00:00Z", "0s"] {
        let (code, message) = server.refuses(&["submit", "--deadline", wrong, "--", "true"]);
        assert!(code == 2 && message.contains("deadline is"), "{message}");
    }
    server.says(&["cancel", "1", "2", "3"]);
    server.until_queue_is_empty();
}
