//! Talks to the service.

use crate::failure::Wrong;
use crate::live_args::{DEFAULT_ADDRESS, Server};
use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Response, StatusCode};

/// A connection to the service.
pub struct Client {
    agent: Agent,
    server: String,
}

impl Client {
    /// To the server that was named, or else the usual one.
    pub fn new(server: &Server) -> Self {
        let named = server.server.clone().or_else(|| std::env::var("EVENHAND_SERVER").ok());
        let server = named.unwrap_or_else(|| format!("http://{DEFAULT_ADDRESS}"));
        let config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(60)));
        Self { agent: config.build().into(), server: server.trim_end_matches('/').to_owned() }
    }

    /// Asks for something.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.read(self.agent.get(self.url(path)).call())
    }

    /// Sends something; a key makes it safe to send again.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T> {
        let mut request = self.agent.post(self.url(path));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        self.read(request.send_json(body))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    fn read<T: DeserializeOwned>(&self, response: Result<Response<ureq::Body>, ureq::Error>) -> Result<T> {
        let mut response = response.map_err(|error| {
            anyhow!("{} does not answer ({error}): is `evenhand serve` running there?", self.server)
        })?;
        let status = response.status();
        if status.is_success() {
            return response.body_mut().read_json().with_context(|| {
                format!("{} answers in a way that this program does not know", self.server)
            });
        }
        let text = response.body_mut().read_to_string().unwrap_or_default();
        let body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let message = body["error"]["message"].as_str().unwrap_or("no reason is given").to_owned();
        let is_wrong = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
        Err(if is_wrong { Wrong(message).into() } else { anyhow!(message) })
    }
}

/// A word as part of an address: whatever is not plain is escaped.
pub fn escaped(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    word.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
