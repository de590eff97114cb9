//! The dashboard in a real browser.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod accessible;
mod browser;
#[path = "../service/eventually.rs"]
mod eventually;
mod grafana;
mod hardened;
mod live;
mod proxy;
#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../access/server.rs"]
mod server;
#[path = "../service/skipped.rs"]
mod skipped;
mod tenants;
mod whatif;

use browser::Browser;
use server::Server;
use std::path::Path;

/// A server on a port that stays the same when it is started again.
fn server(test: &str, flags: &[&str]) -> Server {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dashboard-{test}"));
    let listen = ["--listen", &address];
    Server::start_in(&folder, &[&listen, flags].concat())
}

fn origin(server: &Server) -> String {
    format!("http://{}/", server.address)
}

/// A job that counts and can be interrupted, as the command line submits it.
fn submit(server: &Server, name: &str, tenant: &str, gpus: u32, steps: u32) {
    let steps_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/steps.py");
    let (url, gpus, steps) = (origin(server), gpus.to_string(), steps.to_string());
    let words = [
        "submit",
        "--server",
        url.trim_end_matches('/'),
        "--name",
        name,
        "--tenant",
        tenant,
        "--gpus",
        &gpus,
    ];
    let work = [
        "--steps",
        &steps,
        "--steps-per-second",
        "10",
        "--",
        "python3",
        steps_file.to_str().unwrap(),
        &steps,
    ];
    let (done, said) = server::says(&[&words[..], &work[..]].concat(), &[("EVENHAND_TOKEN", &server.admin)]);
    assert!(done, "{said}");
}

/// A browser that has signed in at a server.
fn signed_in(test: &str, server: &Server, token: &str) -> Option<Browser> {
    let mut browser = Browser::open(test)?;
    browser.sign_in(&origin(server), token);
    Some(browser)
}
