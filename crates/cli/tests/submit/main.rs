//! What can be submitted to the service: batches, arrays, jobs that wait for others, apps, deadlines, trials, files.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod after;
mod apps;
mod arrays;
mod batches;
mod deadlines;
mod dry_runs;
mod files;
mod output;
#[path = "../service/mod.rs"]
mod service;

use serde_json::Value;
use service::{Server, eventually};
use std::io::{Read, Write};
use std::net::TcpStream;

/// What is at an address, as text.
fn at_address(server: &Server, path: &str) -> String {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let token = &server.token;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// What a command prints with `--json`.
fn json(server: &Server, words: &[&str]) -> Value {
    serde_json::from_str(&server.says(words)).unwrap()
}

/// All jobs there ever were, by number.
fn jobs(server: &Server) -> Vec<Value> {
    json(server, &["queue", "--all", "--limit", "1000", "--json"])["jobs"].as_array().unwrap().clone()
}

/// The phases of all jobs, by number.
fn phases(server: &Server) -> Vec<String> {
    jobs(server).iter().map(|job| job["phase"].as_str().unwrap().to_owned()).collect()
}

/// Waits until so many jobs run.
fn until_running(server: &Server, count: usize) {
    eventually("jobs run", || {
        let running = phases(server).iter().filter(|phase| *phase == "running").count();
        (running == count).then_some(())
    });
}
