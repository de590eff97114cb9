//! Whole runs through the built program: repeatable, replayable, and as the contract says.

mod program;

use program::{Folder, scenario};
use serde_json::Value;
use std::process::{Command, Stdio};

/// The numbers that depend on the machine.
const TIMINGS: [&str; 5] = ["decide_ms_p50", "decide_ms_p99", "cpu_s", "wall_s", "peak_rss_mb"];

/// The fields of `simulate --json`, as design/cli.md has them.
const FIELDS: &str = "policy parameters seed jobs finished retired gpus makespan_s jct_mean_s jct_p50_s jct_p95_s \
    jct_p99_s wait_mean_s wait_p50_s ftf_worst ftf_mean ftf_p95 unfair_fraction ftf_dynamic_worst \
    unfair_dynamic_fraction ftf_fluid_worst ftf_fluid_mean ftf_fluid_p99 unfair_fluid_fraction jain apps app_rho_worst app_rho_mean \
    app_rho_p50 app_rho_p95 app_unfair_fraction app_rho_share_worst app_unfair_share_fraction \
    app_jain app_jct_mean_s utilisation preemptions \
    lost_gpu_hours lease_kept_fraction gpu_hours rounds out_of_memory shared_slowdown_mean shared_slowdown_worst busy_fraction \
        pairings_unmeasured decide_ms_p50 decide_ms_p99 cpu_s wall_s peak_rss_mb ledger \
    audit predictor speeds";

fn twenty(rest: &str) -> String {
    format!("simulate --trace {} --cluster v100=8 --gpus-per-node 4 {rest}", scenario("twenty.csv"))
}

/// JSON without the numbers that depend on the machine.
fn untimed(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).expect("stdout is one JSON document");
    let rows = match &mut value {
        Value::Array(rows) => rows.iter_mut().collect(),
        row => vec![row],
    };
    for row in rows {
        let row = row.as_object_mut().expect("a run is an object");
        for timing in TIMINGS {
            row.remove(timing).unwrap_or_else(|| panic!("{timing} is missing"));
        }
    }
    value
}

#[test]
fn the_same_seed_gives_the_same_ledger_and_any_ledger_replays() {
    let folder = Folder::new("the_same_seed");
    for policy in evenhand_policies::POLICIES.iter().map(|entry| entry.name) {
        for out in ["a", "b"] {
            folder.done(&twenty(&format!("--policy {policy} --restore 20s --seed 7 --out {out}")));
        }
        assert_eq!(folder.read("a/ledger.jsonl"), folder.read("b/ledger.jsonl"), "{policy}");
        assert!(folder.read("a/report.html").contains("</html>"));
        let replayed = folder.done("replay a/ledger.jsonl").stdout;
        assert!(replayed.ends_with("decisions: all the same\n"), "{policy}: {replayed}");
    }
}

#[test]
fn a_window_planned_ahead_is_in_the_ledger_and_on_the_page() {
    let folder = Folder::new("ahead");
    for (policy, rounds) in [("shockwave", 20), ("shockwave-plus", 60)] {
        folder.done(&twenty(&format!("--policy {policy} --restore 20s --out .")));
        let window = format!(r#""ahead":{{"rounds":{rounds},"round":"#);
        assert!(folder.read("ledger.jsonl").contains(&window), "{policy}");
        assert!(folder.read("report.html").contains("The plan ahead"), "{policy}");
        assert!(folder.done("replay ledger.jsonl").stdout.ends_with("decisions: all the same\n"), "{policy}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let folder = Folder::new("threads");
    let compare = format!("compare {} --json --ledgers --seeds 1,2 --out out", scenario("twenty.toml"));
    let mut results = Vec::new();
    for threads in [1, 2] {
        let outcome = folder.done(&format!("{compare} --threads {threads}"));
        assert_eq!(outcome.stderr, "", "there is nothing to say in a pipe");
        let ledgers = Folder(folder.0.join("out/ledgers"));
        let texts: Vec<_> = ledgers.names().iter().map(|name| (name.clone(), ledgers.read(name))).collect();
        results.push((untimed(&outcome.stdout), texts));
        std::fs::remove_dir_all(folder.0.join("out")).unwrap();
        for (name, text) in &results[0].1 {
            folder.write(name, text);
            assert!(folder.done(&format!("replay {name}")).stdout.contains("all the same"));
        }
    }
    assert_eq!(results[0].1.len(), 14, "seven policies, two seeds");
    assert!(results[0] == results[1], "one thread and two give different results");
}

#[test]
fn simulate_prints_exactly_the_promised_fields_in_their_order() {
    let folder = Folder::new("fields");
    let text = folder.done(&twenty("--json --policy fifo --set backfill=true")).stdout;
    let value: Value = serde_json::from_str(&text).unwrap();
    let mut found: Vec<(usize, &str)> = value
        .as_object()
        .unwrap()
        .keys()
        .map(|key| (text.find(&format!("\"{key}\":")).unwrap(), key.as_str()))
        .collect();
    found.sort_unstable();
    let found: Vec<&str> = found.into_iter().map(|(_, key)| key).collect();
    assert_eq!(found, FIELDS.split_whitespace().collect::<Vec<_>>());
    assert_eq!(value["ledger"], "evenhand-out/ledger.jsonl");
    assert_eq!(value["parameters"]["backfill"], "true");
    let text = folder.done(&twenty("--json --no-ledger --out bare")).stdout;
    assert!(serde_json::from_str::<Value>(&text).unwrap()["ledger"].is_null());
    assert_eq!(Folder(folder.0.join("bare")).names(), ["report.html"]);
}

#[test]
fn a_report_of_a_ledger_says_what_the_run_said() {
    let folder = Folder::new("a_report_of_a_ledger");
    let run = folder.done(&twenty("--json --out out")).stdout;
    let report = folder.done("report out/ledger.jsonl --json").stdout;
    assert_eq!(untimed(&run), untimed(&report));
    assert_eq!(Folder(folder.0.join("out")).names(), ["ledger.jsonl", "report.html"]);
    let text = folder.done("report out/ledger.jsonl --out page.html").stdout;
    assert!(text.contains("promise, seed 1") && text.contains("language"), "{text}");
    assert!(folder.read("page.html").contains("</html>"));
}

#[test]
fn a_ledger_that_was_tampered_with_is_found_out() {
    let folder = Folder::new("tampered");
    folder.done(&twenty("--policy fifo --out ."));
    let ledger = folder.read("ledger.jsonl");
    let at = ledger.lines().position(|line| line.contains("\"start\"")).unwrap();
    let line = ledger.lines().nth(at).unwrap();
    let changed = line.replacen("\"reason\":\"first-come\"", "\"reason\":\"backfilled\"", 1);
    assert_ne!(line, changed, "{line}");
    folder.write("other.jsonl", &ledger.replacen(line, &changed, 1));
    let outcome = folder.run(["replay", "other.jsonl"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{}", outcome.stderr);
    let place = format!("error: other.jsonl: line {}: ", at + 1);
    assert!(outcome.stderr.starts_with(&place), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the ledger says: start job 1 as lease 1 on"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("(backfilled)") && outcome.stderr.contains("(first-come)"));
    assert!(outcome.stderr.lines().count() < 10, "{}", outcome.stderr);
}

#[test]
fn a_ledger_that_no_engine_could_meet_is_no_crash() {
    let folder = Folder::new("impossible");
    folder.done(&twenty("--out ."));
    let ledger = folder.read("ledger.jsonl");
    // Time goes back: the first record moves to the end.
    let lines: Vec<&str> = ledger.lines().collect();
    let first = lines.iter().position(|line| line.contains("\"t\":0,")).unwrap();
    folder.write("back.jsonl", &format!("{ledger}{}\n", lines[first]));
    let outcome = folder.run(["replay", "back.jsonl"]);
    assert_eq!(outcome.code, 1);
    let place = format!("error: back.jsonl: line {}: ", lines.len() + 1);
    assert!(
        outcome.stderr.starts_with(&place) && outcome.stderr.contains("time went back"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_torn_last_line_is_left_out_with_a_warning() {
    let folder = Folder::new("torn");
    folder.done(&twenty("--out ."));
    let ledger = folder.read("ledger.jsonl");
    let lines = ledger.lines().count();
    folder.write("torn.jsonl", &ledger[..ledger.len() - 5]);
    for command in ["replay", "report"] {
        let outcome = folder.done(&format!("{command} torn.jsonl"));
        let place = format!("warning: torn.jsonl: line {lines}: cut off");
        assert!(outcome.stderr.starts_with(&place), "{}", outcome.stderr);
        assert!(!outcome.stdout.is_empty());
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for line in ["policies", "traces --json", "completions bash"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
        command.args(line.split(' ')).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Closed before it can write.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        assert!(output.status.success(), "{line}");
    }
}

#[test]
fn the_demo_needs_nothing_and_writes_one_page() {
    let folder = Folder::new("demo");
    let text = folder.done("demo").stdout;
    assert!(text.contains("Open evenhand-demo/report.html"), "{text}");
    for policy in evenhand_policies::POLICIES {
        assert!(text.lines().any(|line| line.starts_with(policy.name)), "{text}");
    }
    assert!(text.contains("fifo backfill=true") && !text.contains('\x1b'));
    assert_eq!(Folder(folder.0.join("evenhand-demo")).names(), ["report.html"]);
    let json: Value = serde_json::from_str(&folder.done("demo --json").stdout).unwrap();
    assert_eq!(json.as_array().unwrap().len(), evenhand_policies::POLICIES.len() + 1);
}

#[test]
fn a_comparison_takes_parameters_for_one_of_its_policies() {
    let folder = Folder::new("parameters");
    let work = format!("--trace {} --cluster v100=8 --json", scenario("twenty.csv"));
    let text = folder.done(&format!("compare {work} --policy all --set fifo.backfill=true")).stdout;
    let rows: Value = serde_json::from_str(&text).unwrap();
    let set: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["parameters"].to_string()).collect();
    assert_eq!(set[0], r#"{"backfill":"true"}"#);
    assert!(set[1..].iter().all(|parameters| parameters == "{}"));
}

#[test]
fn several_seeds_give_means_and_a_sweep_is_drawn() {
    let folder = Folder::new("seeds");
    let text = "[cluster]\ngpus = \"v100=8\"\n[workload.generate]\njobs = 20\ntenants = 2\n\
        [simulation.faults]\njob_crash_every_s = 7200.0\n\
        [[policy]]\nname = \"las\"\n\
        [[policy]]\nname = \"slaq\"\nsweep = { decay = [2, 5, 10], epoch = [\"3m\", \"12m\"] }\n";
    folder.write("sweep.toml", text);
    let table = folder.done("compare sweep.toml --seeds 1..3 --out a").stdout;
    assert!(table.contains("Means of 3 seeds") && table.contains('±'), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("slaq decay=")).count(), 6, "{table}");
    assert!(!table.contains("rho"), "there are no apps: {table}");
    let page = folder.read("a/report.html");
    assert!(page.contains("<h2>Sweep</h2>") && page.contains("those of seed 1"));
    let json: Value =
        serde_json::from_str(&folder.done("compare sweep.toml --seeds 1..3 --json").stdout).unwrap();
    let seeds: Vec<_> = json.as_array().unwrap().iter().map(|row| row["seed"].as_u64().unwrap()).collect();
    assert_eq!(seeds, [1, 2, 3].repeat(7));
    let table = folder.done("compare sweep.toml --out b").stdout;
    assert!(!table.contains('±') && !table.contains("Means of"), "{table}");
}

#[test]
fn a_cluster_may_come_from_a_file() {
    let folder = Folder::new("cluster_file");
    let line = |cluster: &str, out: &str| {
        let trace = scenario("twenty.csv");
        folder.done(&format!("simulate --trace {trace} --cluster {cluster} --out {out}"));
        folder.read(&format!("{out}/ledger.jsonl"))
    };
    folder.write("nodes.toml", "[[cluster.nodes]]\nmodel = \"v100\"\ncount = 1\ngpus = 8\n");
    assert_eq!(line("nodes.toml", "a"), line("v100=8", "b"));
    // A whole scenario will do.
    assert_ne!(line(&scenario("twenty.toml"), "c"), line("v100=8", "b"));
    let nodes = "sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,0,\nn1,1,1,4,v100\nn2,1,1,4,v100\n";
    folder.write("nodes.csv", nodes);
    let racks = " --nodes-per-rack 1";
    assert_eq!(line("nodes.csv", "d"), line("v100=8 --gpus-per-node 4", "e"));
    assert_eq!(
        line(&format!("nodes.csv{racks}"), "d"),
        line(&format!("v100=8 --gpus-per-node 4{racks}"), "e")
    );
    // Whether it is packed is told from its content.
    folder.write("nodes.csv.gz", nodes);
    assert_eq!(line("nodes.csv.gz", "d"), line("nodes.csv", "e"));
}

#[test]
fn what_is_registered_is_listed() {
    let folder = Folder::new("listed");
    for (command, name) in
        [("policies", "las"), ("placers", "topology"), ("predictors", "measured"), ("traces", "native")]
    {
        assert!(folder.done(command).stdout.contains(name));
        let json: Value = serde_json::from_str(&folder.done(&format!("{command} --json")).stdout).unwrap();
        assert!(json.as_array().unwrap().iter().any(|row| row["name"] == name));
    }
    assert!(folder.done("traces").stdout.contains("submit_s"));
}

#[test]
fn auctions_are_measured_with_their_gaps() {
    let folder = Folder::new("auctions");
    let found: Value = serde_json::from_str(&folder.done("bench auction --json").stdout).unwrap();
    let auctions = found["auctions"].as_array().unwrap();
    assert_eq!(auctions.len(), 6);
    for line in auctions {
        assert!(line["gap"].as_f64().unwrap() < 0.01, "{line}");
        assert!((0.0..=1.0).contains(&line["kept_least"].as_f64().unwrap()), "{line}");
        assert!(line["exact"] == true || line["bids"] == "gangs of any size", "{line}");
    }
}

#[test]
fn a_small_benchmark_runs() {
    let folder = Folder::new("bench");
    let child = folder.done("bench-one las 500 64 1").stdout;
    let cost: Value = serde_json::from_str(&child).unwrap();
    assert_eq!(cost["finished"], 500);
    assert!(cost["ledger_mb"].as_f64().unwrap() > 0.0);
    assert_eq!(folder.names(), [""; 0]);
}
