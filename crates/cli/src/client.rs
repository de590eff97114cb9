//! Talks to the service.

use crate::commands::ADDRESS_FILE;
use crate::commands::state_folder;
use crate::failure::{Wrong, wrong};
use crate::live_args::{DEFAULT_ADDRESS, Server};
use crate::trust::{advice, trusting};
use anyhow::{Context, Result, anyhow};
use evenhand_live::access::OWN_TOKEN_FILE;
use evenhand_live::api::NEXT_HEADER;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use ureq::Agent;
use ureq::http::{Response, StatusCode};

/// A connection to the service.
pub struct Client {
    agent: Agent,
    server: String,
    token: Option<String>,
}

impl Client {
    /// To the server that was named, or else the usual one.
    pub fn new(server: &Server) -> Result<Self> {
        let ca = server.ca.as_deref();
        let named = server.server.clone().or_else(|| std::env::var("EVENHAND_SERVER").ok());
        let token = server.token.clone().or_else(|| std::env::var("EVENHAND_TOKEN").ok());
        let server = named.unwrap_or_else(|| format!("http://{DEFAULT_ADDRESS}"));
        let server = server.trim_end_matches('/').to_owned();
        if !["http://", "https://"].iter().any(|scheme| server.starts_with(scheme)) {
            let example = format!("http://{DEFAULT_ADDRESS}");
            return Err(wrong(
                "--server",
                format!("`{server}` is no address such as {example} or https://..."),
            ));
        }
        let mut config =
            Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(60)));
        // Reading the CAs of a machine takes a while, and most servers are on it.
        if server.starts_with("https:") {
            config = config.tls_config(trusting(ca)?);
        }
        let token = token.or_else(|| own_token(&server));
        Ok(Self { agent: config.build().into(), server, token })
    }

    /// What says who asks; nothing if nobody is known.
    fn bearer(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("Bearer {token}"))
    }

    /// Asks for something.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let mut request = self.agent.get(self.url(path));
        if let Some(bearer) = self.bearer() {
            request = request.header("authorization", bearer);
        }
        self.read(request.call())
    }

    /// Removes something.
    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let mut request = self.agent.delete(self.url(path));
        if let Some(bearer) = self.bearer() {
            request = request.header("authorization", bearer);
        }
        self.read(request.call())
    }

    /// Sends something; a key makes it safe to send again.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T> {
        let mut request = self.agent.post(self.url(path));
        if let Some(bearer) = self.bearer() {
            request = request.header("authorization", bearer);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        self.read(request.send_json(body))
    }

    /// What a job printed, and where that ends.
    pub fn output(&self, path: &str) -> Result<(u64, Vec<u8>)> {
        let mut request = self.agent.get(self.url(path));
        if let Some(bearer) = self.bearer() {
            request = request.header("authorization", bearer);
        }
        let mut response = request.call().map_err(|error| self.no_answer(&error))?;
        if !response.status().is_success() {
            return self.read(Ok(response));
        }
        let next = response.headers().get(NEXT_HEADER).and_then(|next| next.to_str().ok()?.parse().ok());
        let next = next.with_context(|| format!("{} does not say where its answer ends", self.server))?;
        let text = response.body_mut().read_to_vec().map_err(|error| self.no_answer(&error))?;
        Ok((next, text))
    }

    /// Lines as they come, for as long as the service sends any.
    pub fn lines(&self, path: &str) -> Result<impl BufRead + Send + use<>> {
        let mut request = self.agent.get(self.url(path)).config().timeout_global(None).build();
        if let Some(bearer) = self.bearer() {
            request = request.header("authorization", bearer);
        }
        let response = request.call().map_err(|error| self.no_answer(&error))?;
        if !response.status().is_success() {
            return Err(refused(response));
        }
        Ok(BufReader::new(response.into_body().into_reader()))
    }

    fn no_answer(&self, error: &ureq::Error) -> anyhow::Error {
        anyhow!("{} does not answer ({error}): {}", self.server, advice(error))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    fn read<T: DeserializeOwned>(&self, response: Result<Response<ureq::Body>, ureq::Error>) -> Result<T> {
        let mut response = response.map_err(|error| self.no_answer(&error))?;
        let status = response.status();
        if status.is_success() {
            return response.body_mut().read_json().with_context(|| {
                format!("{} answers in a way that this program does not know", self.server)
            });
        }
        Err(refused(response))
    }
}

/// What the service says against something.
fn refused(mut response: Response<ureq::Body>) -> anyhow::Error {
    let status = response.status();
    let text = response.body_mut().read_to_string().unwrap_or_default();
    let body: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let message = body["error"]["message"].as_str().unwrap_or("no reason is given").to_owned();
    let is_wrong = status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS;
    if is_wrong { Wrong(message).into() } else { anyhow!(message) }
}

/// The token in the state folder of the server of this user. It is shown to no other: only to what listens where that server said it does.
fn own_token(server: &str) -> Option<String> {
    let state = state_folder(None).ok()?;
    let address = std::fs::read_to_string(state.join(ADDRESS_FILE)).ok()?;
    let token = std::fs::read_to_string(state.join(OWN_TOKEN_FILE)).ok()?;
    let named = server.strip_prefix("http://").or_else(|| server.strip_prefix("https://"));
    let is_own = named.is_some_and(|named| named.replace("localhost", "127.0.0.1") == address);
    is_own.then(|| token.trim().to_owned())
}

/// A word as part of an address: whatever is not plain is escaped.
pub fn escaped(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    word.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
