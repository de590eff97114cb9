//! A server, and questions to it with any token or none.

use crate::eventually::eventually;
use evenhand_core::Time;
use evenhand_live::Clock;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running server in a folder of its own.
pub struct Server {
    child: Child,
    pub state: PathBuf,
    pub address: String,
    pub admin: String,
    command: Vec<String>,
}

/// Among the flags: do not say as whom jobs run whose token names nobody.
pub const NO_USER: &str = "--user-none";

/// Starts a server and waits until it listens.
fn spawn(state: &Path, words: &[String]) -> (Child, String) {
    let log = std::fs::File::create(state.with_file_name("log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    let child = command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let address = eventually("the server listens", || std::fs::read_to_string(state.join("address")).ok());
    (child, address)
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Ask<'a> {
    pub verb: &'a str,
    pub path: &'a str,
    pub token: Option<&'a str>,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

impl Server {
    pub fn start(test: &str, flags: &[&str]) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("access-{test}"));
        Self::start_in(&folder, flags)
    }

    pub fn start_in(folder: &Path, flags: &[&str]) -> Self {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).unwrap();
        Self::start_at(folder, flags)
    }

    /// In a folder that is there.
    pub fn start_at(folder: &Path, flags: &[&str]) -> Self {
        let state = folder.join("state");
        let mut command: Vec<String> = vec!["serve".into(), "--state".into(), state.display().to_string()];
        let usual =
            [("--listen", "127.0.0.1:0"), ("--fake-gpus", "v100=4"), ("--policy", "fifo"), ("--grace", "1s")];
        for (name, value) in usual.iter().filter(|(name, _)| !flags.contains(name)) {
            command.extend([*name, *value].map(str::to_owned));
        }
        command.extend(flags.iter().filter(|flag| **flag != NO_USER).map(|flag| (*flag).to_owned()));
        // A service that runs as root wants to know as whom jobs of tokens run that name nobody.
        let says_user = flags.iter().any(|flag| [NO_USER, "--user"].contains(flag));
        if rustix::process::geteuid().is_root() && !says_user {
            command.extend(["--user", "root"].map(str::to_owned));
        }
        let (child, address) = spawn(&state, &command);
        let admin = std::fs::read_to_string(state.join("token")).unwrap();
        Self { child, state, address, admin, command }
    }

    /// Kills it and starts it again.
    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn start_again(&mut self) {
        std::fs::remove_file(self.state.join("address")).unwrap();
        (self.child, self.address) = spawn(&self.state, &self.command);
    }

    /// A new token.
    pub fn token(&self, name: &str, role: &str, tenant: Option<&str>) -> String {
        let body = serde_json::json!({"name": name, "role": role, "tenant": tenant});
        let answer = self.post("/v1/tokens", &self.admin, &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["secret"].as_str().unwrap().to_owned()
    }

    pub fn get(&self, path: &str, token: &str) -> Answer {
        self.ask(&Ask { verb: "GET", path, token: Some(token), ..Ask::default() })
    }

    pub fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        let body = Some(body.to_string());
        self.ask(&Ask { verb: "POST", path, token: Some(token), body, ..Ask::default() })
    }

    /// Submits a job that does nothing for long.
    pub fn submit(&self, token: &str, extra: &Value) -> u64 {
        let mut body = serde_json::json!({"argv": ["sleep", "1000"]});
        for (name, value) in extra.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let answer = self.post("/v1/jobs", token, &body);
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["job"].as_u64().unwrap()
    }

    /// Asks on a connection of its own. Of a stream without end the first half second is the answer.
    pub fn ask(&self, ask: &Ask<'_>) -> Answer {
        let mut lines = vec![
            format!("{} {} HTTP/1.1", ask.verb, ask.path),
            "host: x".to_owned(),
            "connection: close".to_owned(),
        ];
        lines.extend(ask.token.map(|token| format!("authorization: Bearer {token}")));
        lines.extend(ask.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if let Some(body) = &ask.body {
            lines.push("content-type: application/json".to_owned());
            lines.push(format!("content-length: {}", body.len()));
        }
        let request = format!("{}\r\n\r\n{}", lines.join("\r\n"), ask.body.as_deref().unwrap_or_default());
        self.send(request.as_bytes())
    }

    /// Sends bytes as they are.
    pub fn send(&self, request: &[u8]) -> Answer {
        // Status 0 stands for no answer at all.
        let Ok(mut stream) = TcpStream::connect(&self.address) else {
            return Answer { status: 0, head: String::new(), body: String::new() };
        };
        // Whoever is refused early may hear of it while still sending.
        let _ = stream.write_all(request);
        read(&mut stream)
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// Reads an answer to its end, or for half a second if it has begun and goes on.
pub fn read(stream: &mut TcpStream) -> Answer {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let clock = Clock::start();
    stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    loop {
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&part[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if !bytes.is_empty() || clock.now() > Time(30_000) {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

/// What the program says, and whether it was content.
pub fn says(words: &[&str], environment: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.args(words).env_remove("EVENHAND_SERVER").env_remove("EVENHAND_TOKEN").env_remove("EVENHAND_CA");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap().trim().to_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        // Jobs outlive their server; these should not.
        let page = self.get("/v1/jobs?phase=queued,held,starting,running,stopping&limit=1000", &self.admin);
        let jobs = page.json()["jobs"].as_array().cloned().unwrap_or_default();
        for job in &jobs {
            self.post(&format!("/v1/jobs/{}/cancel", job["id"]), &self.admin, &Value::Null);
        }
        let clock = Clock::start();
        while clock.now() < Time(10_000)
            && self.get("/v1/jobs?phase=starting,running,stopping", &self.admin).body.contains("\"id\"")
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The build folder keeps what may be of interest; others should not.
        if !self.state.starts_with(env!("CARGO_TARGET_TMPDIR")) {
            let _ = std::fs::remove_dir_all(self.state.parent().unwrap());
        }
    }
}
