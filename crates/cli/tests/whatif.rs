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
    let wrong = evenhand(&folder, &["whatif", "sim/ledger.jsonl", "--policy", "fivo"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("did you mean `fifo`"));
}
