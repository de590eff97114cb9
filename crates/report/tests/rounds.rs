//! The latest rounds of a run that is watched, on a ledger whose answers are known.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[expect(dead_code, reason = "the long made-up runs are for other tests")]
mod story;

use evenhand_core::{JobId, Party, PerModel, Promised, Record, TenantId, Time};
use evenhand_report::{FIGURES, Report, WallClock};
use story::{header, two_tenants};

/// Two tenants on four GPUs; the first decision owes them these and promises the first job's finish by then.
fn watched(owed: [f64; 2], by_s: u64) -> Report {
    let mut records: Vec<Record> = two_tenants();
    let mut decisions = records.iter_mut().filter_map(|record| record.decision.as_mut());
    let (first, second) = (decisions.next().unwrap(), decisions.next().unwrap());
    let share = |(tenant, gpus): (u32, f64)| {
        let mut share = PerModel::all(0.0);
        share.0[0] = gpus;
        (Party::Tenant(TenantId(tenant)), share)
    };
    first.shares = owed.into_iter().enumerate().map(|(at, gpus)| share((at as u32, gpus))).collect();
    // By then Bob has no work.
    second.shares = vec![share((0, 4.0))];
    let (by, expected) = (Time(by_s * 1000), Time(225_000));
    first.promises =
        vec![Promised { job: JobId(1), by, expected, at_most: expected, behind: 0, until: expected }];
    let mut report = Report::watching(&header("made-up"));
    for record in &records {
        report.take(record);
    }
    report.tell_times(WallClock { epoch_ms: 1_794_786_620_000, offset_s: 0 });
    report.look_into_rounds();
    report
}

fn drawn(report: &Report, name: &str) -> String {
    let entry = FIGURES.iter().find(|entry| entry.name == name).unwrap();
    (entry.draw)(report, None)
}

#[test]
fn properties_of_what_was_owed_are_told_round_by_round() {
    // By weight each is owed two GPUs: Bob's job can use two, and Ann's the rest.
    let fair = drawn(&watched([2.0, 2.0], 300), "properties");
    assert!(fair.contains("round 1: envy-freeness held"), "{fair}");
    assert!(fair.contains("round 1: of 1 promised finishes 1 are expected in time"), "{fair}");
    assert!(!fair.contains("did not hold</title>"), "{fair}");
    let unfair = drawn(&watched([3.5, 0.5], 200), "properties");
    assert!(unfair.contains("round 1: envy-freeness did not hold"), "{unfair}");
    assert!(unfair.contains("round 1: of 1 promised finishes 0 are expected in time"), "{unfair}");
}

#[test]
fn the_only_model_is_worth_what_the_mean_gpu_is_and_times_are_those_of_a_clock() {
    let report = watched([2.0, 2.0], 300);
    let prices = drawn(&report, "prices");
    assert!(prices.contains("<title>v100</title>") && !prices.contains("NaN"), "{prices}");
    // The first round is 50 s after 23:50:20.
    assert!(prices.contains(">23:52</text>") || prices.contains(">23:52:00</text>"), "{prices}");
    let elsewhere = drawn(&Report::new(&header("made-up")), "prices");
    assert!(elsewhere.contains("No decision has been taken yet"), "{elsewhere}");
}
