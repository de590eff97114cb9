//! The page: self-contained, safe and repeatable.

mod story;

use evenhand_report::{Costs, html};
use story::{Order, Queue, record, report, tenant, two_tenants};

#[test]
fn the_page_needs_nothing_and_nobody() {
    let one = report(&two_tenants());
    let other = report(&Queue::run(1, &["ann", "bob"], 2, 50, 300.0, Order::First));
    let (first, second) = (one.summary(&Costs::default()), other.summary(&Costs::default()));
    for page in [html("one", &[(&one, &first)]), html("two", &[(&one, &first), (&other, &second)])] {
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        for word in ["http", "src=", "@import", "url(", "NaN", "inf"] {
            assert!(!page.contains(word), "the page contains {word}");
        }
    }
}

#[test]
fn names_cannot_break_out() {
    let evil = "<script>alert('x')</script>";
    let mut records = two_tenants();
    records[1] = record(0, tenant(0, evil), vec![]);
    let run = report(&records);
    let mut summary = run.summary(&Costs::default());
    summary.policy = evil.into();
    for page in [html(evil, &[(&run, &summary)]), html(evil, &[(&run, &summary), (&run, &summary)])] {
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("&lt;script&gt;alert"));
    }
}

#[test]
fn the_same_ledger_gives_the_same_page() {
    let page = || {
        let run = report(&Queue::run(5, &["ann", "bob", "cid"], 4, 200, 200.0, Order::Largest));
        let summary = run.summary(&Costs::default());
        html("again", &[(&run, &summary)])
    };
    assert_eq!(page(), page());
}

#[test]
fn a_long_run_still_makes_a_page_of_bounded_size() {
    let names: Vec<String> = (0..40).map(|at| format!("tenant-{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = report(&Queue::run(2, &names, 100, 20_000, 20.0, Order::Shortest));
    let page = html("long", &[(&run, &run.summary(&Costs::default()))]);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    assert!(page.contains("Too many leases to draw one by one"));
}

#[test]
fn a_page_about_nothing_says_so() {
    assert!(html("none", &[]).contains("no runs"));
    let run = report(&[]);
    assert!(html("empty", &[(&run, &run.summary(&Costs::default()))]).contains("Jobs finished"));
}
