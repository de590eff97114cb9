//! Sessions of pages: sign in with a token, ask who one is, leave.

use super::gate::{SESSION_COOKIE, bearer, is_from_here, is_from_page, session_of};
use super::{Front, Trouble};
use crate::access::{Role, SESSION_MS, TokenError, Who};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header::{AUTHORIZATION, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What somebody shows to sign in.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    token: String,
}

/// Who asks.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Session {
    /// Whether somebody is known.
    pub signed_in: bool,
    /// The name of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What they may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The only tenant that they see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}

impl From<Who> for Session {
    fn from(who: Who) -> Self {
        Self { signed_in: true, name: Some(who.name), role: Some(who.role), tenant: who.tenant }
    }
}

type WithCookie = ([(HeaderName, String); 1], Json<Session>);

/// `GET /v1/session`: who asks, or that nobody is known; never a refusal, so that a page can ask first.
pub(super) async fn look(State(front): State<Arc<Front>>, headers: HeaderMap) -> Json<Session> {
    let who = if headers.contains_key(AUTHORIZATION) {
        bearer(&front, &headers).ok()
    } else {
        session_of(&headers).and_then(|session| front.access().session(session))
    };
    Json(who.map(Session::from).unwrap_or_default())
}

/// `POST /v1/session`: signs in.
pub(super) async fn sign_in(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
    body: Result<Json<SignIn>, JsonRejection>,
) -> Result<WithCookie, Trouble> {
    let Json(shown) = body.map_err(|error| Trouble::new(error.status(), "invalid", error.body_text()))?;
    if !is_from_page(&headers) || !is_from_here(&headers) {
        return Err(Trouble::new(
            StatusCode::FORBIDDEN,
            "not-from-page",
            "sessions are for pages of this service",
        ));
    }
    let begun = front.access().begin_session(shown.token.trim()).map_err(|error| unwritten(&error))?;
    let Some((who, secret)) = begun else {
        return Err(Trouble::new(StatusCode::FORBIDDEN, "no-token", "this token is not known here"));
    };
    Ok((cookie(&front, &headers, &secret, SESSION_MS / 1000), Json(who.into())))
}

/// `DELETE /v1/session`: leaves.
pub(super) async fn leave(
    State(front): State<Arc<Front>>,
    headers: HeaderMap,
) -> Result<WithCookie, Trouble> {
    // Whoever cannot make a request from a page cannot sign anybody out.
    if let Some(session) = session_of(&headers).filter(|_| is_from_page(&headers)) {
        front.access().end_session(session).map_err(|error| unwritten(&error))?;
    }
    Ok((cookie(&front, &headers, "", 0), Json(Session::default())))
}

/// No script can read it, no other site's page can make a browser send it, and without a path it goes to this folder alone, whatever a
/// proxy calls that.
fn cookie(front: &Front, headers: &HeaderMap, secret: &str, seconds: u64) -> [(HeaderName, String); 1] {
    let is_tls = front.is_tls() || headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let secure = if is_tls { "; Secure" } else { "" };
    let value = format!("{SESSION_COOKIE}={secret}; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    [(SET_COOKIE, value)]
}

fn unwritten(error: &TokenError) -> Trouble {
    Trouble::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", error.to_string())
}
