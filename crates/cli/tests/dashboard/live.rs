//! What happens shows, as it happens; and again after the server was away.

use crate::eventually::eventually;
use crate::server::says;
use crate::{origin, server, signed_in, submit};

/// The jobs on the map, GPU by GPU.
const ON_MAP: &str = "[...document.querySelectorAll('.gpu')].map(gpu => gpu.dataset.job ?? '').join(' ')";

#[test]
fn a_job_submitted_by_the_command_line_appears_and_a_preemption_moves_on_the_map() {
    let server = server("live", &["--policy", "srtf", "--round", "5s"]);
    let Some(mut browser) = signed_in("live", &server, &server.admin) else { return };
    browser.until("document.querySelectorAll('.gpu.free').length === 4");
    submit(&server, "long", "vision", 4, 3000);
    browser.until(&format!("{ON_MAP} === '1 1 1 1'"));
    browser
        .until("[...document.querySelectorAll('.side tbody th')].some(row => row.textContent === 'vision')");
    submit(&server, "quick", "speech", 4, 40);
    browser.until(&format!("{ON_MAP} === '2 2 2 2'"));
    browser.until(&format!("{ON_MAP} === '1 1 1 1'"));
    browser.view("#/jobs");
    browser.until("document.querySelectorAll('table.jobs tbody tr').length === 2");
    browser.until("document.querySelector('tr[data-key=job-2] .badge')?.textContent === 'finished'");
    browser.view("#/jobs/1");
    browser.until("document.querySelectorAll('.line .lease.preempted').length === 1 && document.querySelectorAll('.line .lease.going').length === 1");
    browser.was_quiet(&origin(&server), false);
}

#[test]
fn an_explanation_on_the_page_is_that_of_the_command_line() {
    let server = server("explain", &["--policy", "promise", "--round", "1h"]);
    for (name, tenant) in [("first", "vision"), ("second", "speech"), ("third", "robots")] {
        submit(&server, name, tenant, 4, 6000);
    }
    let Some(mut browser) = signed_in("explain", &server, &server.admin) else { return };
    browser.view("#/jobs/third");
    browser.until("document.querySelectorAll('#told dd').length > 3 && document.querySelectorAll('#story li').length > 0");
    let environment = [("EVENHAND_TOKEN", server.admin.as_str()), ("TZ", "Asia/Kathmandu")];
    let url = origin(&server);
    let told = "[document.querySelector('#told .first').textContent, \
         ...[...document.querySelectorAll('#told dd')].map(one => (one.previousElementSibling.textContent + ' ' + one.textContent).trim()), \
         ...[...document.querySelectorAll('#story li')].map(one => one.querySelector('time').textContent + ' ' + one.querySelector('span').textContent)].join('\\n')";
    // Expectations move with the clock: both must be asked between two looks of the page.
    eventually("the page says what the command line says", || {
        let before = browser.text(told);
        let (done, said) = says(&["explain", "third", "--server", url.trim_end_matches('/')], &environment);
        assert!(done, "{said}");
        let after = browser.text(told);
        let lines = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines: Vec<String> = lines.filter(|line| !line.is_empty() && line != "so far").collect();
        let shown: Vec<String> =
            after.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        (before == after && lines.len() > 5 && shown == lines).then_some(())
    });
    browser.was_quiet(&url, false);
}

#[test]
fn the_page_goes_on_by_itself_after_the_server_was_killed_and_restarted() {
    let mut server = server("again", &[]);
    let Some(mut browser) = signed_in("again", &server, &server.admin) else { return };
    browser.until("document.querySelector('.link')?.textContent === 'Live'");
    server.kill();
    browser.until("document.querySelector('.link').classList.contains('bad')");
    server.start_again();
    browser.until("document.querySelector('.link')?.textContent === 'Live'");
    // Still signed in, and still looking.
    submit(&server, "later", "vision", 2, 3000);
    browser.until("document.querySelectorAll('.gpu.held').length === 2");
    browser.was_quiet(&origin(&server), true);
}
