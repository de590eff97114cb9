//! Sessions that cannot be stolen, forged or made use of by others.

use crate::browser::Browser;
use crate::server::{Answer, Ask, Server};
use crate::{origin, server, submit};
use serde_json::json;

fn with<'a>(verb: &'a str, path: &'a str, headers: &[(&str, &str)], body: Option<String>) -> Ask<'a> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ask { verb, path, token: None, headers, body }
}

fn sign_in(server: &Server, headers: &[(&str, &str)]) -> Answer {
    server.ask(&with("POST", "/v1/session", headers, Some(json!({"token": server.admin}).to_string())))
}

const FROM_PAGE: (&str, &str) = ("evenhand-page", "1");

#[test]
fn a_session_is_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let server = server("session", &[]);
    assert_eq!(sign_in(&server, &[]).status, 403, "no other site's form can sign anybody in");
    assert_eq!(sign_in(&server, &[FROM_PAGE, ("sec-fetch-site", "cross-site")]).status, 403);
    let begun = sign_in(&server, &[FROM_PAGE]);
    assert_eq!(begun.status, 200, "{begun:?}");
    let line = begun.head.lines().find(|line| line.starts_with("set-cookie:")).unwrap().to_owned();
    assert!(line.contains("; httponly; samesite=strict; max-age=43200"), "{line}");
    assert!(!line.contains("path=") && !line.contains("domain=") && !line.contains("secure"), "{line}");
    let behind_tls = sign_in(&server, &[FROM_PAGE, ("x-forwarded-proto", "https")]);
    assert!(behind_tls.head.contains("; secure"), "{behind_tls:?}");
    assert!(!begun.body.contains(&server.admin) && !begun.head.contains(&server.admin));
    let cookie = line.split([' ', ';']).nth(1).unwrap().to_owned();
    let ask = |verb: &'static str, path: &'static str, extra: &[(&str, &str)]| {
        let headers = [&[("cookie", cookie.as_str())], extra].concat();
        server.ask(&with(verb, path, &headers, None))
    };
    assert_eq!(ask("GET", "/v1/jobs", &[]).status, 200);
    assert_eq!(ask("GET", "/v1/jobs", &[("sec-fetch-site", "cross-site")]).status, 403);
    let job = server.submit(&server.admin, &json!({}));
    assert_eq!(job, 1);
    assert_eq!(ask("POST", "/v1/jobs/1/hold", &[]).status, 403, "a change without the page's header");
    assert_eq!(ask("POST", "/v1/jobs/1/hold", &[FROM_PAGE, ("sec-fetch-site", "same-site")]).status, 403);
    assert_eq!(ask("POST", "/v1/jobs/1/hold", &[FROM_PAGE, ("sec-fetch-site", "same-origin")]).status, 200);
    assert_eq!(ask("DELETE", "/v1/session", &[]).status, 200);
    assert_eq!(ask("GET", "/v1/jobs", &[]).status, 200, "nobody else signs one out");
    assert_eq!(ask("DELETE", "/v1/session", &[FROM_PAGE]).status, 200);
    assert_eq!(ask("GET", "/v1/jobs", &[]).status, 401, "it has ended");
    for odd in ["evenhand_session=", "evenhand_session=x", "evenhand_session=é; a", "a=b"] {
        assert_eq!(server.ask(&with("GET", "/v1/jobs", &[("cookie", odd)], None)).status, 401, "{odd}");
    }
}

#[test]
fn a_session_ends_with_its_token() {
    let server = server("session-token", &[]);
    let secret = server.token("ops", "operator", None);
    let body = Some(json!({"token": secret}).to_string());
    let begun = server.ask(&with("POST", "/v1/session", &[FROM_PAGE], body));
    let line = begun.head.lines().find(|line| line.starts_with("set-cookie:")).unwrap().to_owned();
    let cookie = line.split([' ', ';']).nth(1).unwrap().to_owned();
    let get = |path: &'static str| server.ask(&with("GET", path, &[("cookie", &cookie)], None));
    assert_eq!(get("/v1/jobs").status, 200);
    assert_eq!(get("/v1/tokens").status, 403, "it may do what its token may");
    assert_eq!(server.post("/v1/tokens/ops/rotate", &server.admin, &json!({})).status, 200);
    assert_eq!(get("/v1/jobs").status, 401);
    assert_eq!(get("/v1/session").json()["signed_in"], false);
}

#[test]
fn the_page_may_load_and_run_nothing_but_its_own() {
    let server = server("policy", &[]);
    for path in ["/", "/ui/app.js", "/ui/style.css", "/ui/report.css"] {
        let answer = server.ask(&with("GET", path, &[], None));
        assert_eq!(answer.status, 200, "{path}");
        let policy = answer.head.lines().find(|line| line.starts_with("content-security-policy:")).unwrap();
        assert!(policy.contains("default-src 'self'") && !policy.contains("unsafe"), "{policy}");
        assert!(
            answer.head.contains("x-content-type-options: nosniff")
                && answer.head.contains("referrer-policy: no-referrer")
        );
    }
    let page = server.ask(&with("GET", "/", &[], None)).body;
    assert!(!page.contains("style=") && !page.contains("<style") && !page.contains("onclick"), "{page}");
    assert!(
        page.matches("<script").count() == page.matches("<script ").count() && !page.contains("http"),
        "{page}"
    );
}

#[test]
fn signing_out_ends_it_in_the_browser_too_and_no_secret_is_in_an_address() {
    let server = server("leave", &[]);
    let Some(mut browser) = Browser::open("leave") else { return };
    let url = origin(&server);
    browser.go(&url);
    browser.until("document.activeElement?.id === 'token'");
    browser.value("document.querySelector('#token').value = 'evenhand_0'");
    browser.value("document.querySelector('form').requestSubmit()");
    browser
        .until("document.querySelector('#problem').textContent.startsWith('This token is not known here')");
    browser.value("document.querySelector('#token').value = ''; document.querySelector('#token').focus()");
    browser.sign_in(&url, &server.admin);
    submit(&server, "one", "vision", 1, 3000);
    for view in ["#/jobs", "#/fairness", "#/whatif", "#/jobs/1"] {
        browser.view(view);
        browser.until("!!document.querySelector('main .panel')");
    }
    assert_eq!(browser.text("document.cookie"), "", "no script can read it");
    browser.value("document.querySelector('[aria-label=\"Sign out\"]').click()");
    browser.until("!!document.querySelector('#token')");
    browser.go(&url);
    browser.until("!!document.querySelector('#token')");
    let secret = server.admin.trim_start_matches("evenhand_");
    assert!(browser.requests().iter().all(|url| !url.contains(secret)));
    // The wrong token was refused, which the browser notes.
    browser.was_quiet(&url, true);
}
