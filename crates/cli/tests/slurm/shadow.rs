//! Watching a Slurm that decides by itself: nothing is changed there, and what it did can be told and run again.

use crate::cluster::{Cluster, eventually, is_installed};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A user that every Linux has, and that may do nothing.
const NOBODY: u32 = 65534;

#[test]
fn a_slurm_that_decides_by_itself_is_watched_by_a_user_who_may_change_nothing() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    // A copy that everybody may run, in a folder of theirs: the build folder may be closed to others.
    let folder = std::env::temp_dir().join(format!("evenhand-shadow-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let binary = folder.join("evenhand");
    fs::copy(env!("CARGO_BIN_EXE_evenhand"), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let nobody = |program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(&folder).env("SLURM_CONF", cluster.conf()).stdin(Stdio::null());
        command.uid(NOBODY).gid(NOBODY);
        command
    };
    let submit = |tenant: &str, name: &str, gpus: &str, seconds: &str| {
        let script = format!("sleep {seconds}");
        let words = [
            "--parsable",
            "-o",
            "/dev/null",
            "-p",
            "others",
            "-A",
            tenant,
            "-J",
            name,
            gpus,
            "--wrap",
            &script,
        ];
        cluster.says("sbatch", &words)
    };
    // One tenant fills the v100s with long jobs; the short ones of the other wait behind them.
    let first: Vec<String> =
        (0..4).map(|number| submit("vision", &format!("long-{number}"), "--gres=gpu:v100:8", "6")).collect();
    for number in 0..4 {
        submit("speech", &format!("short-{number}"), "--gres=gpu:v100:2", "1");
    }
    // What watches may change nothing.
    let change =
        nobody(Path::new("scontrol")).args(["update", &format!("jobid={}", first[3]), "nice=5"]).output();
    assert!(!change.unwrap().status.success(), "nobody may change jobs of others");
    let cancel = nobody(Path::new("scancel")).arg(&first[3]).output().unwrap();
    let told = String::from_utf8_lossy(&cancel.stderr).into_owned();
    assert!(told.contains("denied"), "nobody may cancel jobs of others: {told}");

    let mut watcher = nobody(&binary);
    watcher.args(["shadow", "slurm", "--journal", "seen.jsonl", "--every", "500ms", "--partition", "others"]);
    let mut watcher = watcher.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("all have ended", || {
        cluster.says("squeue", &["-h", "-a", "-p", "others", "-t", "pending,running,completing"]).is_empty()
            && fs::read_to_string(folder.join("seen.jsonl")).unwrap_or_default().matches("finished").count()
                >= 8
    });
    let pid = rustix::process::Pid::from_child(&watcher);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(watcher.wait().unwrap().success());

    let says = |words: &[&str]| {
        let output = nobody(&binary).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let report: serde_json::Value = serde_json::from_str(&says(&["report", "seen.jsonl", "--json"])).unwrap();
    assert_eq!((report["policy"].as_str(), report["finished"].as_u64()), (Some("slurm"), Some(8)));
    let jobs = cluster.says("squeue", &["-h", "-a", "-t", "all", "-p", "others", "-o", "%V %e"]);
    let (mut total_s, mut count) = (0, 0);
    for line in jobs.lines() {
        let (submitted, ended) = line.split_once(' ').unwrap();
        total_s += seconds(ended) - seconds(submitted);
        count += 1;
    }
    let (mean, told) = (f64::from(total_s) / f64::from(count), report["jct_mean_s"].as_f64().unwrap());
    assert!((mean - told).abs() < 0.01 * mean, "Slurm says {mean}, the report {told}");

    let told = says(&["whatif", "seen.jsonl", "--policy", "promise", "--policy", "las"]);
    for words in [
        "What happened, under slurm: 8 of 8 jobs",
        "divided equally",
        "Under promise jobs would",
        "vision",
        "speech",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let replay = nobody(&binary).args(["replay", "seen.jsonl"]).output().unwrap();
    assert_eq!(replay.status.code(), Some(2), "nobody of ours decided there");
    let _ = fs::remove_dir_all(folder);
}

/// Seconds of the day of a time such as 2026-11-16T07:24:34.
fn seconds(time: &str) -> i32 {
    let clock = time.split('T').nth(1).unwrap_or_default();
    clock.split(':').fold(0, |total, part| 60 * total + part.parse::<i32>().unwrap_or(0))
}
