//! Every metric on a ledger whose answers are known, and the laws that every fold obeys.

mod story;

use evenhand_core::{Command, EndCause, Event, JobId, LeaseId, NodeId, Note, Outcome, Reading, Round, Span};
use evenhand_report::{Costs, METRICS, Report};
use story::{
    Order, Queue, end, gpus, header, job, lease_ended, node, record, report, start, stop, two_tenants,
};

fn close(name: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-4, "{name} is {found}, not {expected}");
}

#[test]
fn every_number_of_the_story_of_two_tenants() {
    let run = report(&two_tenants()).summary(&Costs::default());
    assert_eq!((run.jobs, run.finished, run.gpus, run.preemptions, run.rounds), (3, 2, 4, 1, 2));
    // Job 1 lives from 10 to 225 s, job 2 from 20 to 155 s.
    close("makespan_s", run.makespan_s, 215.0);
    close("jct_mean_s", run.jct_mean_s, 175.0);
    close("jct_p50_s", run.jct_p50_s, 175.0);
    close("jct_p95_s", run.jct_p95_s, 211.0);
    close("jct_p99_s", run.jct_p99_s, 214.2);
    // Job 1 starts at once, job 2 after 35 s; job 3 never does.
    close("wait_mean_s", run.wait_mean_s, 17.5);
    close("wait_p50_s", run.wait_p50_s, 17.5);
    // Both take 100 s alone, and three jobs on four GPUs are no contention.
    close("ftf_worst", run.ftf_worst, 2.15);
    close("ftf_mean", run.ftf_mean, 1.75);
    close("ftf_p95", run.ftf_p95, 2.11);
    close("unfair_fraction", run.unfair_fraction, 1.0);
    close("ftf_dynamic_worst", run.ftf_dynamic_worst, 2.15);
    close("unfair_dynamic_fraction", run.unfair_dynamic_fraction, 1.0);
    // The fluid runs job 1 alone for 10 s, then both at two thirds; each would have taken 145 s.
    close("ftf_fluid_worst", run.ftf_fluid_worst, 215.0 / 145.0);
    close("ftf_fluid_mean", run.ftf_fluid_mean, 175.0 / 145.0);
    close("unfair_fluid_fraction", run.unfair_fluid_fraction, 0.5);
    close("jain", run.jain, 0.950_349);
    // Jobs without an app are apps: 360 and 280 app-seconds are lived in the lives of jobs 1 and 2.
    assert_eq!((run.apps, run.has_apps), (2, false));
    close("app_rho_worst", run.app_rho_worst, 215.0 * 215.0 / 36_000.0);
    close("app_rho_mean", run.app_rho_mean, f64::midpoint(46_225.0 / 36_000.0, 18_225.0 / 28_000.0));
    close("app_rho_share_worst", run.app_rho_share_worst, 135.0 / (200.0 / (4.0 * 135.0 / 280.0)));
    close("app_jct_mean_s", run.app_jct_mean_s, 175.0);
    // Leases of 4 x 45, 2 x 100 and 4 x 70 GPU-seconds on 4 GPUs for 215 s.
    close("gpu_hours", run.gpu_hours, 660.0 / 3600.0);
    close("utilisation", run.utilisation, 660.0 / 860.0);
    // Ten steps at one a second on four GPUs; what a finished job had not saved is not lost.
    close("lost_gpu_hours", run.lost_gpu_hours, 40.0 / 3600.0);
    close("lease_kept_fraction", run.lease_kept_fraction, 0.5);
}

#[test]
fn tenants_are_owed_their_weighted_share_while_they_have_jobs() {
    let rows = report(&two_tenants()).tenants();
    let (ann, bob) = (&rows[0], &rows[1]);
    assert_eq!((ann.name.as_str(), ann.jobs, bob.jobs), ("ann", 1, 2));
    // Ann: all 4 for 10 s and for the last 70 s, 2 for the 135 s in between.
    close("owed to ann", ann.owed_gpu_hours, 590.0 / 3600.0);
    close("received by ann", ann.gpu_hours, 460.0 / 3600.0);
    close("owed to bob", bob.owed_gpu_hours, 270.0 / 3600.0);
    close("received by bob", bob.gpu_hours, 200.0 / 3600.0);
    close("mean completion of bob", bob.jct_mean_s, 135.0);
    close("worst of bob", bob.ftf_fluid_worst, 135.0 / 145.0);
}

#[test]
fn dynamic_contention_is_the_one_met() {
    let done = EndCause::Finished { alone: Some(Span::from_secs(100)) };
    let records = [
        record(0, node(0, 1), vec![]),
        record(0, job(1, 0, 1), vec![start(1, 1, 0, &gpus(0, 1))]),
        record(0, job(2, 0, 1), vec![]),
        record(
            100,
            lease_ended(1, 0.0, 0.0, done),
            vec![end(1, Outcome::Finished), start(2, 2, 100, &gpus(0, 1))],
        ),
        record(200, lease_ended(2, 0.0, 0.0, done), vec![end(2, Outcome::Finished)]),
    ];
    let run = report(&records).summary(&Costs::default());
    // Two jobs active during the first one's life; one and a half on average during the second's.
    close("ftf_dynamic_worst", run.ftf_dynamic_worst, 200.0 / 150.0);
    close("unfair_dynamic_fraction", run.unfair_dynamic_fraction, 0.5);
    close("ftf_worst", run.ftf_worst, 1.0);
}

#[test]
fn whoever_was_retired_held_its_part_of_the_fluid_until_then() {
    let done = EndCause::Finished { alone: Some(Span::from_secs(100)) };
    let records = [
        record(0, node(0, 1), vec![]),
        record(0, job(1, 0, 1), vec![]),
        record(0, job(2, 0, 1), vec![start(1, 2, 0, &gpus(0, 1))]),
        record(50, Event::Retired(JobId(2)), vec![stop(1)]),
        record(
            50,
            lease_ended(1, 50.0, 50.0, EndCause::Stopped),
            vec![end(2, Outcome::Retired), start(2, 1, 50, &gpus(0, 1))],
        ),
        record(150, lease_ended(2, 100.0, 100.0, done), vec![end(1, Outcome::Finished)]),
    ];
    // Half of the GPU each, until the retired one has had its 50 s after 100; the other is done after 150.
    let run = report(&records).summary(&Costs::default());
    close("ftf_fluid_worst", run.ftf_fluid_worst, 1.0);
    close("ftf_worst", run.ftf_worst, 0.75);
}

#[test]
fn time_on_hold_is_no_unfairness() {
    let done = EndCause::Finished { alone: Some(Span::from_secs(100)) };
    let records = [
        record(0, node(0, 1), vec![]),
        record(0, job(1, 0, 1), vec![start(1, 1, 0, &gpus(0, 1))]),
        record(40, Event::Held(JobId(1)), vec![stop(1)]),
        record(41, lease_ended(1, 40.0, 40.0, EndCause::Stopped), vec![]),
        record(500, Event::Released(JobId(1)), vec![]),
        // It waits for 30 s: that counts.
        record(530, Event::RoundDue(Round(1)), vec![start(2, 1, 530, &gpus(0, 1))]),
        record(590, lease_ended(2, 100.0, 100.0, done), vec![end(1, Outcome::Finished)]),
    ];
    let run = report(&records).summary(&Costs::default());
    close("ftf_fluid_worst", run.ftf_fluid_worst, (40.0 + 90.0) / 100.0);
    close("jct_mean_s", run.jct_mean_s, 590.0);
}

#[test]
fn a_resized_lease_counts_each_set_of_gpus_for_its_time() {
    let resize = Command::Resize { lease: LeaseId(1), gpus: gpus(0, 0b1111) };
    let lost = lease_ended(1, 0.0, 0.0, EndCause::NodeLost);
    let records = [
        record(0, node(0, 4), vec![]),
        record(0, job(1, 0, 2), vec![start(1, 1, 0, &gpus(0, 0b11))]),
        record(10, Event::RoundDue(Round(1)), vec![resize]),
        record(30, Event::NodeDown(NodeId(0)), vec![]),
        record(30, lost, vec![end(1, Outcome::Failed)]),
    ];
    let run = report(&records).summary(&Costs::default());
    close("gpu_hours", run.gpu_hours, (20.0 + 80.0) / 3600.0);
    assert_eq!((run.jobs, run.finished, run.gpus), (1, 0, 4));
    assert!(run.jct_mean_s.is_nan() && run.ftf_worst.is_nan());
}

#[test]
fn an_ignored_event_changes_nothing() {
    let mut records = two_tenants();
    let mut ignored = record(225, job(9, 0, 1), vec![]);
    ignored.notes.push(Note::Ignored);
    records.push(ignored);
    assert_eq!(report(&records).summary(&Costs::default()).jobs, 3);
}

#[test]
fn the_json_has_exactly_the_promised_fields_in_order() {
    let text = serde_json::to_string(&Report::new(&header("fifo")).summary(&Costs::default())).unwrap();
    let promised = "policy parameters seed jobs finished retired gpus makespan_s jct_mean_s jct_p50_s jct_p95_s jct_p99_s \
        wait_mean_s wait_p50_s ftf_worst ftf_mean ftf_p95 unfair_fraction ftf_dynamic_worst unfair_dynamic_fraction \
        ftf_fluid_worst ftf_fluid_mean ftf_fluid_p99 unfair_fluid_fraction jain apps app_rho_worst app_rho_mean app_rho_p50 \
        app_rho_p95 app_unfair_fraction app_rho_share_worst app_unfair_share_fraction app_jain app_jct_mean_s \
        utilisation preemptions lost_gpu_hours \
        lease_kept_fraction gpu_hours rounds out_of_memory shared_slowdown_mean shared_slowdown_worst busy_fraction \
        pairings_unmeasured decide_ms_p50 decide_ms_p99 cpu_s wall_s peak_rss_mb ledger audit";
    let mut rest = text.as_str();
    for name in promised.split_whitespace() {
        let field = format!("\"{name}\":");
        let at = rest.find(&field).unwrap_or_else(|| panic!("{name} is missing or out of order in {text}"));
        rest = &rest[at + field.len()..];
    }
    assert_eq!(text.matches("\":").count(), promised.split_whitespace().count());
    assert!(
        text.contains(r#""parameters":{},"seed":7"#)
            && text.ends_with(r#""cpu_s":null,"wall_s":null,"peak_rss_mb":null,"ledger":null,"audit":null}"#)
    );
}

#[test]
fn every_metric_survives_an_empty_ledger() {
    for entry in METRICS {
        assert!(!entry.build().readings().is_empty(), "{} reads nothing", entry.name);
    }
    let run = Report::new(&header("fifo")).summary(&Costs::default());
    assert_eq!((run.jobs, run.gpus), (0, 0));
    assert!(serde_json::to_string(&run).unwrap().contains(r#""utilisation":null"#));
}

#[test]
fn the_same_records_give_the_same_readings_alone_or_together() {
    for (seed, order) in [(3, Order::First), (4, Order::Shortest), (5, Order::Largest)] {
        let records = Queue::run(seed, &["ann", "bob", "cid"], 4, 300, 300.0, order);
        let text = |readings: Vec<Reading>| format!("{readings:?}");
        let mut alone = Vec::new();
        for entry in METRICS {
            let mut metric = entry.build();
            for record in &records {
                metric.take(record);
            }
            alone.extend(metric.readings());
        }
        assert_eq!(text(report(&records).readings()), text(alone), "seed {seed}");
    }
}

#[test]
fn every_file_is_registered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics");
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = files.filter(|name| name != "mod.rs").collect();
    let mut registered: Vec<String> = METRICS.iter().map(|entry| format!("{}.rs", entry.name)).collect();
    files.sort_unstable();
    registered.sort_unstable();
    assert_eq!(files, registered);
}

#[test]
fn readings_have_names_of_their_own() {
    let mut names: Vec<&str> =
        METRICS.iter().flat_map(|entry| entry.build().readings()).map(|reading| reading.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}
