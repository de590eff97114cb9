//! What every request passes before its handler: who is it, may they, not too fast, and a body of bounded size that arrives in time.

use super::table::{Route, Verb};
use super::{Front, Trouble};
use crate::access::{Need, Who};
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::time::Duration;

/// The cookie of a session.
pub(super) const SESSION_COOKIE: &str = "evenhand_session";

/// What a page says when it changes something.
pub(super) const PAGE_HEADER: &str = "evenhand-page";

/// How long a body may take to arrive.
pub(super) const BODY_TIME_MAX: Duration = Duration::from_secs(10);

/// The gate of one route.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    pub front: Arc<Front>,
    pub route: &'static Route,
}

/// Lets a request through with whoever asks attached to it, or says why not.
pub(super) async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match check(&gate, request).await {
        Ok(request) => as_json(next.run(request).await),
        Err(trouble) => trouble.into_response(),
    }
}

/// What the framework refuses, such as an address that is no text, it refuses in plain text: programs expect what they always get.
fn as_json(response: Response) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if response.status().is_client_error() && !kind.starts_with("application/json") {
        return Trouble::new(response.status(), "invalid", "the address cannot be read").into_response();
    }
    response
}

async fn check(gate: &Gate, request: Request) -> Result<Request, Trouble> {
    let need = gate.route.need;
    let access = gate.front.access();
    // Whatever is shown where nothing is needed is not looked at: health is told to anybody.
    let who = if need == Need::Nothing { None } else { Some(asker(gate, request.headers())?) };
    if !need.is_met_by(who.as_ref()) {
        let name = who.as_ref().map_or("", |who| &who.name);
        let message = format!("the token `{name}` may not do this: {} is needed", need.told());
        return Err(Trouble::new(StatusCode::FORBIDDEN, "forbidden", message));
    }
    access.count(who.as_ref()).map_err(Trouble::too_fast)?;
    let mut request = with_whole_body(request, gate.route).await?;
    if let Some(who) = who {
        request.extensions_mut().insert(who);
    }
    Ok(request)
}

/// Who asks: by a token, or from a page by its session.
fn asker(gate: &Gate, headers: &HeaderMap) -> Result<Who, Trouble> {
    let session = session_of(headers).filter(|_| !headers.contains_key(AUTHORIZATION));
    let Some(session) = session else { return bearer(&gate.front, headers) };
    if gate.route.verb != Verb::Get && !is_from_page(headers) {
        let message =
            format!("whoever changes something from a page says so: the header {PAGE_HEADER} is missing");
        return Err(Trouble::new(StatusCode::FORBIDDEN, "not-from-page", message));
    }
    if !is_from_here(headers) {
        return Err(Trouble::new(
            StatusCode::FORBIDDEN,
            "not-from-page",
            "another site's page may ask nothing here",
        ));
    }
    let who = gate.front.access().session(session);
    who.ok_or_else(|| Trouble::no_token("this session is over: sign in again"))
}

/// Whether a request says that it is from a page: no other site's page can say that unless this service lets it, which it never does.
pub(super) fn is_from_page(headers: &HeaderMap) -> bool {
    headers.contains_key(PAGE_HEADER)
}

/// Whether a browser says that another site made it ask.
pub(super) fn is_from_here(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    site.is_none_or(|site| ["same-origin", "none"].contains(&site))
}

/// What a page knows its bearer by.
pub(super) fn session_of(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == SESSION_COOKIE).map(|(_, value)| value)
}

/// Whose token the request shows.
pub(super) fn bearer(front: &Front, headers: &HeaderMap) -> Result<Who, Trouble> {
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, secret)) = shown.and_then(|value| value.split_once(' ')) else {
        return Err(Trouble::no_token("a token is needed: Authorization: Bearer TOKEN"));
    };
    let who = scheme.eq_ignore_ascii_case("bearer").then(|| front.access().identify(secret.trim())).flatten();
    who.ok_or_else(|| Trouble::no_token("this token is not known here: it may have been revoked or rotated"))
}

/// Whether a body may be an object: serde would take fields from a list too, by their order, which nobody means. Handlers judge the rest.
fn may_be_object(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first().is_none_or(|first| *first == b'{')
}

/// Reads the body before the handler does, so that nobody can hold one up by sending slowly.
async fn with_whole_body(request: Request, route: &Route) -> Result<Request, Trouble> {
    let bytes_max = route.bytes_max;
    let too_large = || {
        let message = format!("the body is too large: {bytes_max} bytes are allowed");
        Trouble::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    };
    let (parts, body) = request.into_parts();
    let announced = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|length: u64| length > bytes_max as u64) {
        return Err(too_large());
    }
    let arrived = tokio::time::timeout(BODY_TIME_MAX, to_bytes(body, bytes_max + 1)).await;
    let arrived = arrived.map_err(|_| {
        Trouble::new(StatusCode::REQUEST_TIMEOUT, "too-slow", "the body did not arrive in time")
    })?;
    // Either it goes on beyond the limit, or the connection broke, and then nobody hears this.
    let bytes = arrived.map_err(|_| too_large())?;
    if bytes.len() > bytes_max {
        return Err(too_large());
    }
    if route.takes.is_some() && !may_be_object(&bytes) {
        return Err(Trouble::invalid("the body is no JSON object: {...} is expected"));
    }
    Ok(Request::from_parts(parts, Body::from(bytes)))
}
