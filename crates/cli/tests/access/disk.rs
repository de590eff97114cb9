//! Real disks that are full, or that nobody may write to any more. This takes root, who may mount some.

use crate::eventually::eventually;
use crate::server::{Answer, Server};
use crate::skipped::skipped;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small disk that is gone when this is dropped.
struct Disk(PathBuf);

/// Whether a program of the machine is there and was content.
fn done(words: &[&str]) -> bool {
    Command::new(words[0]).args(&words[1..]).output().is_ok_and(|output| output.status.success())
}

impl Disk {
    /// Mounts one; says so if that cannot be.
    fn mount(test: &str, mount: impl FnOnce(&str) -> bool) -> Option<Self> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("disk-{test}"));
        let place = path.display().to_string();
        // A test that was killed left its own.
        done(&["umount", "-l", &place]);
        fs::create_dir_all(&path).unwrap();
        if !mount(&place) {
            skipped("nothing can be mounted here");
            return None;
        }
        Some(Self(path))
    }

    /// In memory.
    fn small(test: &str) -> Option<Self> {
        Self::mount(test, |place| done(&["mount", "-t", "tmpfs", "-o", "size=24m", "none", place]))
    }

    /// On a file, with a file system that forbids writing when it finds itself damaged.
    fn wary(test: &str) -> Option<Self> {
        let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("disk-{test}.img"));
        fs::write(&image, vec![0; 16 << 20]).unwrap();
        let image = image.display().to_string();
        Self::mount(test, |place| {
            done(&["mkfs.ext4", "-q", "-F", "-O", "^has_journal", &image])
                && done(&["mount", "-o", "loop,errors=remount-ro", &image, place])
        })
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        done(&["umount", "-l", &self.0.display().to_string()]);
    }
}

fn submit(server: &Server, argv: &[&str]) -> Answer {
    server.post("/v1/jobs", &server.admin, &json!({"argv": argv, "gpus": 1}))
}

/// Submits until there is no room; the jobs that were acknowledged, and what the first other was told.
fn submit_until_refused(server: &Server) -> (Vec<u64>, Answer) {
    let (mut acknowledged, long) = (Vec::new(), "x".repeat(50_000));
    for _ in 0..1000 {
        let answer = submit(server, &["true", &long]);
        if answer.status != 201 {
            return (acknowledged, answer);
        }
        acknowledged.push(answer.json()["job"].as_u64().unwrap());
    }
    panic!("the disk is full at some time");
}

fn status(server: &Server) -> Value {
    server.get("/v1/health", "").json()["status"].clone()
}

/// All jobs in the phase that all should come to, by number.
fn until_finished(server: &Server, jobs: &[u64]) {
    eventually("all have finished", || {
        let page = server.get("/v1/jobs?limit=1000", &server.admin).json();
        let page = page["jobs"].as_array()?.clone();
        let numbers: Vec<_> = page.iter().filter_map(|job| job["id"].as_u64()).collect();
        assert_eq!(numbers, jobs, "those that were acknowledged, and no others");
        let failed = page.iter().find(|job| job["phase"] == "failed");
        assert!(failed.is_none(), "{failed:?}");
        page.iter().all(|job| job["phase"] == "finished").then_some(())
    });
}

/// A job that counts, elsewhere, so that it can be seen to go on.
fn counting(server: &Server, file: &str) -> u64 {
    let _ = fs::remove_file(file);
    let program = format!("for i in $(seq 30); do echo $i >> {file}; sleep 0.1; done");
    let job = submit(server, &["sh", "-c", &program]).json()["job"].as_u64().unwrap();
    eventually("it counts", || fs::read_to_string(file).ok());
    job
}

fn until_counted(file: &str) {
    eventually("it goes on to its end", || fs::read_to_string(file).ok()?.ends_with("30\n").then_some(()));
}

#[test]
fn a_full_disk_refuses_new_work_and_loses_nothing_with_or_without_a_restart() {
    let Some(disk) = Disk::small("full") else { return };
    let file = format!("{}/disk-full-count", env!("CARGO_TARGET_TMPDIR"));
    let mut server = Server::start_at(&disk.0, &[]);
    let mut jobs = vec![counting(&server, &file)];
    for (restarts, megabytes) in [(false, 16), (true, 6)] {
        let ballast = disk.path("ballast");
        fs::write(&ballast, vec![0; megabytes << 20]).unwrap();
        let (acknowledged, refused) = submit_until_refused(&server);
        jobs.extend(acknowledged);
        assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (503, Some("unavailable")));
        let message = refused.json()["error"]["message"].to_string();
        assert!(
            message.contains("the disk is full") && message.contains("nothing was accepted"),
            "{message}"
        );
        // Jobs that end make a little room, and are to have none.
        let rest = disk.path("rest");
        eventually("nothing fits any more", || {
            fs::write(&rest, vec![0; 24 << 20]).unwrap_err();
            let answer = submit(&server, &["true"]);
            jobs.extend((answer.status == 201).then(|| answer.json()["job"].as_u64().unwrap()));
            (answer.status == 503 && status(&server) == "mending").then_some(())
        });
        let looks = server.get("/v1/jobs?limit=1", &server.admin);
        assert_eq!(looks.status, 200, "looking still works: {looks:?}");
        let token = json!({"name": "late", "role": "operator"});
        let token = server.post("/v1/tokens", &server.admin, &token);
        assert_eq!(
            (token.status, token.json()["error"]["code"].as_str()),
            (503, Some("unavailable")),
            "{token:?}"
        );
        assert_eq!(server.get("/v1/tokens", &server.admin).status, 200, "the tokens are as they were");
        if restarts {
            server.kill();
        } else {
            until_counted(&file);
        }
        fs::remove_file(ballast).unwrap();
        fs::remove_file(rest).unwrap();
        if restarts {
            server.start_again();
        }
        eventually("it goes on by itself", || (status(&server) == "ok").then_some(()));
        until_finished(&server, &jobs);
    }
}

#[test]
fn a_disk_that_nobody_may_write_to_refuses_new_work_until_it_is_mounted_again_and_loses_nothing() {
    let Some(disk) = Disk::wary("wary") else { return };
    let file = format!("{}/disk-wary-count", env!("CARGO_TARGET_TMPDIR"));
    let mut server = Server::start_at(&disk.0, &["--retry-delay", "0s"]);
    let jobs = [counting(&server, &file), submit(&server, &["true"]).json()["job"].as_u64().unwrap()];
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let line = mounts.lines().find(|line| line.contains("disk-wary")).unwrap();
    let device = line.split(' ').next().unwrap().rsplit('/').next().unwrap().to_owned();
    if fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "a test\n").is_err() {
        return skipped("this kernel cannot pretend that a disk is damaged");
    }
    let refused = submit(&server, &["true"]);
    assert_eq!(refused.status, 503, "{refused:?}");
    let refused = submit(&server, &["true"]);
    let message = refused.json()["error"]["message"].to_string();
    assert!(refused.status == 503 && message.contains("read-only"), "{message}");
    assert_eq!(status(&server), "mending");
    assert_eq!(server.get("/v1/jobs/1/explain", &server.admin).status, 200, "looking still works");
    until_counted(&file);
    assert!(server.is_alive());
    server.kill();
    // Its supervisor can write down nothing, and goes.
    eventually("nobody uses it", || done(&["umount", &disk.path("")]).then_some(()));
    let image = format!("{}.img", disk.0.display());
    assert!(done(&["mount", "-o", "loop", &image, &disk.path("")]));
    server.start_again();
    // The end of the first is not known, so that it is run again.
    until_finished(&server, &jobs);
}

#[test]
fn a_store_that_cannot_be_written_for_a_while_goes_on_when_it_can() {
    let Some(disk) = Disk::wary("locked") else { return };
    let mut server = Server::start_at(&disk.0, &[]);
    let first = submit(&server, &["true"]).json()["job"].as_u64().unwrap();
    let files = ["state/ledger.db", "state/ledger.db-wal"].map(|name| disk.path(name));
    if !done(&["chattr", "+i", &files[0], &files[1]]) {
        return skipped("files cannot be made immutable here");
    }
    let refused = submit(&server, &["true"]);
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (503, Some("unavailable")));
    assert!(done(&["chattr", "-i", &files[0], &files[1]]));
    eventually("it goes on by itself", || (status(&server) == "ok").then_some(()));
    let second = submit(&server, &["true"]).json()["job"].as_u64().unwrap();
    until_finished(&server, &[first, second]);
    server.kill();
    assert!(done(&["mount", "-o", "remount,ro", &disk.path("")]));
    let state = disk.path("state");
    let words = ["serve", "--listen", "127.0.0.1:0", "--fake-gpus", "v100=4", "--state", &state];
    let (content, said) = crate::server::says(&words, &[]);
    assert!(!content && said.ends_with("state/server.lock: Read-only file system (os error 30)"), "{said}");
    assert!(done(&["mount", "-o", "remount,rw", &disk.path("")]));
    server.start_again();
    until_finished(&server, &[first, second]);
}
