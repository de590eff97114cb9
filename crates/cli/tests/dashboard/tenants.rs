//! A tenant at the dashboard: its own jobs, and others only all together.

use crate::{origin, server, signed_in, submit};

#[test]
fn a_tenant_sees_its_own_jobs_and_is_kept_from_those_of_others() {
    let server = server("tenant", &[]);
    submit(&server, "own-job", "vision", 1, 3000);
    submit(&server, "hush-hush", "speech", 2, 3000);
    let token = server.token("v", "tenant", Some("vision"));
    let Some(mut browser) = signed_in("tenant", &server, &token) else { return };
    let origin = origin(&server);
    browser.until("document.querySelectorAll('.gpu.held').length === 3 && document.querySelectorAll('a.gpu').length === 1");
    assert_eq!(
        browser.text("[...document.querySelectorAll('.side tbody th')].map(row => row.textContent).join()"),
        "vision,others"
    );
    browser.view("#/jobs");
    browser.until("document.querySelectorAll('table.jobs tbody tr').length === 1");
    // Pictures are drawn when they come into sight: all of them now.
    browser.size(1400, 6000);
    browser.view("#/fairness");
    browser.until(
        "document.querySelectorAll('.figure svg').length >= 2 && ![...document.querySelectorAll('[aria-busy]')].some(one => one.checkVisibility())",
    );
    for view in ["#/cluster", "#/jobs", "#/fairness"] {
        browser.view(view);
        browser.until(&format!("document.querySelector('main').dataset.shown === '{view}'"));
        let shown = browser.text("document.documentElement.outerHTML");
        assert!(!shown.contains("hush-hush") && !shown.contains("speech"), "{view}");
    }
    browser.was_quiet(&origin, false);
    // From here on the browser notes what it is refused.
    for view in ["#/jobs/hush-hush", "#/jobs/2", "#/rounds/1", "#/whatif"] {
        browser.view(view);
        browser.until("!!document.querySelector('section.empty h1')");
        let shown = browser.text("document.querySelector('main').textContent");
        assert!(!shown.contains("speech"), "{view}: {shown}");
        browser.view("#/cluster");
        browser.until("!!document.querySelector('main .panel')");
    }
    browser.was_quiet(&origin, true);
}
