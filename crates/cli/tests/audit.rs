//! `evenhand audit`: the properties of divisions that are known, and input that is refused.

#[expect(dead_code, reason = "an audit reads no scenario and writes no file")]
mod program;

use program::{Folder, Outcome};
use serde_json::Value;

const SPEEDUPS: &str = "tenant,k80,v100\nann,1,2\nbob,1,5\n";
const EQUAL: &str = "tenant,k80,v100\nann,1,0.5714285714\nbob,0,0.4285714286\n";
const ENVY_FREE: &str = "tenant,k80,v100\nann,1,0.25\nbob,0,0.75\n";

fn audit(folder: &Folder, speedups: &str, shares: &str, flags: &str) -> Outcome {
    folder.write("w.csv", speedups);
    folder.write("x.csv", shares);
    let line = format!("audit --speedups w.csv --shares x.csv {flags}");
    folder.run(line.split(' '))
}

fn json(test: &str, speedups: &str, shares: &str, flags: &str) -> Value {
    let outcome = audit(&Folder::new(test), speedups, shares, &format!("{flags} --json"));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    serde_json::from_str(&outcome.stdout).expect("one JSON document")
}

fn holds(found: &Value) -> [bool; 5] {
    ["envy_free", "sharing_incentive", "pareto", "equal_throughput", "all_used"]
        .map(|name| found[name]["holds"].as_bool().expect(name))
}

#[test]
fn equal_throughputs_are_efficient_and_envied() {
    let found = json("audit_equal", SPEEDUPS, EQUAL, "--capacity 1,1");
    assert_eq!(holds(&found), [false, false, true, true, true]);
    assert_eq!(found["envy_free"]["who"], serde_json::json!([1, 0]));
    assert_eq!(found["sharing_incentive"]["who"], serde_json::json!([1]));
    assert_eq!(found["tenants"], serde_json::json!(["ann", "bob"]));
    assert!((found["envy_free"]["worst"].as_f64().unwrap() - 4.0 / 9.0).abs() < 1e-8);
    assert!((found["sharing_incentive"]["worst"].as_f64().unwrap() - 2.0 / 7.0).abs() < 1e-8);
    assert!(found["pareto"]["gain"].as_f64().unwrap() < 1e-6);
    assert!(found["equal_throughput"]["spread"].as_f64().unwrap() < 1e-6);
}

#[test]
fn a_cooperative_division_that_is_inefficient_is_found_out() {
    let speedups = "1,6,8\n1,1,5\n1,8,9\n";
    let shares = "0,1,0.666666666666\n1,0,0.666666666666\n0,1,0.666666666666\n";
    let found = json("audit_inefficient", speedups, shares, "--capacity 1,2,2");
    assert_eq!(holds(&found), [true, true, false, false, true]);
    assert!((found["pareto"]["gain"].as_f64().unwrap() - 10.0 / 267.0).abs() < 1e-8);
    assert_eq!(found["tenants"][2], "tenant 3");
}

#[test]
fn rows_and_columns_are_matched_by_name() {
    let turned = "tenant,v100,k80\nbob,0.75,0\nann,0.25,1\n";
    let found = json("audit_turned", SPEEDUPS, turned, "--capacity v100=1,k80=1");
    assert_eq!(holds(&found), [true, true, true, false, true]);
    assert_eq!(found["models"], serde_json::json!(["v100", "k80"]));
    let plain = json("audit_plain", SPEEDUPS, "1,0.25\n0,0.75\n", "--capacity 1,1");
    assert_eq!(plain["throughput"], found["throughput"]);
}

#[test]
fn weights_count() {
    let found = json("audit_weights", SPEEDUPS, ENVY_FREE, "--capacity 1,1 --weights 1,2.5");
    assert_eq!(holds(&found), [false, false, true, true, true]);
}

#[test]
fn where_nobody_has_anything_the_gain_is_no_number() {
    let found = json("audit_nothing", SPEEDUPS, "0,0\n0,0\n", "--capacity 1,1");
    assert_eq!(holds(&found), [true, false, false, true, false]);
    assert_eq!(found["pareto"]["gain"], Value::Null);
}

#[test]
fn people_read_who_suffers() {
    let outcome = audit(&Folder::new("audit_table"), SPEEDUPS, EQUAL, "--capacity k80=1,v100=1");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for words in [
        "envy-freeness      no          44 %",
        "Pareto efficiency  yes          0 %",
        "`bob` envies `ann`: with that share it would have a throughput of 3.8571, and it has 2.1429, 44.4 % less.",
    ] {
        assert!(outcome.stdout.contains(words), "no `{words}` in\n{}", outcome.stdout);
    }
}

#[test]
fn wrong_input_is_refused() {
    let folder = Folder::new("audit_wrong");
    for (speedups, shares, flags, words) in [
        (SPEEDUPS, EQUAL, "--capacity one,1", "--capacity is `one`, but it is written 8,8,8"),
        (SPEEDUPS, EQUAL, "--capacity k80=1,1", "--capacity is `k80=1,1`, but"),
        (SPEEDUPS, EQUAL, "--capacity k80=1,k80=1", "--capacity: a name is `k80`, but"),
        (SPEEDUPS, EQUAL, "--capacity=-1,1", "--capacity is `-1`, but"),
        (SPEEDUPS, EQUAL, "--capacity 1,1,1", "w.csv: line 1: the number of columns after the names is `2`"),
        (SPEEDUPS, EQUAL, "--capacity k80=1,p100=1", "w.csv: line 1: the header is `k80,v100`, but"),
        (SPEEDUPS, EQUAL, "--capacity 1,1 --weights 1", "--weights is `1`, but there are 2 tenants"),
        (SPEEDUPS, EQUAL, "--capacity 1,1 --weights 1,0", "--weights is `0`, but"),
        (SPEEDUPS, EQUAL, "--capacity 1,1 --weights 1,x", "--weights is `x`, but"),
        ("", EQUAL, "--capacity 1,1", "w.csv: line 1: the file is empty"),
        ("1,2\n1,x\n", EQUAL, "--capacity 1,1", "w.csv: line 2: column 2 is `x`, but a speedup is a number"),
        ("1,2\n0,0\n", EQUAL, "--capacity 1,1", "w.csv: line 2: a row is `0,0`, but a tenant can run"),
        ("1,2\n0,1\n", EQUAL, "--capacity 1,0", "w.csv: line 2: a row is `0,1`, but a tenant can run"),
        (SPEEDUPS, "1,0\n", "--capacity 1,1", "x.csv: the number of tenants is `1`, but w.csv has 2"),
        (SPEEDUPS, "1,0\n0,-1\n", "--capacity 1,1", "x.csv: line 2: column 2 is `-1`, but a share is"),
        (SPEEDUPS, "1,0.6\n0,0.6\n", "--capacity 1,1", "x.csv: the sum of the shares of v100 is `1.2`, but"),
        (SPEEDUPS, "ann,1,0\neve,0,1\n", "--capacity 1,1", "x.csv: line 2: the tenant is `eve`, but w.csv"),
        (SPEEDUPS, "k80,p100\n1,0\n0,1\n", "--capacity 1,1", "x.csv: line 1: the header is `k80,p100`, but"),
    ] {
        let outcome = audit(&folder, speedups, shares, flags);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{flags}\n{}", outcome.stderr);
        let expected = format!("error: {words}");
        assert!(outcome.stderr.starts_with(&expected), "{}  is not\n{expected}", outcome.stderr);
    }
    let missing = folder.run("audit --speedups none.csv --shares x.csv --capacity 1,1".split(' '));
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("none.csv: ") && missing.stderr.contains("No such file"));
}
