//! The dashboard: files that are part of the program, read by anybody, with nothing in them that is secret. What they show they ask the other
//! addresses for.

use super::Trouble;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Nothing but what this service itself sends is loaded, run or shown, and nobody puts the page into theirs.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// What a file is.
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! file {
    ($name:literal, $kind:expr) => {
        ($name, $kind, include_str!(concat!("../../page/", $name)))
    };
}

/// Every file but the first page.
const FILES: &[(&str, &str, &str)] = &[
    file!("style.css", STYLE),
    file!("theme.js", SCRIPT),
    file!("app.js", SCRIPT),
    file!("api.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("time.js", SCRIPT),
    file!("figures.js", SCRIPT),
    file!("login.js", SCRIPT),
    file!("cluster.js", SCRIPT),
    file!("fairness.js", SCRIPT),
    file!("round.js", SCRIPT),
    file!("jobs.js", SCRIPT),
    file!("job.js", SCRIPT),
    file!("whatif.js", SCRIPT),
    ("icon.svg", "image/svg+xml", include_str!("../../page/icon.svg")),
];

/// `GET /`.
pub(super) async fn first() -> Response {
    sent("text/html; charset=utf-8", include_str!("../../page/index.html").to_owned())
}

/// `GET /ui/{file}`.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, Trouble> {
    // The pictures of a report look the same here: their style, for what is inside one element.
    if name == "report.css" {
        return Ok(sent(STYLE, format!(".report{{{}}}", evenhand_report::STYLE)));
    }
    let found = FILES.iter().find(|(known, ..)| *known == name);
    let missing = || Trouble::new(StatusCode::NOT_FOUND, "no-address", format!("there is no file `{name}`"));
    let (_, kind, text) = found.ok_or_else(missing)?;
    Ok(sent(kind, (*text).to_owned()))
}

fn sent(kind: &'static str, text: String) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        // Another version of the program has other files under the same names.
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("content-security-policy"), POLICY),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (HeaderName::from_static("x-frame-options"), "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let mut response = text.into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
