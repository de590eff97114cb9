//! Wrong input: exit code 2, one message that helps, and nothing written.

#[expect(dead_code, reason = "these runs never come to results that could be read")]
mod program;

use program::{Folder, scenario};

const HEADER: &str = "job_id,submit_s,gpus,duration_s";

/// Runs a line that must be refused with a message that has all these words.
fn refused(folder: &Folder, line: &str, words: &[&str]) {
    let before = folder.names();
    let outcome = folder.run(line.split(' '));
    assert_eq!(outcome.code, 2, "evenhand {line}\n{}", outcome.stderr);
    assert_eq!(outcome.stdout, "", "evenhand {line}");
    assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
    for word in words {
        assert!(outcome.stderr.contains(word), "evenhand {line}: no `{word}` in\n{}", outcome.stderr);
    }
    assert_eq!(folder.names(), before, "evenhand {line} wrote something");
}

/// Every way of running a trace must refuse it.
fn refused_trace(test: &str, trace: &str, words: &[&str]) {
    let folder = Folder::new(test);
    folder.write("jobs.csv", trace);
    folder.write("case.toml", SCENARIO);
    for line in [
        "simulate --trace jobs.csv --cluster v100=8",
        "compare --trace jobs.csv --cluster v100=8 --policy all",
        "compare case.toml --ledgers",
    ] {
        refused(&folder, line, words);
    }
}

const SCENARIO: &str =
    "[cluster]\ngpus = \"v100=8\"\n[workload]\ntrace = \"jobs.csv\"\n[[policy]]\nname = \"las\"\n";

#[test]
fn a_missing_file_is_refused() {
    let folder = Folder::new("a_missing_file");
    refused(&folder, "simulate --trace none.csv --cluster v100=8", &["none.csv: ", "No such file"]);
    refused(&folder, "compare none.toml", &["none.toml: ", "No such file"]);
    refused(&folder, "report none.jsonl", &["none.jsonl: ", "No such file"]);
    refused(&folder, "replay none.jsonl", &["none.jsonl: ", "No such file"]);
    let line = format!("simulate --trace {} --cluster none.toml", scenario("twenty.csv"));
    refused(&folder, &line, &["none.toml: ", "No such file"]);
}

#[test]
fn an_empty_trace_is_refused() {
    refused_trace("an_empty_trace", "", &["jobs.csv: line 1: ", "empty"]);
    refused_trace("a_trace_without_jobs", &format!("{HEADER}\n"), &["jobs.csv: line 1: ", "no jobs"]);
}

#[test]
fn a_number_that_is_none_is_refused() {
    let trace = format!("{HEADER}\na,0,1,60\nb,0,1,NaN\n");
    refused_trace("nan", &trace, &["jobs.csv: line 3: duration_s is `NaN`, but "]);
    let trace = format!("{HEADER}\na,0,1,infinity\n");
    refused_trace("infinity", &trace, &["jobs.csv: line 2: duration_s is `infinity`, but "]);
    let trace = format!("{HEADER}\na,soon,1,60\n");
    refused_trace("word", &trace, &["jobs.csv: line 2: submit_s is `soon`, but "]);
}

#[test]
fn a_negative_number_is_refused() {
    let trace = format!("{HEADER}\na,-5,1,60\n");
    refused_trace("negative_time", &trace, &["jobs.csv: line 2: submit_s is `-5`, but "]);
    let trace = format!("{HEADER}\na,0,-1,60\n");
    refused_trace("negative_gpus", &trace, &["jobs.csv: line 2: gpus is `-1`, but "]);
}

#[test]
fn zero_gpus_are_refused() {
    let trace = format!("{HEADER}\na,0,0,60\n");
    refused_trace("zero_gpus", &trace, &["jobs.csv: line 2: gpus is `0`, but "]);
    let folder = Folder::new("zero_gpus_in_the_cluster");
    let simulate = format!("simulate --trace {} --cluster", scenario("twenty.csv"));
    refused(&folder, &format!("{simulate} v100=0"), &["--cluster is `v100=0`, but "]);
    refused(&folder, &format!("{simulate} v100"), &["--cluster is `v100`, but ", "v100=32"]);
    refused(&folder, &format!("{simulate} v100=8 --gpus-per-node 0"), &["--gpus-per-node is `0`, but "]);
    refused(&folder, &format!("{simulate} v100=8 --nodes-per-rack 0"), &["--nodes-per-rack"]);
}

#[test]
fn a_list_of_nodes_that_makes_no_sense_is_refused() {
    let folder = Folder::new("node_lists");
    let simulate = format!("simulate --trace {} --cluster nodes.csv", scenario("twenty.csv"));
    refused(&folder, &simulate, &["nodes.csv: ", "No such file"]);
    folder.write("nodes.csv", "sn,gpu,model\nn0,65,v100\n");
    refused(&folder, &simulate, &["nodes.csv: line 2: gpu is `65`, but "]);
    folder.write("nodes.csv", "sn,gpu,model\nn0,0,\n");
    refused(&folder, &simulate, &["nodes.csv: ", "no GPUs"]);
    folder.write("nodes.csv", "sn,gpu,model\nn0,8,v100\n");
    refused(
        &folder,
        &format!("{simulate} --gpus-per-node 4"),
        &["--gpus-per-node: nodes.csv says this itself"],
    );
}

#[test]
fn a_job_of_the_same_name_is_refused() {
    let trace = format!("{HEADER}\na,0,1,60\na,5,1,60\n");
    refused_trace("same_name", &trace, &["jobs.csv: line 3: job_id is `a`, but "]);
}

#[test]
fn a_job_larger_than_the_cluster_is_refused() {
    let trace = format!("{HEADER}\na,0,9,60\n");
    refused_trace("too_large", &trace, &["jobs.csv: line 2: gpus is `9`, but ", "8 GPUs"]);
}

#[test]
fn an_unknown_policy_is_refused_with_a_suggestion() {
    let folder = Folder::new("an_unknown_policy");
    let work = format!("--trace {} --cluster v100=8", scenario("twenty.csv"));
    let hint = ["unknown policy `equal-shar`; did you mean `equal-share`?"];
    refused(&folder, &format!("simulate {work} --policy equal-shar"), &hint);
    refused(&folder, &format!("compare {work} --policy las --policy equal-shar"), &hint);
    refused(&folder, &format!("compare {} --policy equal-shar", scenario("twenty.toml")), &hint);
    refused(&folder, &format!("simulate {work} --policy all"), &["compare --policy all"]);
    refused(&folder, &format!("simulate {work} --placer topolgy"), &["--placer: ", "`topology`"]);
    let hint = ["--predictor: ", "unknown predictor `mesured`; did you mean `measured`?"];
    refused(&folder, &format!("simulate {work} --predictor mesured"), &hint);
    refused(&folder, &format!("compare {} --predictor mesured", scenario("twenty.toml")), &hint);
}

#[test]
fn a_lie_that_makes_no_sense_is_refused() {
    let folder = Folder::new("a_lie");
    let simulate = format!("simulate --trace {} --cluster v100=8 --lie ", scenario("twenty.csv"));
    let vision = |rest: &str| format!("{simulate}vision:{rest}");
    refused(&folder, &vision("v100=0"), &["--lie: ", "from 0.01 to 100"]);
    refused(&folder, &vision("v100=-1"), &["--lie: ", "from 0.01 to 100"]);
    refused(&folder, &vision("a100=2"), &["--lie: ", "`a100`", "known: v100"]);
    refused(&folder, &vision("v100"), &["TENANT:MODEL=FACTOR"]);
    refused(&folder, &vision("v100=2 --lie vision:v100=3"), &["--lie: ", "given twice"]);
    refused(&folder, &format!("{simulate}nobody:v100=2"), &["--lie: ", "`nobody`", "vision"]);
    refused(&folder, &format!("compare {} --lie vision:v100=2", scenario("twenty.toml")), &["--lie"]);
    let scenario = |reports: &str| {
        let tenant = format!("[[tenant]]\nname = \"everybody\"\nreports = {reports}\n[[policy]]");
        SCENARIO.replace("[[policy]]", &tenant)
    };
    folder.write("jobs.csv", &format!("{HEADER}\na,0,1,60\n"));
    for (reports, word) in
        [("{ v100 = 0.0 }", "0.01 to 100"), ("{ a100 = 2.0 }", "`a100`"), ("3", "expected a map")]
    {
        folder.write("case.toml", &scenario(reports));
        refused(&folder, "compare case.toml", &["case.toml: ", word]);
    }
}

#[test]
fn a_wrong_parameter_is_refused() {
    let folder = Folder::new("a_wrong_parameter");
    let work = format!("--trace {} --cluster v100=8", scenario("twenty.csv"));
    let simulate = format!("simulate {work} --policy fifo");
    refused(&folder, &format!("{simulate} --set backfil=true"), &["--set: ", "`backfil`", "backfill"]);
    refused(&folder, &format!("{simulate} --set backfill=maybe"), &["`maybe`", "true or false"]);
    refused(&folder, &format!("{simulate} --set backfill"), &["KEY=VALUE"]);
    refused(&folder, &format!("{simulate} --set backfill=true --set backfill=true"), &["twice"]);
    let compare = format!("compare {work} --policy fifo --policy las");
    refused(&folder, &format!("{compare} --set backfill=true"), &["--set fifo.backfill=true"]);
    refused(&folder, &format!("{compare} --set srtf.x=1"), &["`srtf`", "not compared"]);
    let compare = format!("compare {} --set fifo.backfill=true", scenario("twenty.toml"));
    refused(&folder, &compare, &["--set: ", "--policy"]);
}

#[test]
fn a_wrong_duration_is_refused() {
    let folder = Folder::new("a_wrong_duration");
    let work = format!("--trace {} --cluster v100=8", scenario("twenty.csv"));
    for wrong in ["--round soon", "--round=-5m", "--restore 5parsecs", "--save NaN", "--checkpoint x"] {
        refused(&folder, &format!("simulate {work} {wrong}"), &["90s, 20m, 6h"]);
    }
    refused(&folder, &format!("simulate {work} --round 0s"), &["--round is `0s`, but "]);
}

#[test]
fn an_unknown_key_of_a_scenario_is_refused() {
    let folder = Folder::new("an_unknown_key");
    folder.write("case.toml", &SCENARIO.replace("[workload]", "gpu_per_node = 4\n[workload]"));
    refused(&folder, "compare case.toml", &["case.toml: line 3: ", "`gpu_per_node`", "`gpus_per_node`"]);
    folder.write("broken.toml", "[cluster\n");
    refused(&folder, "compare broken.toml", &["broken.toml: line 1: "]);
    let simulate = format!("simulate --trace {} --cluster", scenario("twenty.csv"));
    refused(&folder, &format!("{simulate} case.toml"), &["case.toml: line 3: ", "`gpu_per_node`"]);
    refused(&folder, &format!("{simulate} broken.toml"), &["broken.toml: line 1: "]);
}

#[test]
fn a_scenario_that_names_an_unknown_policy_is_refused() {
    let folder = Folder::new("an_unknown_policy_in_a_scenario");
    folder.write("jobs.csv", &format!("{HEADER}\na,0,1,60\n"));
    folder.write("case.toml", &SCENARIO.replace("\"las\"", "\"fiof\""));
    refused(&folder, "compare case.toml", &["case.toml: ", "unknown policy `fiof`", "`fifo`"]);
    folder.write("case.toml", SCENARIO.split("[[policy]]").next().unwrap());
    refused(&folder, "compare case.toml", &["case.toml: ", "[[policy]]"]);
}

#[test]
fn a_ledger_that_is_none_is_refused() {
    let folder = Folder::new("a_ledger_that_is_none");
    folder.write("empty.jsonl", "");
    folder.write("words.jsonl", "once upon a time\n");
    folder.write("newer.jsonl", "{\"evenhand\":99}\n");
    for command in ["report", "replay"] {
        refused(&folder, &format!("{command} empty.jsonl"), &["empty.jsonl: line 1: ", "empty"]);
        refused(&folder, &format!("{command} words.jsonl"), &["words.jsonl: line 1: ", "header"]);
        refused(&folder, &format!("{command} newer.jsonl"), &["newer.jsonl: line 1: ", "99", "version 1"]);
    }
}

#[test]
fn a_report_does_not_overwrite_its_ledger() {
    let folder = Folder::new("a_report_over_its_ledger");
    folder.write("ledger.html", "");
    refused(&folder, "report ledger.html", &["--out: ", "ledger itself"]);
    refused(&folder, "report ledger.html --out ledger.html", &["--out: ", "ledger itself"]);
}

#[test]
fn wrong_usage_is_refused() {
    let folder = Folder::new("wrong_usage");
    refused(&folder, "simulat", &["simulate"]);
    refused(&folder, "simulate --cluster v100=8", &["--trace"]);
    refused(&folder, &format!("simulate --trace {}", scenario("twenty.csv")), &["--cluster"]);
    refused(&folder, "compare", &["--trace"]);
    refused(&folder, "demo --threads 0", &["--threads"]);
    refused(&folder, &format!("compare {} --round 5m", scenario("twenty.toml")), &["--round"]);
}

#[test]
fn a_generator_or_a_fault_that_makes_no_sense_is_refused() {
    let folder = Folder::new("no_sense");
    for (line, field) in [
        ("load = 0.0", "load"),
        ("load = nan", "load"),
        ("jobs = 0", "jobs"),
        ("gpus = [[0, 1.0]]", "gpus"),
        ("gpus = []", "gpus"),
        ("duration_mean_s = nan", "duration_mean_s"),
        ("duration_sigma = -1.0", "duration_sigma"),
    ] {
        let text = format!(
            "[cluster]\ngpus = \"v100=8\"\n[workload.generate]\n{line}\n[[policy]]\nname = \"las\"\n"
        );
        folder.write("case.toml", &text);
        refused(&folder, "compare case.toml", &["case.toml: ", field]);
    }
    for (line, field) in [
        ("node_failure_every_s = nan", "node_failure_every_s"),
        ("node_failure_every_s = 0.001", "node_failure_every_s"),
        ("job_crash_every_s = -5.0", "job_crash_every_s"),
        ("forecast_error = -0.1", "forecast_error"),
    ] {
        let text = format!(
            "[cluster]\ngpus = \"v100=8\"\n[workload.generate]\njobs = 5\n[simulation.faults]\n{line}\n[[policy]]\nname = \"las\"\n"
        );
        folder.write("case.toml", &text);
        refused(&folder, "compare case.toml", &["case.toml: ", field]);
    }
}

#[test]
fn faults_under_rules_that_know_none_are_refused() {
    let folder = Folder::new("original_faults");
    folder.write("jobs.csv", &format!("{HEADER}\na,0,1,60\n"));
    for faults in ["job_crash_every_s = 3600.0", "forecast_error = 0.3", "straggling = { every_s = 3600.0 }"]
    {
        let simulation = format!("[simulation]\nsemantics = \"original\"\n[simulation.faults]\n{faults}\n");
        folder.write("case.toml", &format!("{SCENARIO}{simulation}"));
        for policies in ["", " --policy fifo"] {
            let words = ["case.toml: semantics is `original`, but ", "[simulation.faults]"];
            refused(&folder, &format!("compare case.toml{policies}"), &words);
        }
    }
}

#[test]
fn tenants_that_make_no_sense_are_refused() {
    let folder = Folder::new("tenants");
    folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s,tenant\na,0,8,60,x\nb,0,1,60,y\n");
    for (tables, words) in [
        ("[[tenant]]\nname = \"x\"\nlimit = { v100 = 4 }\n", ["`x`", "job a needs 8 GPUs"]),
        (
            "[[tenant]]\nname = \"x\"\nparent = \"y\"\n[[tenant]]\nname = \"y\"\nparent = \"x\"\n",
            ["parent", "contain itself"],
        ),
        ("[[tenant]]\nname = \"z\"\nweight = 2.0\n", ["`z`", "no job"]),
        ("[[tenant]]\nname = \"x\"\n[[tenant]]\nname = \"x\"\n", ["`x`", "twice"]),
    ] {
        folder.write("case.toml", &format!("{SCENARIO}{tables}"));
        refused(&folder, "compare case.toml", &words);
    }
}

#[test]
fn a_parameter_out_of_its_range_is_refused() {
    let folder = Folder::new("ranges");
    let trace = scenario("twenty.csv");
    for set in
        ["allox --set alpha=-1", "allox --set alpha=nan", "slaq --set decay=0", "equal-share --set repay=0s"]
    {
        let line = format!("simulate --trace {trace} --cluster v100=8 --policy {set}");
        refused(&folder, &line, &["--set", "but it is a"]);
    }
}
