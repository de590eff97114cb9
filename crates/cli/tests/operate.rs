//! The service as those who look after it use it: nodes, tenants, policies, and the picture of it all.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod service;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use service::{Folder, Server, eventually};
use std::io::{Read, Write};
use std::net::TcpStream;

fn json(server: &Server, words: &[&str]) -> Value {
    serde_json::from_str(&server.says(words)).unwrap()
}

/// What is at an address, as text.
fn text(server: &Server, path: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        server.token
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// Two jobs that fill all four GPUs, and one that waits.
fn busy(test: &str) -> (Folder, Server) {
    let folder = Folder::new(test);
    let server = Server::start(&folder.0, &[]);
    for (tenant, name) in [("ann", "first"), ("ann", "second"), ("bob", "third")] {
        let job = ["submit", "--gpus", "2", "--tenant", tenant, "--name", name, "--", "sleep", "1000"];
        server.says(&job);
    }
    eventually("two run", || server.says(&["queue", "--phase", "running"]).contains("second").then_some(()));
    (folder, server)
}

/// Asks a server to leave; it does so with this exit code.
fn leave(server: &mut Server) -> Option<i32> {
    kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
    server.child.wait().unwrap().code()
}

fn end(server: &Server) {
    server.says(&["cancel", "1", "2", "3"]);
    server.until_queue_is_empty();
}

#[test]
fn a_node_is_emptied_and_taken_back() {
    let (_folder, server) = busy("operate-nodes");
    let nodes = json(&server, &["nodes", "--json"]);
    assert_eq!(nodes["nodes"][0]["held"], 4, "{nodes}");
    assert_eq!(nodes["nodes"][0]["jobs"], serde_json::json!([1, 2]), "{nodes}");
    assert_eq!(server.says(&["nodes", "drain", "0"]), "node 0 takes no new jobs; 2 jobs are on it\n");
    server.says(&["cancel", "1"]);
    eventually("the first is gone", || {
        (json(&server, &["nodes", "--json"])["nodes"][0]["held"] == 2).then_some(())
    });
    assert!(server.says(&["nodes"]).contains("draining"));
    let waits = json(&server, &["queue", "--phase", "queued", "--json"]);
    assert_eq!(waits["jobs"][0]["name"], "third", "nothing new starts there");
    server.says(&["nodes", "return", "0"]);
    eventually("the third runs", || {
        server.says(&["queue", "--phase", "running"]).contains("third").then_some(())
    });
    let (code, message) = server.refuses(&["nodes", "drain", "7"]);
    assert!(code == 2 && message.contains("no node `7`"), "{message}");
    server.says(&["cancel", "2", "3"]);
    server.until_queue_is_empty();
}

#[test]
fn tenants_are_listed_with_what_they_hold_and_changed_one_thing_at_a_time() {
    let (_folder, server) = busy("operate-tenants");
    let tenants = json(&server, &["tenants", "--json"]);
    assert_eq!(tenants["tenants"][0]["held"]["v100"], 4, "{tenants}");
    assert_eq!(tenants["tenants"][1]["waiting_gpus"], 2, "{tenants}");
    let set = |words: &[&str]| json(&server, &[&["tenants", "set", "ann", "--json"], words].concat());
    set(&["--weight", "3", "--limit", "v100=4"]);
    let ann = set(&["--guarantee", "v100=1"]);
    assert_eq!((&ann["weight"], &ann["limit"]["v100"]), (&Value::from(3.0), &Value::from(4)), "{ann}");
    assert_eq!(ann["share"], 0.75, "{ann}");
    assert!(set(&["--no-limit"])["limit"].is_null());
    assert_eq!(set(&["--group", "bob"])["group"], "bob");
    for (words, why) in [
        (["bob", "--group", "ann"], "cannot contain itself"),
        (["bob", "--weight", "-1"], "are allowed"),
        (["bob", "--weight", "nan"], "a number is expected"),
        (["bob", "--weight", "1e300"], "are allowed"),
        (["bob", "--limit", "a100=1"], "this cluster has v100"),
        (["bob", "--limit", "4"], "MODEL=COUNT"),
        (["bob", "--group", "an"], "did you mean ann?"),
    ] {
        let (code, message) = server.refuses(&[&["tenants", "set"], &words[..]].concat());
        assert!(code == 2 && message.contains(why), "{words:?}: {message}");
    }
    end(&server);
}

#[test]
fn a_rehearsed_policy_changes_nothing_and_a_chosen_one_survives_a_restart() {
    let (folder, server) = busy("operate-policy");
    let before = json(&server, &["queue", "--json"]);
    let found = json(&server, &["policy", "use", "las", "--dry-run", "--json"]);
    assert_eq!(found["starts"][0]["name"], "third", "{found}");
    assert_eq!(found["stops"].as_array().unwrap().len(), 1, "one of ann's makes room: {found}");
    assert_eq!(json(&server, &["queue", "--json"]), before, "nothing is changed");
    assert!(server.says(&["policies", "--live"]).starts_with("fifo decides"));
    assert_eq!(
        server.says(&["policy", "use", "fifo", "--set", "backfill=true"]),
        "fifo (backfill=true) decides from now on\n"
    );
    for (words, why) in
        [(["fifoo", "a=b"], "did you mean `fifo`?"), (["fifo", "backfil=1"], "did you mean `backfill`?")]
    {
        let (code, message) = server.refuses(&["policy", "use", words[0], "--set", words[1]]);
        assert!(code == 2 && message.contains(why), "{message}");
    }
    drop(server);
    // The ledger is repeated on the way: a rehearsal that left a trace would show.
    let server = Server::start_with(&folder.0, None, &[]);
    assert!(server.says(&["policies", "--live"]).starts_with("fifo (backfill=true) decides"));
    end(&server);
}

#[test]
fn one_picture_shows_gpus_shares_and_why_somebody_waits() {
    let (_folder, server) = busy("operate-top");
    let picture = server.says(&["top", "--once"]);
    for part in [
        "4 of 4 GPUs held  2 running, 1 waiting  fifo decides",
        "v100       ####",
        "ann",
        "third",
        "no GPU is free",
    ] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    server.says(&["hold", "third"]);
    let held = server.says(&["queue", "--phase", "held"]);
    assert!(held.contains("third") && held.contains("it was put on hold"), "{held}");
    server.says(&["release", "third"]);
    assert!(server.says(&["queue", "--phase", "queued"]).contains("third"));
    end(&server);
}

#[test]
fn what_makes_no_sense_is_refused_and_what_is_allowed_is_said() {
    let (_folder, server) = busy("operate-refused");
    for (words, told) in [
        (&["queue", "--phase", "asleep"][..], "allowed are queued"),
        (&["tenants", "set", "ann", "--limit", "v100=2.5"], "a whole number of GPUs"),
        (&["tenants", "set", "ann", "--limit", "v100=1", "--guarantee", "v100=2"], "the limit of ann is 1"),
        (&["submit", "--env", "SEED", "--", "true"], "a variable is written NAME=VALUE"),
        (&["queue", "--server", "ftp://x"], "is no address such as http://"),
    ] {
        let (code, message) = server.refuses(words);
        assert!(code == 2 && message.contains(told), "{words:?}: {code}, {message}");
    }
    end(&server);
}

#[test]
fn figures_are_told_as_prometheus_reads_them() {
    let (_folder, server) = busy("operate-metrics");
    let text = text(&server, "/v1/metrics");
    for line in [
        "evenhand_jobs{tenant=\"ann\",phase=\"running\"} 2",
        "evenhand_jobs{tenant=\"bob\",phase=\"queued\"} 1",
        "evenhand_gpus{model=\"v100\",state=\"held\"} 4",
        "evenhand_wait_seconds_count 2",
        "evenhand_policy{name=\"fifo\"} 1",
        "evenhand_http_requests_total{method=\"POST\",path=\"/v1/jobs\",status=\"201\"} 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
        assert!(value.is_some(), "{line}");
    }
    end(&server);
}

#[test]
fn a_server_that_left_in_good_order_starts_again_without_repeating_anything() {
    let (folder, mut server) = busy("operate-leave");
    server.says(&["policy", "use", "las"]);
    let before = json(&server, &["queue", "--json"]);
    assert_eq!(leave(&mut server), Some(0));
    let server = Server::start_with(&folder.0, None, &[]);
    let figures = text(&server, "/v1/metrics");
    assert!(figures.contains("evenhand_start_records 0\n"), "{figures}");
    assert!(figures.contains("evenhand_policy{name=\"las\"} 1"), "{figures}");
    assert_eq!(json(&server, &["queue", "--json"])["jobs"].as_array().unwrap().len(), 3, "{before}");
    end(&server);
}

#[test]
fn what_was_saved_and_cannot_be_read_is_left_out() {
    let (folder, mut server) = busy("operate-unreadable");
    assert_eq!(leave(&mut server), Some(0));
    let store = rusqlite::Connection::open(folder.0.join("state/ledger.db")).unwrap();
    let records: u64 = store.query_row("SELECT max(seq) FROM ledger", [], |row| row.get(0)).unwrap();
    store.execute("UPDATE saved SET body = x'00'", []).unwrap();
    drop(store);
    let server = Server::start_with(&folder.0, None, &[]);
    assert!(text(&server, "/v1/metrics").contains(&format!("evenhand_start_records {records}\n")));
    end(&server);
}

#[test]
fn a_limit_below_what_a_tenant_holds_keeps_nobody_else_waiting() {
    let (_folder, server) = busy("operate-limit");
    server.says(&["tenants", "set", "ann", "--limit", "v100=1"]);
    server.says(&["cancel", "first"]);
    eventually("bob runs beside what ann has left", || {
        server.says(&["queue", "--phase", "running"]).contains("third").then_some(())
    });
    assert!(server.says(&["queue", "--phase", "running"]).contains("second"), "fifo interrupts nobody");
    server.says(&["cancel", "second", "third"]);
    server.until_queue_is_empty();
}
