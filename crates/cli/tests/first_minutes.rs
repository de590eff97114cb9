//! The tour of docs/live.md: nine jobs of three teams, a quick one that makes somebody save and go on, an explanation, a report.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod service;

use service::{Folder, Server, eventually};
use std::path::Path;
use std::process::Command;

const STEPS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/steps.py");

fn submit(server: &Server, tenant: &str, name: &str, steps: &str) {
    let job = [
        "submit",
        "--gpus",
        "1",
        "--tenant",
        tenant,
        "--name",
        name,
        "--steps",
        steps,
        "--steps-per-second",
        "10",
    ];
    server.says(&[&job[..], &["--", "python3", STEPS, steps]].concat());
}

fn printed(state: &Path, job: u64) -> String {
    std::fs::read_to_string(state.join(format!("jobs/{job}/output.log"))).unwrap_or_default()
}

#[test]
fn ten_jobs_of_three_teams_come_to_their_end_and_one_is_interrupted_on_the_way() {
    if Command::new("python3").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no python3");
        return;
    }
    let folder = Folder::new("first-minutes");
    let server = Server::start_with(&folder.0, Some("promise"), &["--round", "1s"]);
    for number in 1..4 {
        for team in ["vision", "speech", "robots"] {
            submit(&server, team, &format!("{team}-{number}"), "40");
        }
    }
    assert!(server.says(&["top", "--once"]).contains("4 of 4 GPUs held"));
    let told = server.says(&["explain", "robots-3"]);
    for part in [
        "job 9 robots-3 (robots, 1 GPU) waits",
        "needs",
        "start     between",
        "promised  done by",
        "its share is 1.33",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    submit(&server, "robots", "quick", "3");
    server.until_queue_is_empty();
    let interrupted = eventually("somebody was interrupted", || {
        (1..10).map(|job| printed(&folder.0.join("state"), job)).find(|text| text.contains("saved at step"))
    });
    let saved = interrupted.split("saved at step ").nth(1).unwrap().lines().next().unwrap();
    assert!(interrupted.contains(&format!("from step {saved}\n")), "{interrupted}");
    assert!(interrupted.ends_with("finished\n"), "{interrupted}");
    report(&server, &folder.0);
}

fn report(server: &Server, folder: &Path) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.env("EVENHAND_SERVER", &server.url).env("EVENHAND_TOKEN", &server.token).current_dir(folder);
    let output = command.arg("report").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("jobs finished                 10 of 10"), "{told}");
    assert!(std::fs::read_to_string(folder.join("evenhand-ledger.html")).unwrap().contains("<svg"));
}
