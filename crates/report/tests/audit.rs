//! The audit of a run: on ledgers whose division is known exactly, and where there is little or nothing to divide.

mod story;

use evenhand_core::{
    EndCause, Event, GpuModel, JobId, JobSpec, ModelIndex, Node, NodeId, Outcome, PerModel, RackId, Rate,
    Record, Round, Tenant, TenantId, Weight, Work,
};
use evenhand_report::{Audit, Audited, Costs, html};
use std::sync::Arc;
use story::{
    Order, Queue, end, gpus, job, lease_ended, node, record, report, start, stop, tenant, two_tenants,
};

const STOPPED: EndCause = EndCause::Stopped;

fn close(name: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 2e-6, "{name} is {found}, not {expected}");
}

fn property<'a>(audit: &'a Audit, name: &str) -> &'a Audited {
    audit.property(name).expect("every property is checked")
}

/// A job of one GPU with these speeds on a K80 and on a V100.
fn taste(id: u64, tenant: u32, speeds: [f64; 2]) -> Event {
    let mut row = PerModel::all(Rate::ZERO);
    (row.0[0], row.0[1]) = speeds.map(|speed| Rate::new(speed).expect("this is a speed")).into();
    let spec = JobSpec::new(JobId(id), TenantId(tenant), 1, Some(Work::from_steps(1000.0)));
    Event::Submitted(Arc::new(JobSpec { speeds: Some(row), ..spec }))
}

/// A K80 and a V100. For Ann's two jobs the V100 is twice as fast, for Bob's five times.
fn cluster() -> Vec<Record> {
    let model = |name: &str| Event::ModelAdded(GpuModel { name: name.into() });
    let node = |id: u32| Event::NodeUp(Node::new(NodeId(id), RackId(0), ModelIndex(id as u16), 1));
    let events = [model("k80"), model("v100"), node(0), node(1), tenant(0, "ann"), tenant(1, "bob")];
    events.into_iter().map(|event| record(0, event, vec![])).collect()
}

/// The equal throughputs of docs/fairness.md over 700 s: Ann has the K80 and four sevenths of the V100, Bob the rest.
fn equal_throughputs() -> Vec<Record> {
    let mut records = cluster();
    records.push(record(0, taste(1, 0, [1.0, 2.0]), vec![start(1, 1, 0, &gpus(0, 1))]));
    records.push(record(0, taste(2, 0, [1.0, 2.0]), vec![start(2, 2, 0, &gpus(1, 1))]));
    records.push(record(0, taste(3, 1, [1.0, 5.0]), vec![]));
    records.push(record(0, taste(4, 1, [1.0, 5.0]), vec![]));
    records.push(record(400, lease_ended(2, 0.0, 0.0, STOPPED), vec![start(3, 3, 400, &gpus(1, 1))]));
    records.push(record(700, Event::RoundDue(Round(1)), vec![]));
    records
}

#[test]
fn the_example_of_the_documentation_comes_out_of_a_ledger() {
    let audit = report(&equal_throughputs()).audit().unwrap();
    assert_eq!((audit.reference.as_str(), audit.tenants_left_out), ("k80", 0));
    let (ann, bob) = (&audit.tenants[0], &audit.tenants[1]);
    close("active_s", audit.active_s, 700.0);
    for (name, found, expected) in [
        ("ann's K80", ann.gpus[0], 1.0),
        ("ann's V100", ann.gpus[1], 4.0 / 7.0),
        ("bob's V100", bob.gpus[1], 3.0 / 7.0),
        ("bob's speedup", bob.speedups[1], 5.0),
        ("bob's part", bob.part, 0.5),
        ("bob's demand", bob.asked, 2.0),
        ("ann's throughput", ann.throughput, 15.0 / 7.0),
        ("bob's throughput", bob.throughput, 15.0 / 7.0),
        ("ann alone", ann.alone, 1.5),
        ("bob alone", bob.alone, 3.0),
    ] {
        close(name, found, expected);
    }
    for (name, violation) in [
        ("envy_free", 4.0 / 9.0),
        ("sharing_incentive", 2.0 / 7.0),
        ("pareto", 0.0),
        ("equal_throughput", 0.0),
        ("all_used", 0.0),
    ] {
        close(name, property(&audit, name).violation, violation);
        assert_eq!(property(&audit, name).held, Some(violation < 0.05), "{name}");
    }
    assert_eq!(property(&audit, "envy_free").who, ["bob", "ann"]);
    assert_eq!(property(&audit, "sharing_incentive").who, ["bob"]);
    assert!(property(&audit, "sharing_incentive").why.as_ref().unwrap().contains("3.0000"));
    // Both GPUs for Bob would have made 6; halves 4.5.
    close("received", audit.total.received, 30.0 / 7.0);
    close("equal split", audit.total.equal_split, 4.5);
    close("most", audit.total.most, 6.0);
    close("price", audit.total.price_of_fairness, 2.0 / 7.0);
    close("gain", audit.total.gain_over_equal_split, 30.0 / 7.0 / 4.5 - 1.0);
}

#[test]
fn what_is_promised_is_said_and_changes_nothing_else() {
    let plain = report(&equal_throughputs()).audit().unwrap();
    assert!(plain.properties.iter().all(|property| property.promised.is_none()));
    let told = plain.clone().promising(&["pareto", "equal_throughput"], &["inflation-proof"]);
    let promised: Vec<_> =
        told.properties.iter().filter(|p| p.promised == Some(true)).map(|p| p.name).collect();
    assert_eq!(promised, ["pareto", "equal_throughput"]);
    assert_eq!(property(&told, "envy_free").promised, Some(false));
    assert_eq!((told.total, &told.tenants), (plain.total, &plain.tenants));
}

#[test]
fn who_came_later_is_owed_its_part_from_then_on() {
    // Two equal GPUs. Ann has both for 100 s, then each has one for another 100 s.
    let mut records = vec![record(0, node(0, 2), vec![])];
    records.push(record(0, job(1, 0, 1), vec![start(1, 1, 0, &gpus(0, 1))]));
    records.push(record(0, job(2, 0, 1), vec![start(2, 2, 0, &gpus(0, 2))]));
    records.push(record(100, job(3, 1, 1), vec![stop(2)]));
    records.push(record(100, job(4, 1, 1), vec![]));
    records.push(record(100, lease_ended(2, 0.0, 0.0, STOPPED), vec![start(3, 3, 100, &gpus(0, 2))]));
    records.push(record(200, Event::RoundDue(Round(1)), vec![]));
    let audit = report(&records).audit().unwrap();
    close("part of the first", audit.tenants[0].part, 0.75);
    close("part of the second", audit.tenants[1].part, 0.25);
    assert!(audit.properties.iter().all(|property| property.violation < 1e-9), "{:?}", audit.properties);
    close("price", audit.total.price_of_fairness, 0.0);
}

#[test]
fn who_asks_for_less_than_its_part_is_not_short_changed() {
    // Four GPUs. Ann asks for one, then for four; Bob always for four. Each instant is divided evenly as far as asked.
    let mut records = vec![record(0, node(0, 4), vec![])];
    records.push(record(0, job(1, 0, 1), vec![start(1, 1, 0, &gpus(0, 1))]));
    for at in 0..4_u64 {
        let commands = if at < 3 { vec![start(2 + at, 11 + at, 0, &gpus(0, 2 << at))] } else { vec![] };
        records.push(record(0, job(11 + at, 1, 1), commands));
    }
    for at in 0..3 {
        records.push(record(100, job(2 + at, 0, 1), vec![]));
    }
    records.push(record(100, lease_ended(2, 0.0, 0.0, STOPPED), vec![start(9, 2, 100, &gpus(0, 2))]));
    records.push(record(200, Event::RoundDue(Round(1)), vec![]));
    let audit = report(&records).audit().unwrap();
    // One GPU for half of the time and two for the other half, of 2.5 that it asked for on average.
    close("ann received", audit.tenants[0].throughput, 1.5);
    close("ann's own part", audit.tenants[0].alone, 1.5);
    close("ann asked", audit.tenants[0].asked, 2.5);
    close("sharing incentive", property(&audit, "sharing_incentive").violation, 0.0);
    close("envy", property(&audit, "envy_free").violation, 0.0);
    // An equal split leaves what Ann does not ask for to nobody.
    close("gain", audit.total.gain_over_equal_split, 4.0 / 3.5 - 1.0);
}

#[test]
fn it_matters_which_of_a_tenants_jobs_has_the_fast_gpus() {
    // One job gains nothing from the V100, the other gains four times; both always run, the one way or the other.
    let run = |dull: u32, keen: u32| {
        let mut records = cluster();
        records.push(record(0, taste(1, 0, [1.0, 1.0]), vec![start(1, 1, 0, &gpus(dull, 1))]));
        records.push(record(0, taste(2, 0, [1.0, 4.0]), vec![start(2, 2, 0, &gpus(keen, 1))]));
        records.push(record(100, Event::RoundDue(Round(1)), vec![]));
        report(&records).audit().unwrap()
    };
    let (well, badly) = (run(0, 1), run(1, 0));
    close("well matched", well.total.received, 5.0);
    close("badly matched", badly.total.received, 2.0);
    // On average the V100 is 2.5 times as fast for them.
    close("own part", badly.tenants[0].alone, 3.5);
    close("most", badly.total.most, 5.0);
    close("price", badly.total.price_of_fairness, 0.6);
    // The one that gains nothing loses nothing by the swap.
    close("possible gain", property(&badly, "pareto").violation, 1.5);
    assert_eq!(property(&well, "sharing_incentive").held, Some(true));
    assert_eq!(property(&badly, "sharing_incentive").held, Some(false));
}

#[test]
fn faster_gpus_that_nobody_waits_for_are_within_reach_and_not_wasted() {
    let mut records = cluster();
    records.push(record(0, taste(1, 0, [1.0, 4.0]), vec![start(1, 1, 0, &gpus(0, 1))]));
    records.push(record(100, Event::RoundDue(Round(1)), vec![]));
    let audit = report(&records).audit().unwrap();
    close("idle", property(&audit, "all_used").violation, 0.0);
    close("possible gain", property(&audit, "pareto").violation, 3.0);
    close("most", audit.total.most, 4.0);
    close("own part", audit.tenants[0].alone, 4.0);
}

#[test]
fn weights_count_and_idle_gpus_are_noticed() {
    let heavy = Tenant { weight: Weight::new(3.0).unwrap(), ..Tenant::new(TenantId(0), "heavy") };
    let mut records = vec![record(0, node(0, 4), vec![]), record(0, Event::TenantChanged(heavy), vec![])];
    records.push(record(0, job(1, 0, 4), vec![]));
    records.push(record(0, job(2, 1, 1), vec![start(1, 2, 0, &gpus(0, 1))]));
    records.push(record(100, Event::RoundDue(Round(1)), vec![]));
    let audit = report(&records).audit().unwrap();
    close("part", audit.tenants[0].part, 0.75);
    close("alone", audit.tenants[0].alone, 3.0);
    close("sharing incentive", property(&audit, "sharing_incentive").violation, 1.0);
    close("idle", property(&audit, "all_used").violation, 0.75);
    assert_eq!(property(&audit, "all_used").who, ["heavy", "model-0"]);
    close("price", audit.total.price_of_fairness, 0.75);
}

#[test]
fn a_job_that_can_run_nowhere_asks_for_nothing() {
    let mut records = two_tenants();
    records.insert(5, record(10, job(90, 2, 64), vec![]));
    let audit = report(&records).audit().unwrap();
    assert_eq!((audit.tenants.len(), audit.tenants_left_out), (2, 1));
    let without = report(&two_tenants()).audit().unwrap();
    assert_eq!((&audit.tenants, &audit.properties), (&without.tenants, &without.properties));
}

#[test]
fn where_there_is_nothing_to_divide_the_page_says_so() {
    let nobody = report(&[]);
    let no_time = report(&[record(0, node(0, 4), vec![]), record(0, job(1, 0, 1), vec![])]);
    let no_gpus = report(&[record(0, job(1, 0, 1), vec![]), record(50, Event::RoundDue(Round(1)), vec![])]);
    let too_large = report(&[
        record(0, node(0, 4), vec![]),
        record(0, job(1, 0, 8), vec![]),
        record(50, Event::RoundDue(Round(1)), vec![]),
    ]);
    for run in [nobody, no_time, no_gpus, too_large] {
        assert_eq!(run.audit(), None);
        let summary = run.summary(&Costs::default()).promising(&["pareto"], &[]);
        assert!(serde_json::to_string(&summary).unwrap().ends_with(r#""audit":null}"#));
        assert!(html("nothing", &[(&run, &summary)]).contains("nothing to audit"));
        assert!(html("nothing", &[(&run, &summary), (&run, &summary)]).contains("nothing to audit"));
    }
}

#[test]
fn one_tenant_and_jobs_that_never_ran_are_audited_too() {
    let idle = [
        record(0, node(0, 4), vec![]),
        record(0, job(1, 0, 1), vec![]),
        record(50, Event::RoundDue(Round(1)), vec![end(1, Outcome::Cancelled)]),
    ];
    let run = report(&idle);
    let audit = run.audit().unwrap();
    close("throughput", audit.total.received, 0.0);
    close("sharing incentive", property(&audit, "sharing_incentive").violation, 1.0);
    assert_eq!(property(&audit, "pareto").held, Some(false));
    let page = html("idle", &[(&run, &run.summary(&Costs::default()))]);
    assert!(!page.contains("NaN") && !page.contains("inf"));
    let alone = report(&Queue::run(3, &["ann"], 1, 40, 300.0, Order::Shortest)).audit().unwrap();
    assert_eq!(alone.tenants.len(), 1);
    close("part", alone.tenants[0].part, 1.0);
    close("envy", property(&alone, "envy_free").violation, 0.0);
}

#[test]
fn with_too_many_tenants_efficiency_is_not_checked_and_that_is_said() {
    let names: Vec<String> = (0..450).map(|at| format!("tenant-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = report(&Queue::run(6, &names, 10, 3000, 20.0, Order::First));
    let audit = run.audit().unwrap();
    assert!(audit.tenants.len() > 400, "{}", audit.tenants.len());
    assert_eq!(property(&audit, "pareto").held, None);
    assert!(property(&audit, "pareto").violation.is_nan());
    assert!(
        html("many", &[(&run, &run.summary(&Costs::default()))]).contains("Not checked: more than 200 kinds")
    );
}

#[test]
fn runs_that_end_in_the_middle_keep_the_laws_of_a_division() {
    let records = Queue::run(9, &["ann", "bob", "cid", "dan"], 2, 120, 200.0, Order::Largest);
    for cut in (20..records.len()).step_by(37) {
        let audit = report(&records[..cut]).audit().unwrap();
        let parts: f64 = audit.tenants.iter().map(|tenant| tenant.part).sum();
        close("parts", parts, 1.0);
        let total = audit.total;
        assert!(total.most >= total.received - 1e-5, "{total:?}");
        assert!((0.0..=1.0).contains(&total.price_of_fairness));
        for property in &audit.properties {
            assert!(property.violation >= 0.0, "{property:?}");
            assert_eq!(property.why.is_some(), property.violation > 1e-6, "{property:?}");
        }
    }
}
