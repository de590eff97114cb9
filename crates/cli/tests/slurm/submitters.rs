//! What submitters do to their jobs in Slurm, and what they are told there.

use crate::cluster::{Cluster, eventually, is_installed};
use crate::server::Server;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn submitters_cancel_hold_and_crash_as_they_do_in_slurm() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    let server = Server::start("slurm-submitters", &cluster, "fifo");
    let phase = |name: &str| {
        let jobs: serde_json::Value =
            serde_json::from_str(&server.says(&["queue", "--all", "--json"])).unwrap();
        let jobs = jobs["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().find(|job| job["name"] == name).map(|job| job["phase"].as_str().unwrap().to_owned())
    };
    let is = |name: &str, wanted: &str| phase(name).is_some_and(|phase| phase == wanted);
    // All GPUs of a model, so that whoever else wants one waits.
    let full = server.sbatch(&cluster, "vision", "full", &["-N2", "--gres=gpu:v100:8"], 3000);
    eventually("it runs", || server.told("full").len() == 1);
    let waiting = server.sbatch(&cluster, "speech", "waiting", &["--gres=gpu:v100:1"], 10);
    eventually("it is known", || phase("waiting").is_some());
    cluster.says("scancel", &[&waiting]);
    eventually("one that waited is cancelled", || is("waiting", "cancelled"));
    cluster.says("scancel", &[&full]);
    eventually("one that ran is cancelled", || is("full", "cancelled"));
    assert!(server.told("waiting").is_empty());
    assert_eq!(server.told("full").iter().filter(|line| line.starts_with("start")).count(), 1);

    let crashes = cluster.says(
        "sbatch",
        &["--parsable", "-o", "/dev/null", "-J", "crashes", "--requeue", "--gres=gpu:1", "--wrap", "exit 3"],
    );
    let nodes = cluster
        .says("sbatch", &["--parsable", "-o", "/dev/null", "-w", "gpu1", "--gres=gpu:1", "--wrap", "true"]);
    let comment = || cluster.says("scontrol", &["show", "job", &nodes]);
    eventually("why it is left alone is told", || {
        comment().contains("evenhand leaves it alone: it asks for nodes by name")
    });

    let held = server.sbatch(&cluster, "speech", "held", &["--hold", "--gres=gpu:1"], 10);
    eventually("one that crashes has failed", || is("crashes", "failed"));
    let shown = cluster.says("scontrol", &["show", "job", &crashes]);
    assert!(shown.contains("JobState=FAILED") && shown.contains("Restarts=3"), "{shown}");
    assert!(server.told("held").is_empty());
    cluster.says("scontrol", &["release", &held]);
    eventually("one that is released runs", || server.told("held").last().is_some_and(|line| line == "done"));
}

#[test]
fn nodes_on_which_others_hold_gpus_take_nothing_new_and_strays_are_moved_home() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    let server = Server::start("slurm-others", &cluster, "fifo");
    let health = || {
        let nodes: serde_json::Value = serde_json::from_str(&server.says(&["nodes", "--json"])).unwrap();
        let nodes = nodes["nodes"].as_array().cloned().unwrap_or_default();
        let node = nodes.into_iter().find(|node| node["name"] == "gpu0");
        node.map_or_else(String::new, |node| node["health"].as_str().unwrap().to_owned())
    };
    eventually("the machines are known", || health() == "up");
    let words = [
        "--parsable",
        "-o",
        "/dev/null",
        "-p",
        "others",
        "-w",
        "gpu0",
        "--gres=gpu:1",
        "--wrap",
        "sleep 600",
    ];
    let other = cluster.says("sbatch", &words);
    eventually("gpu0 takes nothing new", || health() == "draining");
    server.sbatch(&cluster, "vision", "small", &["--gres=gpu:v100:1"], 10);
    eventually("it is done", || server.told("small").last().is_some_and(|line| line == "done"));
    assert!(server.told("small")[0].contains("on gpu1"), "{:?}", server.told("small"));
    let shown = cluster.says("squeue", &["-h", "-j", &other, "-o", "%T"]);
    assert_eq!(shown, "RUNNING", "jobs of others are not touched");
    cluster.says("scancel", &[&other]);
    eventually("gpu0 takes jobs again", || health() == "up");

    // Later than now, so that Slurm does not start it before it is seen.
    let stray = server.sbatch(
        &cluster,
        "vision",
        "stray",
        &["-p", "evenhand-run", "--begin=now+3", "--gres=gpu:1"],
        10,
    );
    let partition = || cluster.says("squeue", &["-a", "-h", "-j", &stray, "-o", "%P"]);
    eventually("it is moved to where jobs wait", || partition() == "evenhand");
    eventually("it runs when it may", || server.told("stray").last().is_some_and(|line| line == "done"));
}

#[test]
fn jobs_handed_to_slurm_run_as_the_user_of_their_token() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start();
    // Where everybody can go through, as `/root` is none.
    let folder = std::env::temp_dir().join(format!("evenhand-slurm-users-{}", std::process::id()));
    let server = Server::start_in(folder.clone(), &cluster, "fifo");
    let words = ["token", "add", "ann", "--role", "tenant", "--tenant", "vision", "--user", "daemon"];
    let token = server.says(&words);
    eventually("the machines are known", || server.says(&["nodes"]).contains("gpu3"));
    let program = "id -un; echo $USER; echo 7 > $EVENHAND_CHECKPOINT && echo saved";
    let words = ["submit", "--name", "whose", "--gpus", "1", "--", "sh", "-c", program];
    let submitted = server.run_with(token.trim(), &words);
    assert!(submitted.status.success(), "{submitted:?}");
    eventually("it is done", || server.says(&["queue", "--all"]).contains("finished"));
    let own = folder.join("state/jobs/1");
    let said = fs::read_to_string(own.join("output.log")).unwrap();
    assert_eq!(said, "daemon\ndaemon\nsaved\n");
    for file in ["output.log", "environment"] {
        let metadata = fs::metadata(own.join(file)).unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o077), (1, 0), "{file}");
    }
    assert_eq!(fs::metadata(own.join("script.sh")).unwrap().uid(), 0);
    drop(server);
    let _ = fs::remove_dir_all(folder);
}
