//! Another policy on what happened, from the page.

use crate::eventually::eventually;
use crate::server::Ask;
use crate::{origin, server, signed_in, submit};
use serde_json::json;
use std::process::Command;

#[test]
fn a_what_if_runs_to_its_end_and_says_what_the_command_line_says() {
    let server = server("whatif", &["--policy", "fifo"]);
    for at in 0..6 {
        submit(&server, &format!("job-{at}"), ["vision", "speech"][at % 2], 2, 10 + 5 * at as u32);
    }
    let Some(mut browser) = signed_in("whatif", &server, &server.admin) else { return };
    eventually("all jobs have ended", || {
        let jobs = server.get("/v1/jobs?phase=finished", &server.admin).json();
        (jobs["jobs"].as_array().map(Vec::len) == Some(6)).then_some(())
    });
    browser.view("#/whatif");
    browser.until("!!document.querySelector('input[value=srtf]')");
    browser.value("document.querySelector('input[value=srtf]').click()");
    browser.until("!document.querySelector('button.primary').disabled");
    browser.value("document.querySelector('button.primary').click()");
    browser.until("location.hash === '#/whatif/1'");
    browser.until("document.querySelector('.crumbs .badge')?.textContent === 'done'");
    browser.until("document.querySelectorAll('#figures figure svg').length >= 3");
    let command = browser.text("document.querySelector('.terminal code').textContent");
    assert_eq!(command, "evenhand whatif --policy srtf");
    let told =
        browser.text("[...document.querySelectorAll('.sentence')].map(one => one.textContent).join('\\n')");
    // The very command, in a terminal.
    let (url, folder) = (origin(&server), server.state.with_file_name("terminal"));
    std::fs::create_dir_all(&folder).unwrap();
    let mut terminal = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    terminal.args(command.split(' ').skip(1)).current_dir(&folder);
    terminal.env("EVENHAND_SERVER", url.trim_end_matches('/')).env("EVENHAND_TOKEN", &server.admin);
    let said = terminal.output().unwrap();
    assert!(said.status.success(), "{said:?}");
    let said = String::from_utf8(said.stdout).unwrap();
    for line in told.lines() {
        assert!(said.contains(line), "{line}\nis not in\n{said}");
    }
    assert!(told.contains("Under srtf jobs would have been done"), "{told}");
    browser.was_quiet(&url, false);
}

#[test]
fn what_makes_no_sense_is_refused_and_a_run_can_be_stopped() {
    let server = server("whatif-odd", &[]);
    let ask = |body| server.post("/v1/whatifs", &server.admin, &body);
    for odd in [
        json!({"policies": []}),
        json!({"policies": ["nobody"]}),
        json!({"policies": ["las"], "since_s": 0}),
        json!({}),
    ] {
        assert_eq!(ask(odd.clone()).status, 422, "{odd}");
    }
    // There is no job to be run again: it fails, and says why.
    let begun = ask(json!({"policies": ["las"], "since_s": 3600}));
    assert_eq!(
        (begun.status, begun.json()["command"].as_str()),
        (201, Some("evenhand whatif --policy las --since 1h"))
    );
    let ended = eventually("it has ended", || {
        let run = server.get("/v1/whatifs/1", &server.admin).json();
        (run["state"] != "runs" && run["state"] != "waits").then_some(run)
    });
    assert_eq!(ended["state"], "failed");
    assert!(ended["told"].to_string().contains("no job of it is known well enough"), "{ended}");
    let delete =
        |path| server.ask(&Ask { verb: "DELETE", path, token: Some(&server.admin), ..Default::default() });
    assert_eq!(delete("/v1/whatifs/1").status, 200);
    assert_eq!(server.get("/v1/whatifs/1", &server.admin).status, 404);
}
