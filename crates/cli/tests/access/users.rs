//! Jobs run as the system user of their token. This takes a service that runs as root.

use crate::eventually::eventually;
use crate::server::{NO_USER, Server, says};
use crate::skipped::skipped;
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;

/// Two users that every Linux has.
const ANN: &str = "daemon";
const BOB: &str = "bin";

/// Whether the tests run as root; says so if not.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped("only root can run jobs as others");
    }
    is_root
}

/// In a folder that everybody can go through, as `/root` is none.
fn start(test: &str, flags: &[&str]) -> Server {
    let folder = std::env::temp_dir().join(format!("evenhand-{test}-{}", std::process::id()));
    Server::start_in(&folder, flags)
}

fn token(server: &Server, name: &str, tenant: &str, user: &str) -> String {
    let body = json!({"name": name, "role": "tenant", "tenant": tenant, "user": user});
    let answer = server.post("/v1/tokens", &server.admin, &body);
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["secret"].as_str().unwrap().to_owned()
}

/// Runs a shell command as a job to its end; what it printed.
fn run(server: &Server, token: &str, program: &str) -> String {
    let job = server.submit(token, &json!({"argv": ["sh", "-c", program]}));
    eventually("it has ended", || {
        let row = server.get(&format!("/v1/jobs/{job}"), token).json();
        row["ended_ms"].is_u64().then_some(())
    });
    server.get(&format!("/v1/jobs/{job}/output"), token).body
}

fn id(user: &str, flag: &str) -> String {
    let output = std::process::Command::new("id").args([flag, user]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_job_is_its_users_and_no_other_users_job_can_read_it() {
    if !is_root() {
        return;
    }
    let server = start("users", &["--user", "nobody"]);
    let (ann, bob) = (token(&server, "a", "vision", ANN), token(&server, "b", "speech", BOB));
    let said =
        run(&server, &ann, "id -u; id -G; echo $USER $HOME; pwd; umask > $EVENHAND_CHECKPOINT_DIR/f; ls -n");
    let home = "/usr/sbin";
    let work = server.state.join("jobs/1/work").display().to_string();
    let expected = [id(ANN, "-u"), id(ANN, "-G"), format!("{ANN} {home}"), work, "total 0".to_owned()];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    let folder = server.state.join("jobs/1");
    let owner = |path: &str| std::fs::metadata(folder.join(path)).unwrap().uid().to_string();
    assert_eq!((owner("output.log"), owner("work")), (id(ANN, "-u"), id(ANN, "-u")));
    let state = server.state.display();
    for path in [
        "jobs/1/output.log",
        "jobs/1/work",
        "jobs",
        "token",
        "tokens.json",
        "ledger.db",
        "leases",
        "server.lock",
    ] {
        let said = run(&server, &bob, &format!("cat {state}/{path}; ls {state}/{path}/; exit 0"));
        assert!(said.contains("Permission denied") && !said.contains("total"), "{path}: {said}");
    }
    assert!(
        run(&server, &ann, &format!("cat {state}/jobs/1/output.log")).contains(ANN),
        "one's own can be read"
    );
    assert_eq!(run(&server, &server.token("n", "tenant", Some("x")), "id -un"), "nobody\n", "serve --user");
    assert_eq!(run(&server, &server.admin, "id -un"), "root\n", "the first token is the service's user's");
    assert!(run(&server, &ann, "kill -9 $PPID 2>&1; exit 0").contains("not permitted"), "nor its supervisor");
}

#[test]
fn nothing_that_a_submitter_chooses_runs_as_root() {
    if !is_root() {
        return;
    }
    let server = start("chooses", &["--retries", "0"]);
    let ann = token(&server, "a", "vision", ANN);
    let refused = server.post("/v1/jobs", &ann, &json!({"argv": ["true"], "user": "root"}));
    assert_eq!(refused.status, 422, "{refused:?}");
    // The dynamic linker writes a trace of whoever loads anything, as whoever that is.
    let trace = std::env::temp_dir().join(format!("evenhand-trace-{}", std::process::id()));
    let body = json!({"argv": ["sh", "-c", "exit 0"], "environment": {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": trace}});
    let job = server.submit(&ann, &body);
    eventually("it has ended", || server.get(&format!("/v1/jobs/{job}"), &ann).json()["ended_ms"].as_u64());
    let name = trace.file_name().unwrap().to_str().unwrap().to_owned();
    let traces = std::fs::read_dir(std::env::temp_dir()).unwrap().filter_map(|entry| {
        let entry = entry.unwrap();
        entry.file_name().to_str().is_some_and(|found| found.starts_with(&name)).then(|| entry.path())
    });
    let traces: Vec<_> = traces.collect();
    assert!(!traces.is_empty(), "the variables reach the job");
    for trace in traces {
        assert_ne!(std::fs::metadata(&trace).unwrap().uid(), 0, "{}", trace.display());
        std::fs::remove_file(trace).unwrap();
    }
    let folder = format!("{}/made-by-root", server.state.display());
    let body = json!({"argv": ["true"], "folder": folder});
    let job = server.submit(&ann, &body);
    let row = eventually("it has ended", || {
        let row = server.get(&format!("/v1/jobs/{job}"), &ann).json();
        row["ended_ms"].is_u64().then_some(row)
    });
    assert_eq!(row["phase"], "failed");
    assert!(!std::path::Path::new(&folder).exists());
    let said = server.get(&format!("/v1/jobs/{job}/output"), &ann).body;
    assert!(said.contains(&format!("true cannot be run as {ANN} in {folder}: No such file")), "{said}");
    // A link to what only root can read is no checkpoint.
    let secret = server.state.join("secret");
    std::fs::write(&secret, "41").unwrap();
    run(&server, &ann, &format!("ln -s {} $EVENHAND_CHECKPOINT; exit 1", secret.display()));
    let rows = server.get("/v1/jobs", &ann).json();
    let steps: Vec<&Value> = rows["jobs"].as_array().unwrap().iter().map(|row| &row["steps"]).collect();
    assert!(steps.iter().all(|steps| **steps == json!(0.0)), "{steps:?}");
}

#[test]
fn a_token_without_a_user_submits_nothing_to_a_service_of_root_and_is_told_what_to_do() {
    if !is_root() {
        return;
    }
    let server = start("unnamed", &[NO_USER]);
    let token = server.token("v", "tenant", Some("vision"));
    let refused = server.post("/v1/jobs", &token, &json!({"argv": ["true"]}));
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (403, Some("no-user")));
    assert!(refused.body.contains("evenhand token add --user"), "{refused:?}");
    assert_eq!(server.get("/v1/jobs", &token).status, 200, "it may look");
    let state = server.state.display().to_string();
    let add = |user: &str| {
        says(
            &["token", "add", "w", "--role", "tenant", "--tenant", "t", "--state", &state, "--user", user],
            &[],
        )
    };
    let (content, said) = add("no-such-user");
    assert!(!content && said.contains("there is no user \"no-such-user\""), "{said}");
    assert!(add(ANN).0);
    let (_, list) = says(&["token", "list", "--state", &state], &[]);
    assert!(list.lines().any(|line| line.starts_with('w') && line.ends_with(ANN)), "{list}");
}

#[test]
fn a_restart_forgets_nobodys_user() {
    if !is_root() {
        return;
    }
    let mut server = start("restart", &["--retry-delay", "0s"]);
    let ann = token(&server, "a", "vision", ANN);
    let running = server.submit(&ann, &json!({"argv": ["sh", "-c", "id -un; sleep 2; id -un"], "gpus": 4}));
    let waits = server.submit(&ann, &json!({"argv": ["sh", "-c", "id -un"], "gpus": 4}));
    eventually("it runs", || {
        (server.get(&format!("/v1/jobs/{running}"), &ann).json()["phase"] == "running").then_some(())
    });
    server.restart();
    eventually("both have ended", || {
        (server.get("/v1/jobs?phase=finished", &ann).json()["jobs"].as_array()?.len() == 2).then_some(())
    });
    let said = |job: u64| server.get(&format!("/v1/jobs/{job}/output"), &ann).body;
    assert_eq!((said(running), said(waits)), (format!("{ANN}\n{ANN}\n"), format!("{ANN}\n")));
}
