//! Requests that are malformed, too large, or slow.

use crate::server::{Ask, Server, read};
use evenhand_core::Time;
use evenhand_live::Clock;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn malformed_and_oversized_requests_are_refused_and_harm_nobody() {
    let mut server = Server::start("hostile", &[]);
    let admin = server.admin.clone();
    let post = |body: &str, kind: &str| {
        let head = format!(
            "POST /v1/jobs HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {admin}\r\n"
        );
        server.send(
            format!("{head}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
        )
    };
    let json = "application/json";
    for body in
        ["", "{", "[]", "null", "{\"argv\": 1}", "{\"argv\": [\"x\"], \"x\": 1}", "\u{0}", "\u{feff}{}"]
    {
        let status = post(body, json).status;
        assert!((400..500).contains(&status), "{body:?}: {status}");
    }
    let list = Some("[null, null]".to_owned());
    let answer = server.ask(&Ask {
        verb: "POST",
        path: "/v1/tenants/x",
        token: Some(&admin),
        body: list,
        ..Ask::default()
    });
    assert_eq!(answer.status, 422, "fields go by name: {answer:?}");
    let deep = "[".repeat(100_000);
    let status = post(&deep, json).status;
    assert!((400..500).contains(&status), "{status}");
    assert_eq!(post("{\"argv\": [\"true\"]}", "text/plain").status, 415, "what a page in a browser can send");
    assert_eq!(post(&format!("{{\"argv\": [\"{}\"]}}", "x".repeat(300_000)), json).status, 413);
    let long = format!(
        "POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {admin}\r\ncontent-length: 99999999999\r\n\r\n"
    );
    assert_eq!(server.send(long.as_bytes()).status, 413);
    let chunk = format!("186a0\r\n{}\r\n", "x".repeat(100_000)).repeat(4);
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {admin}\r\n"
    );
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    assert_eq!(server.send(chunked.as_bytes()).status, 413);
    for raw in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
        "GET /v1/health HTTP/1.1\r\nx\r\n\r\n",
    ] {
        let status = server.send(raw.as_bytes()).status;
        assert!(status == 0 || (400..500).contains(&status), "{raw:?}: {status}");
    }
    let wide = format!("GET /v1/health HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(1 << 20));
    let status = server.send(wide.as_bytes()).status;
    assert!(status == 0 || status == 431, "{status}");
    for path in [
        "/v1/jobs/%00",
        "/v1/jobs/%ff",
        "/v1/jobs/..%2f..%2ftokens.json",
        "/v1/jobs/18446744073709551615",
        "/v1/../v1/tokens",
    ] {
        let answer = server.get(path, &admin);
        let code = answer.json()["error"]["code"].clone();
        assert!((400..500).contains(&answer.status) && code.is_string(), "{path}: {answer:?}");
    }
    assert!(server.is_alive());
    assert_eq!(server.ask(&Ask { verb: "GET", path: "/v1/health", ..Ask::default() }).status, 200);
}

#[test]
fn a_page_in_a_browser_cannot_end_a_job() {
    let server = Server::start("browser", &[]);
    let job = server.submit(&server.admin, &serde_json::json!({}));
    let path = format!("/v1/jobs/{job}/cancel");
    let headers = vec![("origin".to_owned(), "http://elsewhere.example".to_owned())];
    let answer = server.ask(&Ask { verb: "POST", path: &path, headers, ..Ask::default() });
    assert_eq!(answer.status, 401);
    assert!(!answer.head.contains("access-control"), "nobody else's page may read it");
}

#[test]
fn who_dawdles_is_cut_off_and_holds_nobody_up() {
    let server = Server::start("slow", &[]);
    let begin = |text: &str| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let mut headers: Vec<_> = (0..100).map(|_| begin("GET /v1/health HTTP/1.1\r\nhost: x\r\n")).collect();
    let head = format!("POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n", server.admin);
    let mut bodies: Vec<_> =
        (0..100).map(|_| begin(&format!("{head}content-length: 100\r\n\r\n{{"))).collect();
    let clock = Clock::start();
    assert_eq!(server.get("/v1/jobs", &server.admin).status, 200);
    assert!(clock.now() < Time(5_000), "others are answered meanwhile");
    let body = read(&mut bodies[0]);
    assert_eq!(body.status, 408, "{body:?}");
    headers[0].set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut rest = Vec::new();
    headers[0].read_to_end(&mut rest).unwrap();
    assert!(clock.now() < Time(25_000), "cut off in time");
    // More than may be open at a time: whoever comes after them waits until they are cut off, and no longer.
    let crowd: Vec<_> = (0..600).map(|_| begin("GET /v1/health HTTP/1.1\r\n")).collect();
    let clock = Clock::start();
    assert_eq!(server.get("/v1/jobs", &server.admin).status, 200);
    assert!(clock.now() > Time(1_000) && clock.now() < Time(28_000), "{:?}", clock.now());
    drop(crowd);
}

#[test]
fn a_job_that_boasts_of_its_progress_does_not_end_the_service() {
    let mut server = Server::start("boast", &[]);
    let program = "echo 99999999999999999999999 > $EVENHAND_CHECKPOINT.new; mv $EVENHAND_CHECKPOINT.new $EVENHAND_CHECKPOINT; sleep 2";
    let body = serde_json::json!({"argv": ["sh", "-c", program]});
    let job = server.post("/v1/jobs", &server.admin, &body).json()["job"].clone();
    let phase = || server.get(&format!("/v1/jobs/{job}"), &server.admin).json()["phase"].clone();
    crate::eventually::eventually("it has ended", || {
        (phase() == "finished" || phase() == "failed").then_some(())
    });
    for (field, value) in [("steps", 1e300), ("steps_per_second", 1e-300), ("steps", -1.0)] {
        let body = serde_json::json!({"argv": ["true"], field: value});
        assert_eq!(server.post("/v1/jobs", &server.admin, &body).status, 422, "{field} {value}");
    }
    assert!(server.is_alive());
}
