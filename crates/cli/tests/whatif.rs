//! A history run again: under its own policy it is what it was.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn evenhand(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.current_dir(folder).args(words).output().unwrap()
}

fn says(folder: &Path, words: &[&str]) -> String {
    let output = evenhand(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/twenty.csv");

/// Simulates under a policy; gives its figures.
fn simulated(folder: &Path, policy: &str) -> Value {
    let words =
        ["simulate", "--trace", TRACE, "--cluster", "v100=8,p100=8", "--gpus-per-node", "4", "--json"];
    let told = says(folder, &[&words[..], &["--policy", policy, "--round", "2m", "--out", "sim"]].concat());
    serde_json::from_str(&told).unwrap()
}

fn is_close(a: &Value, b: &Value, field: &str) {
    let (a, b) = (a[field].as_f64().unwrap(), b[field].as_f64().unwrap());
    assert!((a / b - 1.0).abs() < 0.05, "{field}: {a} and {b}");
}

#[test]
fn under_its_own_policy_a_history_is_what_it_was() {
    let folder = folder("whatif-own");
    for policy in ["promise", "las", "fifo", "srtf", "themis"] {
        let was = simulated(&folder, policy);
        let told = says(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "equal-share", "--json"]);
        let runs: Vec<Value> = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (runs.len(), &runs[0]["policy"], &runs[1]["policy"]),
            (2, &was["policy"], &"equal-share".into())
        );
        for field in ["jct_mean_s", "makespan_s", "jct_p95_s"] {
            is_close(&runs[0], &was, field);
        }
    }
}

#[test]
fn what_it_comes_to_is_said_in_sentences_and_pictures() {
    let folder = folder("whatif-told");
    simulated(&folder, "promise");
    let told = says(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fifo"]);
    assert!(told.contains("What happened, under promise: jobs took "), "{told}");
    assert!(told.contains("Under fifo jobs would have been done "), "{told}");
    assert!(std::fs::read_to_string(folder.join("evenhand-whatif/report.html")).unwrap().contains("<svg"));
    // Of the last minute of an hour and a half nothing was submitted.
    let none = evenhand(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fifo", "--since", "1m"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("no job of it"));
    // Before anybody has come to an end there is nothing to hold it against.
    let ledger = std::fs::read_to_string(folder.join("sim/ledger.jsonl")).unwrap();
    let early: Vec<&str> = ledger.lines().take_while(|line| !line.contains("\"lease-ended\"")).collect();
    std::fs::write(folder.join("early.jsonl"), early.join("\n") + "\n").unwrap();
    let told = says(&folder, &["whatif", "early.jsonl", "--policy", "fifo"]);
    assert!(told.contains("is not known here") && !told.contains("NaN"), "{told}");
    let wrong = evenhand(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fivo"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean `fifo`"));
}

#[test]
fn a_ledger_that_cannot_be_is_refused_with_its_line() {
    let folder = folder("whatif-wrong");
    simulated(&folder, "las");
    let ledger = std::fs::read_to_string(folder.join("sim/ledger.jsonl")).unwrap();
    let lines: Vec<&str> = ledger.lines().collect();
    let written = |name: &str, parts: &[&[&str]]| {
        std::fs::write(folder.join(name), parts.concat().join("\n") + "\n").unwrap();
        let output = evenhand(&folder, &["whatif", name, "--policy", "fifo"]);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let first = lines.iter().position(|line| line.contains("submitted")).unwrap();
    for (name, parts, why) in [
        ("empty", vec![], "line 1"),
        ("header", vec![&lines[..1]], "no job of it"),
        ("back", vec![&lines[..], &lines[1..2]], "time goes back"),
        ("twice", vec![&lines[..=first], &lines[first..=first]], "for the second time"),
    ] {
        let (code, said) = written(name, &parts);
        assert!(code == Some(2) && said.contains(why), "{name}: {said}");
    }
    let nan = ledger.replacen("\"t\":0", "\"t\":NaN", 1);
    let (code, said) = written("nan", &[&nan.lines().collect::<Vec<_>>()]);
    assert!(code == Some(2) && said.contains("line 2"), "{said}");
}

#[test]
fn slurms_own_history_is_run_again_on_the_machines_that_are_named() {
    let folder = folder("whatif-slurm");
    // Two GPUs, and three jobs of an hour that take one after the other, as Slurm had it.
    let rows = ["vision", "speech", "vision"].iter().enumerate().map(|(at, account)| {
        let (start, end) = (format!("2024-01-01T0{at}:00:00"), format!("2024-01-01T0{}:00:00", at + 1));
        format!("{at}|{account}|2024-01-01T00:00:00|{start}|{end}|COMPLETED|3600|billing=2,gres/gpu:a100=2\n")
    });
    let history =
        "JobID|Account|Submit|Start|End|State|ElapsedRaw|AllocTRES\n".to_owned() + &rows.collect::<String>();
    std::fs::write(folder.join("sacct.txt"), history).unwrap();
    let words = ["whatif", "sacct.txt", "--cluster", "a100=2", "--policy", "equal-share", "--policy", "las"];
    let told = says(&folder, &words);
    assert!(told.contains("What happened, under whoever decided: jobs took 2.00 h on average."), "{told}");
    assert!(told.contains("gives 2.00 h (+0.0 %)"), "{told}");
    let told = says(&folder, &[&words[..], &["--json", "--as", "srtf"]].concat());
    let runs: Vec<Value> = serde_json::from_str(&told).unwrap();
    let policies: Vec<_> = runs.iter().map(|run| run["policy"].as_str().unwrap()).collect();
    assert_eq!(policies, ["srtf", "equal-share", "las"]);
    // A file that is no ledger says what it might be.
    let wrong = evenhand(&folder, &["whatif", "sacct.txt", "--policy", "las"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("--cluster"));
}

#[test]
fn how_sure_speeds_are_where_jobs_never_ran_is_told() {
    let folder = folder("whatif-sure");
    simulated(&folder, "las");
    let runs = says(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fifo", "--json"]);
    let runs: Vec<Value> = serde_json::from_str(&runs).unwrap();
    for run in &runs {
        let between: Vec<f64> =
            run["jct_mean_s_between"].as_array().unwrap().iter().map(|end| end.as_f64().unwrap()).collect();
        let mean = run["jct_mean_s"].as_f64().unwrap();
        assert!(between[0] <= mean && mean <= between[1] && between[0] < between[1], "{between:?} {mean}");
    }
    let told = says(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fifo"]);
    assert!(told.contains("it is between "), "{told}");
}
