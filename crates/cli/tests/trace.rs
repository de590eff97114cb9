//! `evenhand trace`: looking at traces, converting them, making them up.

mod program;

use program::{Folder, scenario};
use std::collections::BTreeSet;

const HEADER: &str = "job_id,submit_s,gpus,duration_s";

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("one JSON document")
}

/// Runs a line that must be refused with a message that has all these words, and nothing written.
fn refused(folder: &Folder, line: &str, words: &[&str]) {
    let before = folder.names();
    let outcome = folder.run(line.split(' '));
    assert_eq!(outcome.code, 2, "evenhand {line}\n{}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "evenhand {line}");
    for word in words {
        assert!(outcome.stderr.contains(word), "evenhand {line}: no `{word}` in\n{}", outcome.stderr);
    }
    assert_eq!(folder.names(), before, "evenhand {line} wrote something");
}

#[test]
fn a_generated_trace_is_what_was_asked_for() {
    let folder = Folder::new("generate");
    let line = "trace generate --profile helios --jobs 2000 --seed 7 --gpus 64 --load 0.8 -o jobs.csv";
    let outcome = folder.done(line);
    assert!(outcome.stdout.starts_with("jobs.csv: 2,000 jobs like helios, seed 7"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains(" on 64 GPUs"), "{}", outcome.stdout);
    let text = folder.read("jobs.csv");
    assert!(text.contains("profile helios, seed 7") && text.contains("CC BY 4.0"), "{}", &text[..500]);
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2001);
    let portrait = json(&folder.done("trace inspect jobs.csv --json").stdout);
    assert_eq!((portrait["jobs"].as_u64(), portrait["format"].as_str()), (Some(2000), Some("native")));
    assert!(portrait["gpus"]["max"].as_f64().is_some_and(|gpus| gpus <= 64.0));
    let load = portrait["gpus_offered"].as_f64().expect("the trace spans some time") / 64.0;
    assert!((load - 0.8).abs() < 0.05, "{load}");
    let models: Vec<_> =
        portrait["models"].as_array().expect("a list").iter().map(ToString::to_string).collect();
    assert_eq!(models, ["\"v100\"", "\"p100\"", "\"k80\""]);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_stdout_will_do() {
    let folder = Folder::new("generate_same");
    for profile in ["philly", "helios", "pai", "openb", "elasticflow", "shockwave-like"] {
        let line = format!("trace generate --profile {profile} --jobs 300 -o");
        folder.done(&format!("{line} a.csv"));
        let piped = folder.done(&format!("{line} -"));
        assert_eq!(folder.read("a.csv"), piped.stdout, "{profile}");
        assert!(piped.stderr.contains("300 jobs like"), "{}", piped.stderr);
        let other = folder.done(&format!("trace generate --profile {profile} --jobs 300 --seed 2 -o -"));
        assert_ne!(other.stdout, piped.stdout, "{profile}");
    }
}

#[test]
fn a_generated_trace_can_be_simulated() {
    let folder = Folder::new("generate_simulate");
    folder.done("trace generate --profile philly --jobs 200 --gpus 32 --load 0.7 -o work/jobs.csv");
    let line = "simulate --trace work/jobs.csv --cluster v100=16,k80=32 --policy las --json";
    assert_eq!(json(&folder.done(line).stdout)["finished"], 200);
}

#[test]
fn days_bound_a_trace() {
    let folder = Folder::new("generate_days");
    folder.done("trace generate --profile philly --days 3 -o three.csv");
    let portrait = json(&folder.done("trace inspect three.csv --json").stdout);
    assert!(portrait["span_s"].as_f64().is_some_and(|span| span < 3.0 * 86_400.0));
    folder.done("trace generate --profile philly --days 3 --jobs 500 -o both.csv");
    let portrait = json(&folder.done("trace inspect both.csv --json").stdout);
    assert_eq!(portrait["jobs"], 500);
    assert!(portrait["span_s"].as_f64().is_some_and(|span| (span / 86_400.0 - 3.0).abs() < 0.5));
}

#[test]
fn wrong_wishes_are_refused() {
    let folder = Folder::new("generate_wrong");
    let generate = "trace generate -o x.csv --profile";
    refused(
        &folder,
        &format!("{generate} phily"),
        &["--profile: unknown profile `phily`; did you mean `philly`?"],
    );
    refused(&folder, &format!("{generate} zzz"), &["known: philly, helios"]);
    refused(&folder, &format!("{generate} philly --jobs 0"), &["--jobs is `0`, but it must be from 1"]);
    refused(&folder, &format!("{generate} philly --days -3"), &["--days is `-3`, but"]);
    refused(&folder, &format!("{generate} philly --gpus 8 --load nan"), &["--load is `NaN`, but"]);
    refused(&folder, &format!("{generate} philly --load 0.8"), &["--gpus"]);
    refused(
        &folder,
        &format!("{generate} philly --jobs 9 --days 3 --gpus 8 --load 1"),
        &["--days is `3`, but", "leave one"],
    );
    refused(&folder, "trace generate --profile philly -o x.csv.gz", &["--out: ", "gzip"]);
    refused(&folder, "trace generate --profile philly -o .", &["--out: ", "folder"]);
    refused(&folder, "trace generate --profile philly", &["--out"]);
}

#[test]
fn generated_apps_are_told_and_can_be_simulated() {
    let folder = Folder::new("generate_apps");
    let line = "trace generate --profile apps --apps 12 --gpus 16 --load 0.7 --seed 3 -o apps.csv";
    let said = folder.done(line).stdout;
    assert!(said.contains("12 apps with") && said.contains("on 16 GPUs"), "{said}");
    let text = folder.done("trace inspect apps.csv").stdout;
    assert!(text.contains("apps") && text.contains("tuners: ") && text.contains("with one job"), "{text}");
    let found = json(&folder.done("trace inspect apps.csv --json").stdout);
    assert_eq!(found["apps"]["count"], 12);
    folder.done("trace convert apps.csv -o again.csv");
    let rows = |text: &str| {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(&folder.read("apps.csv")), rows(&folder.read("again.csv")));
    let finished =
        folder.done("simulate --trace again.csv --cluster v100=16 --policy las --predictor curves").stdout;
    assert!(finished.contains("las"), "{finished}");
    refused(&folder, "trace generate --profile apps --jobs 9 -o x.csv", &["--apps"]);
    refused(&folder, "trace generate --profile philly --apps 9 -o x.csv", &["--profile apps"]);
    refused(
        &folder,
        "simulate --trace again.csv --cluster v100=16 --policy fifo --semantics original",
        &["--semantics", "apps"],
    );
}

#[test]
fn profiles_are_listed() {
    let folder = Folder::new("profiles");
    let text = folder.done("trace profiles").stdout;
    let rows = json(&folder.done("trace profiles --json").stdout);
    let names: BTreeSet<_> =
        rows.as_array().expect("a list").iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.contains("philly") && names.len() >= 6, "{names:?}");
    assert!(names.iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn a_trace_is_described_for_people_and_for_programs() {
    let folder = Folder::new("inspect");
    folder.write(
        "jobs.csv",
        &format!("{HEADER},tenant\na,0,1,100,ann\nb,30,1,200,ann\nc,60,4,4000,bob\nd,90000,8,500,bob\n"),
    );
    let text = folder.done("trace inspect jobs.csv").stdout;
    for words in [
        "format    native",
        "4 of 2 tenants, submitted within 25.0 h",
        "duration  100 s",
        "jobs by duration",
        "< 15 min",
        "████",
        "jobs by day (2 days)",
        "mean 1.33, largest 2",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    let portrait = json(&folder.done("trace inspect jobs.csv --json").stdout);
    assert_eq!(portrait["duration_s"]["p50"], 350.0);
    assert_eq!(portrait["tenants"][1]["name"], "bob");
    assert_eq!(portrait["sizes"][2]["gpu_time_fraction"], 4000.0 / 20_300.0);
    assert_eq!(portrait["warnings"].as_array().map(Vec::len), Some(0));
    assert_eq!(portrait["arrivals"]["wall_clock"], false);
}

#[test]
fn one_job_is_a_trace_too() {
    let folder = Folder::new("inspect_one");
    folder.write("jobs.csv", &format!("{HEADER}\na,5,1,100\n"));
    let text = folder.done("trace inspect jobs.csv").stdout;
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert!(json(&folder.done("trace inspect jobs.csv --json").stdout)["arrivals"]["gap_mean_s"].is_null());
}

#[test]
fn what_was_skipped_is_said_with_its_reason() {
    let folder = Folder::new("inspect_skipped");
    let row =
        |gang: u32| format!("LM (batch size 10)\tp\tlm\t--steps\t1\t1000\t{gang}\tstatic\t1\t-1\t60\t0\n");
    folder.write("lm.trace", &format!("{}{}{}", row(0), row(1), row(2)));
    let text = folder.done("trace inspect lm.trace").stdout;
    assert!(text.contains("1 row with no GPU: skipped (the first in line 1)"), "{text}");
    let portrait = json(&folder.done("trace inspect lm.trace --json").stdout);
    assert_eq!((&portrait["skipped"], &portrait["warnings"][0]["warning"]), (&1.into(), &"ZeroGpu".into()));
}

#[test]
fn a_conversion_can_be_repeated_without_loss() {
    let folder = Folder::new("convert");
    let native = scenario("twenty.csv");
    let outcome = folder.done(&format!("trace convert {native} -o once.csv"));
    assert!(outcome.stdout.starts_with("once.csv: 20 jobs"), "{}", outcome.stdout);
    folder.done("trace convert once.csv -o twice.csv");
    let body = |name: &str| folder.read(name).split_once('\n').map(|(_, body)| body.to_owned());
    assert_eq!(body("once.csv"), body("twice.csv"));
    let piped = folder.done("trace convert once.csv -o -");
    assert_eq!(piped.stdout, folder.read("twice.csv"));
    let figures = |trace: &str| {
        let mut figures = json(&folder.done(&format!("trace inspect {trace} --json")).stdout);
        figures["file"].take();
        figures
    };
    assert_eq!(figures(&native), figures("twice.csv"));
}

#[test]
fn a_foreign_trace_becomes_a_native_one_on_the_models_asked_for() {
    let folder = Folder::new("convert_gavel");
    folder.write(
        "speeds.json",
        r#"{"v100":{"('LM (batch size 10)', 1)":{"null":100.0}},"k80":{"('LM (batch size 10)', 1)":{"null":20.0}}}"#,
    );
    folder.write(
        "lm.trace",
        "LM (batch size 10)\tp\t-\t1\t1000\t7\t1\nLM (batch size 10)\tp\t-\t1\t500\t3\t1\n",
    );
    refused(&folder, "trace convert lm.trace -o x.csv", &["lm.trace: ", "--throughputs"]);
    let convert = "trace convert lm.trace --throughputs speeds.json -o out.csv";
    folder.done(convert);
    let rows = |text: &str| {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>()
    };
    // Sorted by submission; steps are samples, durations those on the first GPU model.
    let expected = [
        "job_id,submit_s,gpus,duration_s,tenant,steps,profile,speed:v100,speed:k80",
        "1,3,1,5,everybody,5000,LM (batch size 10),1,0.2",
        "0,7,1,10,everybody,10000,LM (batch size 10),1,0.2",
    ];
    assert_eq!(rows(&folder.read("out.csv")), expected);
    folder.done(&format!("{convert} --cluster-models k80"));
    let expected = [
        "job_id,submit_s,gpus,duration_s,tenant,steps,profile,speed:k80",
        "1,3,1,25,everybody,5000,LM (batch size 10),1",
        "0,7,1,50,everybody,10000,LM (batch size 10),1",
    ];
    assert_eq!(rows(&folder.read("out.csv")), expected);
    let hint = ["--cluster-models: ", "no GPU model `a100`", "v100, k80"];
    refused(
        &folder,
        "trace convert lm.trace --throughputs speeds.json -o x.csv --cluster-models a100",
        &hint,
    );
}

#[test]
fn wrong_files_are_refused() {
    let folder = Folder::new("trace_wrong");
    folder.write("empty.csv", "");
    folder.write("head.csv", &format!("{HEADER}\n"));
    folder.write("bad.csv", &format!("{HEADER}\na,0,1,60\nb,0,zero,60\n"));
    for command in ["trace inspect", "trace convert -o x.csv"] {
        refused(&folder, &format!("{command} none.csv"), &["none.csv: ", "No such file"]);
        refused(&folder, &format!("{command} empty.csv"), &["empty.csv: ", "empty"]);
        refused(&folder, &format!("{command} head.csv"), &["head.csv: ", "no jobs"]);
        refused(&folder, &format!("{command} bad.csv"), &["bad.csv: line 3: gpus is `zero`, but"]);
    }
    refused(&folder, "trace convert bad.csv -o bad.csv", &["--out: bad.csv is the trace itself"]);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let folder = Folder::new("trace_closed");
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenhand"));
    command.args("trace generate --profile philly --jobs 200000 -o -".split(' ')).current_dir(&folder.0);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be run");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}
