//! Errors as people and programs read them: a status, a code that stays, and a sentence.

use crate::access::NoUser;
use crate::request::Refusal;
use crate::store::StoreError;
use axum::Json;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use evenhand_core::BidError;
use serde::{Deserialize, Serialize};

/// What went wrong. In JSON: `{"error": {"code", "message"}}`.
#[derive(Clone, Debug)]
pub struct Trouble {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// In how many seconds to try again, where that may help.
    retry_s: u64,
}

/// As it is sent.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    error: BodyError,
}

#[derive(Debug, Serialize, Deserialize)]
struct BodyError {
    code: String,
    message: String,
}

impl Trouble {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_s: 1 }
    }

    /// Input that makes no sense: the field, the value found, what is allowed.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// Nobody, or nobody we know.
    pub(super) fn no_token(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// More requests than a token may send.
    pub(super) fn too_fast(retry_s: u64) -> Self {
        let message = format!("too many requests with this token: try again in {retry_s} s");
        Self { retry_s, ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too-fast", message) }
    }

    pub(super) fn no_job(name: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "no-job", format!("there is no job `{name}`"))
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match refusal {
            Refusal::NoJob(_) | Refusal::ArrayOver(_) => (StatusCode::NOT_FOUND, "no-job"),
            Refusal::NoApp(_) => (StatusCode::NOT_FOUND, "no-app"),
            Refusal::Bid(BidError::NotAsked) => (StatusCode::CONFLICT, "not-asked"),
            Refusal::Bid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad-bid"),
            Refusal::NoNode(_) => (StatusCode::NOT_FOUND, "no-node"),
            Refusal::KeyTaken(_) => (StatusCode::CONFLICT, "key-taken"),
            Refusal::Invalid(_) => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
            Refusal::Busy => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            Refusal::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "queue-full"),
            Refusal::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            Refusal::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        };
        Self::new(status, code, refusal.to_string())
    }
}

impl From<NoUser> for Trouble {
    fn from(error: NoUser) -> Self {
        Self::new(StatusCode::FORBIDDEN, "no-user", error.to_string())
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "store", error.to_string())
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let error = BodyError { code: self.code.to_owned(), message: self.message };
        let mut response = (self.status, Json(Body { error })).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert("retry-after", HeaderValue::from(self.retry_s));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Nothing is there.
pub(super) async fn no_such_address() -> Trouble {
    Trouble::new(
        StatusCode::NOT_FOUND,
        "no-address",
        "there is nothing at this address: the dashboard is at /, everything else under /v1",
    )
}

/// Something is there, but not for this method.
pub(super) async fn no_such_method() -> Trouble {
    Trouble::new(StatusCode::METHOD_NOT_ALLOWED, "no-method", "this address does not take this method")
}
