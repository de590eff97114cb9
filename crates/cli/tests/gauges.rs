//! How busy GPUs are, from a real Prometheus; the exporter of NVIDIA is played.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod service;
#[path = "service/skipped.rs"]
mod skipped;

use service::{Folder, Server, eventually};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

/// Answers every request with the figures of four GPUs of this machine; the first is busy.
fn play_exporter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let figures = |gpu: u8| {
        let labels = format!("{{gpu=\"{gpu}\",UUID=\"GPU-{gpu}\",Hostname=\"{host}\"}}");
        let (busy, used) = if gpu == 0 { (87, 4096) } else { (0, 3) };
        format!("DCGM_FI_DEV_GPU_UTIL{labels} {busy}\nDCGM_FI_DEV_FB_USED{labels} {used}\n")
    };
    let text: String = (0..4).map(figures).collect::<Vec<_>>().concat();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n";
            let _ = write!(stream, "{head}content-length: {}\r\n\r\n{text}", text.len());
        }
    });
    port
}

fn get(server: &Server, path: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\r\n",
        server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

struct Prometheus(Child);

impl Prometheus {
    fn start(folder: &Path, exporter: u16, port: u16) -> Self {
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: dcgm, static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]}}]\n"
        );
        std::fs::write(&config, text).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "prometheus"]);
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_prometheus_knows_of_gpus_is_told_of_the_jobs_on_them() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        skipped::skipped("Prometheus is not installed, so nothing was read from a real one");
        return;
    }
    let folder = Folder::new("gauges");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}");
    // The server is there first: it says that nothing is measured, and begins when there is something.
    let server = Server::start(&folder.0, &["--gpu-metrics", &address, "--gpu-metrics-every", "500ms"]);
    server.says(&["submit", "--name", "busy", "--gpus", "1", "--", "sleep", "60"]);
    server.says(&["submit", "--name", "idle", "--gpus", "2", "--", "sleep", "60"]);
    let _prometheus = Prometheus::start(&folder.0, play_exporter(), port);
    let ledger = folder.0.join("ledger.jsonl");
    let told = || {
        let copied = server.run(&["report", "--json"]);
        let _ = std::fs::rename("evenhand-ledger.jsonl", &ledger);
        assert!(copied.status.success());
        let text = std::fs::read_to_string(&ledger).unwrap();
        let records =
            text.lines().skip(1).map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let told: Vec<_> = records.filter_map(|record| record["e"].get("telemetry").cloned()).collect();
        (told.len() >= 2).then_some(told)
    };
    let told = eventually("both are measured", told);
    let of = |lease: u64| told.iter().find(|told| told["lease"] == lease).unwrap();
    let (busy, idle) = (&of(1)["demand"], &of(2)["demand"]);
    assert_eq!((busy["duty"].as_f64(), idle["duty"].as_f64()), (Some(0.87), Some(0.0)));
    assert_eq!(busy["memory"]["mean"].as_u64(), Some(4 << 30), "{busy}");
    // On the page a bar says so; it reads this.
    let seen = get(&server, "/v1/cluster/nodes");
    let on = |job: u64| {
        seen["nodes"][0]["jobs"].as_array().unwrap().iter().find(|sitter| sitter["job"] == job).unwrap()
    };
    assert_eq!(
        (on(1)["busy"].as_f64(), on(1)["memory_bytes"].as_u64()),
        (Some(0.87), Some(4 << 30)),
        "{seen}"
    );
    assert!(server.says(&["replay", &ledger.display().to_string()]).contains("all the same"));
}

#[test]
fn a_source_that_makes_no_sense_is_refused() {
    let folder = Folder::new("gauges-wrong");
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.args([
        "serve",
        "--fake-gpus",
        "v100=4",
        "--listen",
        "127.0.0.1:0",
        "--gpu-metrics",
        "dcgm",
        "--state",
    ]);
    let output = command.arg(folder.0.join("state")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("neither nvml nor none"), "{said}");
}
