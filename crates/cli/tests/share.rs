//! `evenhand share`: the worked examples and counter-examples of fair division, and input that is refused.

#[expect(dead_code, reason = "dividing reads no scenario and writes no file")]
mod program;

use program::Folder;
use serde_json::Value;

const A: &str = "1,2\n1,5\n";
const B: &str = "1,2\n1,3\n1,4\n";
const C: &str = "1,1.2,1.5\n1,1.5,2.5\n1,2,4\n";
const SECOND: &str = "1,6,8\n1,1,5\n1,8,9\n";
const THIRD: &str = "1,5,8\n1,7,9\n";

fn share(policy: &str, speedups: &str, flags: &str) -> Value {
    let folder = Folder::new(&format!("share_{policy}_{}_{}", speedups.len(), flags.len()));
    folder.write("w.csv", speedups);
    let line = format!("share --policy {policy} --speedups w.csv {flags} --json");
    let outcome = folder.run(line.split(' '));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    serde_json::from_str(&outcome.stdout).expect("one JSON document")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?} is not {expected:?}");
}

/// Throughputs, and the total.
fn assert_throughputs(policy: &str, speedups: &str, flags: &str, expected: &[f64]) {
    let found = share(policy, speedups, flags);
    assert_close(&numbers(&found["throughput"]), expected);
    assert_close(&[found["total"].as_f64().expect("a total")], &[expected.iter().sum()]);
}

fn assert_shares(policy: &str, speedups: &str, flags: &str, expected: &[&[f64]]) {
    let found = share(policy, speedups, flags);
    for (found, expected) in found["shares"].as_array().expect("shares").iter().zip(expected) {
        assert_close(&numbers(found), expected);
    }
}

#[test]
fn equal_shares_come_out() {
    assert_throughputs("equal-share", A, "--capacity 1,1", &[1.5, 3.0]);
    assert_throughputs("equal-share", B, "--capacity 1,1", &[1.0, 4.0 / 3.0, 5.0 / 3.0]);
    assert_throughputs("equal-share", C, "--capacity 8,8,8", &[148.0 / 15.0, 40.0 / 3.0, 56.0 / 3.0]);
}

#[test]
fn the_non_cooperative_mode_comes_out() {
    let policy = "oef-noncooperative";
    assert_throughputs(policy, A, "--capacity 1,1", &[15.0 / 7.0; 2]);
    assert_throughputs(policy, B, "--capacity 1,1", &[18.0 / 13.0; 3]);
    assert_throughputs(policy, C, "--capacity 8,8,8", &[336.0 / 23.0; 3]);
    assert_shares(policy, A, "--capacity 1,1", &[&[1.0, 4.0 / 7.0], &[0.0, 3.0 / 7.0]]);
    let b: [&[f64]; 3] = [&[1.0, 5.0 / 26.0], &[0.0, 6.0 / 13.0], &[0.0, 9.0 / 26.0]];
    assert_shares(policy, B, "--capacity 1,1", &b);
    let c: [&[f64]; 3] =
        [&[8.0, 380.0 / 69.0, 0.0], &[0.0, 172.0 / 69.0, 100.0 / 23.0], &[0.0, 0.0, 84.0 / 23.0]];
    assert_shares(policy, C, "--capacity 8,8,8", &c);
    assert_shares(policy, THIRD, "--capacity 1,1,1", &[&[1.0, 0.0, 15.0 / 17.0], &[0.0, 1.0, 2.0 / 17.0]]);
    assert_throughputs(policy, B, "--capacity 3,3", &[54.0 / 13.0; 3]);
}

#[test]
fn the_cooperative_mode_comes_out() {
    let policy = "oef-cooperative";
    assert_throughputs(policy, A, "--capacity 1,1", &[1.5, 3.75]);
    assert_throughputs(policy, B, "--capacity 1,1", &[1.0, 1.5, 2.0]);
    assert_throughputs(policy, C, "--capacity 8,8,8", &[136.0 / 13.0, 188.0 / 13.0, 1504.0 / 65.0]);
    assert_shares(policy, A, "--capacity 1,1", &[&[1.0, 0.25], &[0.0, 0.75]]);
    assert_shares(policy, B, "--capacity 1,1", &[&[1.0, 0.0], &[0.0, 0.5], &[0.0, 0.5]]);
    let c: [&[f64]; 3] =
        [&[8.0, 80.0 / 39.0, 0.0], &[0.0, 232.0 / 39.0, 144.0 / 65.0], &[0.0, 0.0, 376.0 / 65.0]];
    assert_shares(policy, C, "--capacity 8,8,8", &c);
    assert_throughputs(policy, SECOND, "--capacity 1,2,2", &[34.0 / 3.0, 13.0 / 3.0, 14.0]);
}

#[test]
fn the_market_comes_out() {
    assert_throughputs("nash", A, "--capacity 1,1", &[1.5, 3.75]);
    assert_throughputs("nash", C, "--capacity 8,8,8", &[11.2, 14.0, 22.4]);
    assert_throughputs("nash", SECOND, "--capacity 1,2,2", &[148.0 / 15.0, 37.0 / 6.0, 592.0 / 45.0]);
    assert_throughputs("nash", THIRD, "--capacity 1,1,1", &[137.0 / 18.0, 137.0 / 16.0]);
    let found = share("nash", C, "--capacity 8,8,8");
    assert_close(&numbers(&found["prices"]), &[5.0 / 56.0, 6.0 / 56.0, 10.0 / 56.0]);
    assert_eq!(found["quality"]["status"], "optimal");
    assert_throughputs("partial-allocation", A, "--capacity 1,1", &[0.9375, 1.875]);
    assert_throughputs("partial-allocation", B, "--capacity 1,1", &[0.5625, 2.0 / 3.0, 8.0 / 9.0]);
}

/// Reporting less than the truth pays under equal throughput, and reporting more does not.
#[test]
fn deflation_pays_and_inflation_does_not() {
    for (report, own, other) in [
        (7.0, 5.0 / 3.0, 7.0 / 3.0),
        (6.0, 1.875, 2.25),
        (5.0, 15.0 / 7.0, 15.0 / 7.0),
        (4.0, 2.5, 2.0),
        (3.0, 3.0, 1.8),
        (2.0125, 15.0 / 4.0125, 1.0 + 2.0 * (1.0 - 3.0 / 4.0125)),
    ] {
        let found = share("oef-noncooperative", &format!("1,2\n1,{report}\n"), "--capacity 1,1");
        let shares = numbers(&found["shares"][1]);
        assert_close(&[shares[0] + 5.0 * shares[1], found["throughput"][0].as_f64().unwrap()], &[own, other]);
    }
}

#[test]
fn a_weight_is_worth_as_much_as_that_many_tenants() {
    for policy in ["oef-noncooperative", "oef-cooperative", "nash"] {
        let weighted = share(policy, C, "--capacity 8,8,8 --weights 1,2,3");
        let copies = "1,1.2,1.5\n1,1.5,2.5\n1,1.5,2.5\n1,2,4\n1,2,4\n1,2,4\n";
        let copied = numbers(&share(policy, copies, "--capacity 8,8,8")["throughput"]);
        let sums = [copied[0], copied[1] + copied[2], copied[3] + copied[4] + copied[5]];
        assert_close(&numbers(&weighted["throughput"]), &sums);
    }
}

#[test]
fn people_read_names_prices_and_promises() {
    let folder = Folder::new("share_table");
    folder.write("w.csv", "tenant,k80,v100\nann,1,2\nbob,1,5\n");
    let line = "share --policy nash --speedups w.csv --capacity k80=1,v100=1";
    let outcome = folder.run(line.split(' '));
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    for text in ["bob", "v100", "price of a GPU", "optimal", "envy-free"] {
        assert!(outcome.stdout.contains(text), "{text} is missing in\n{}", outcome.stdout);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        ("share --policy nosh --speedups w.csv --capacity 1,1", "did you mean `nash`?"),
        ("share --policy fifo --speedups w.csv --capacity 1,1", "divides nothing by itself; those that do: "),
        ("share --policy nash --speedups w.csv --capacity 1", "w.csv"),
        ("share --policy nash --speedups w.csv --capacity 1,x", "--capacity"),
        ("share --policy nash --speedups w.csv --capacity 1,1 --weights 1", "--weights"),
        ("share --policy nash --speedups w.csv --capacity 1,1 --set color=red", "unknown parameter `color`"),
        ("share --policy nash --speedups none.csv --capacity 1,1", "none.csv"),
        ("share --policy nash --speedups nan.csv --capacity 1,1", "nan.csv: line 2"),
    ];
    let folder = Folder::new("share_refused");
    folder.write("w.csv", A);
    folder.write("nan.csv", "1,2\n1,NaN\n");
    for (line, expected) in cases {
        let outcome = folder.run(line.split(' '));
        assert_eq!(outcome.code, 2, "{line}: {}{}", outcome.stdout, outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{line}: {}", outcome.stderr);
    }
}
