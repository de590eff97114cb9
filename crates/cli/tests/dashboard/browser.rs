//! A real Chromium, spoken to over its own protocol: JSON with a NUL after each message, through two pipes.

use crate::eventually::eventually;
use crate::skipped::skipped;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PROGRAM: &str = "chromium";

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// One page in a browser of its own.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    folder: PathBuf,
    last: u64,
    session: Option<String>,
    /// Everything that was told besides answers.
    events: Vec<Value>,
}

impl Browser {
    /// Opens a browser whose clock is in Kathmandu, three quarters of an hour off most others; says so and gives nothing where there is none.
    pub fn open(test: &str) -> Option<Self> {
        let found =
            Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            skipped("chromium is not installed, so nobody looked at the dashboard");
            assert!(std::env::var("CI").is_err(), "a skip is a failure here");
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{test}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let [to, from] = ["to", "from"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // The shell opens what the browser reads as its file 3 and writes as its file 4.
        let script = format!(
            "exec {PROGRAM} --headless=new --no-sandbox --disable-gpu --remote-debugging-pipe --user-data-dir=profile --no-first-run \
             --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage 3<to 4>from"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&folder).env("TZ", "Asia/Kathmandu");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let to = OpenOptions::new().write(true).open(to).unwrap();
        let pipe = File::open(from).unwrap();
        let (tell, from) = channel();
        std::thread::spawn(move || {
            let mut messages = BufReader::new(pipe).split(0);
            while let Some(Ok(message)) = messages.next() {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { child, to, from, folder, last: 0, session: None, events: Vec::new() };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let session = browser.ask("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility", "DOM"] {
            browser.ask(&format!("{domain}.enable"), &json!({}));
        }
        browser.size(1400, 900);
        Some(browser)
    }

    /// Asks, and gives the answer.
    pub fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap();
        loop {
            let answer = self.from.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == json!(self.last) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// What an expression comes to on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        self.try_value(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    fn try_value(&mut self, expression: &str) -> Result<Value, String> {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.ask("Runtime.evaluate", &parameters);
        match answer.get("exceptionDetails") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// The same as text.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true on the page.
    pub fn until(&mut self, expression: &str) {
        // A page that is just being left has no answer.
        eventually(expression, || (self.try_value(expression) == Ok(Value::Bool(true))).then_some(()));
    }

    pub fn go(&mut self, url: &str) {
        self.ask("Page.navigate", &json!({"url": url}));
    }

    /// Goes to a view of the page that is open.
    pub fn view(&mut self, hash: &str) {
        self.value(&format!("void (location.hash = {})", json!(hash)));
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
    }

    pub fn dark(&mut self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.ask("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Signs in as a person would: types the token and presses the button.
    pub fn sign_in(&mut self, url: &str, token: &str) {
        self.go(url);
        self.until("document.activeElement?.id === 'token'");
        self.ask("Input.insertText", &json!({"text": token}));
        self.value("document.querySelector('form').requestSubmit()");
        self.until(
            "!!document.querySelector('nav a[aria-current=page]') && !!document.querySelector('main .panel')",
        );
    }

    /// Whatever the page or the browser complained of; without what comes of a server that is away, if that is meant.
    pub fn complaints(&mut self, server_was_away: bool) -> Vec<String> {
        // Whatever is under way is told before this.
        self.value("1");
        let complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                ["error", "warning", "assert"].iter().any(|kind| event["params"]["type"] == *kind)
            }
            Some("Log.entryAdded") => {
                let entry = &event["params"]["entry"];
                ["error", "warning"].iter().any(|level| entry["level"] == *level)
                    && !(server_was_away && entry["source"] == "network")
            }
            _ => false,
        };
        self.events.iter().filter(complaint).map(Value::to_string).collect()
    }

    /// Every address that was asked for.
    pub fn requests(&mut self) -> Vec<String> {
        self.value("1");
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.filter_map(|event| event["params"]["request"]["url"].as_str().map(str::to_owned)).collect()
    }

    /// Bytes that were received, headers included.
    pub fn received(&mut self) -> u64 {
        self.value("1");
        let done = self.events.iter().filter(|event| event["method"] == "Network.loadingFinished");
        done.filter_map(|event| event["params"]["encodedDataLength"].as_f64()).sum::<f64>() as u64
    }

    /// Nothing was complained of, and nothing was asked of anybody else.
    pub fn was_quiet(&mut self, origin: &str, server_was_away: bool) {
        let complaints = self.complaints(server_was_away);
        assert!(complaints.is_empty(), "{complaints:#?}");
        for url in self.requests() {
            let own = url.starts_with(origin) || url.starts_with("data:") || url == "about:blank";
            assert!(own, "{url} is not of {origin}");
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
