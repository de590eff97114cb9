//! Finish-time fairness of apps on ledgers whose answers are known.

#[expect(dead_code, reason = "the long made-up runs are for other tests")]
mod story;

use evenhand_core::{
    App, AppId, EndCause, Event, Goal, GpuModel, JobId, JobSpec, Outcome, Record, Span, TenantId,
};
use evenhand_report::{Costs, html};
use std::sync::Arc;
use story::{end, gpus, job, lease_ended, node, record, report, start, stop, tenant, two_tenants};

/// A job of an app.
fn app_job(id: u64, tenant: u32, app: u64, gpus: u32) -> Event {
    let spec = JobSpec::new(JobId(id), TenantId(tenant), gpus, None);
    Event::Submitted(Arc::new(JobSpec { app: Some(AppId(app)), ..spec }))
}

fn app_opened(id: u64, tenant: u32) -> Event {
    Event::AppOpened(App::new(AppId(id), TenantId(tenant), Goal::AllJobs))
}

/// Four GPUs. Ann's app explores with jobs 1 and 2, two GPUs each; its tuner stops job 2, job 1 finishes, and the app is
/// closed ten seconds later. Bob's job 3 belongs to no app, wants all GPUs and waits for them.
fn an_app_and_a_job() -> Vec<Record> {
    let finished = EndCause::Finished { alone: Some(Span::from_secs(100)) };
    vec![
        record(0, Event::ModelAdded(GpuModel { name: "v100".into() }), vec![]),
        record(0, tenant(0, "ann"), vec![]),
        record(0, tenant(1, "bob"), vec![]),
        record(0, node(0, 4), vec![]),
        record(0, app_opened(1, 0), vec![]),
        record(10, app_job(1, 0, 1, 2), vec![start(1, 1, 10, &gpus(0, 0b0011))]),
        record(10, app_job(2, 0, 1, 2), vec![start(2, 2, 10, &gpus(0, 0b1100))]),
        record(60, job(3, 1, 4), vec![]),
        record(70, Event::Retired(JobId(2)), vec![stop(2)]),
        record(70, lease_ended(2, 60.0, 60.0, EndCause::Stopped), vec![end(2, Outcome::Retired)]),
        record(
            110,
            lease_ended(1, 100.0, 100.0, finished),
            vec![end(1, Outcome::Finished), start(3, 3, 110, &gpus(0, 0b1111))],
        ),
        record(120, Event::AppClosed { app: AppId(1), best: Some(JobId(1)) }, vec![]),
        record(210, lease_ended(3, 100.0, 100.0, finished), vec![end(3, Outcome::Finished)]),
    ]
}

fn close(name: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6, "{name} is {found}, not {expected}");
}

#[test]
fn every_number_of_the_story_of_an_app_and_a_job() {
    let run = report(&an_app_and_a_job()).summary(&Costs::default());
    assert_eq!((run.apps, run.has_apps), (2, true));
    // The app lives from 10 to 120 s, 60 s of them beside job 3: N = 170/110. Its jobs did 100 s and 60 s on two GPUs
    // each, so four GPUs take 100 s, and its part, 4/N GPUs, takes 320/(4/N) s.
    let (app_n, job_n) = (170.0 / 110.0, 210.0 / 150.0);
    let app = 110.0 / (100.0 * app_n);
    let app_share = 110.0 / (320.0 / 4.0 * app_n);
    // Job 3 lives from 60 to 210 s and can use all GPUs, so both ideals are 100 s N.
    let job = 150.0 / (100.0 * job_n);
    assert!(app < app_share && app_share < job);
    close("app_rho_worst", run.app_rho_worst, job);
    close("app_rho_mean", run.app_rho_mean, f64::midpoint(app, job));
    close("app_rho_p50", run.app_rho_p50, f64::midpoint(app, job));
    close("app_rho_p95", run.app_rho_p95, app + 0.95 * (job - app));
    close("app_unfair_fraction", run.app_unfair_fraction, 0.5);
    close("app_rho_share_worst", run.app_rho_share_worst, job);
    close("app_unfair_share_fraction", run.app_unfair_share_fraction, 0.5);
    close("app_jain", run.app_jain, 0.960_909_4);
    close("app_jct_mean_s", run.app_jct_mean_s, 130.0);
}

#[test]
fn an_app_that_nobody_closes_lives_until_its_last_job_ends() {
    let done = EndCause::Finished { alone: Some(Span::from_secs(100)) };
    let records = [
        record(0, node(0, 1), vec![]),
        record(0, app_opened(8, 0), vec![]),
        record(0, app_job(1, 0, 7, 1), vec![start(1, 1, 0, &gpus(0, 1))]),
        record(100, lease_ended(1, 0.0, 0.0, done), vec![end(1, Outcome::Finished)]),
        record(100, job(3, 0, 1), vec![]),
        record(200, Event::Cancelled(JobId(3)), vec![end(3, Outcome::Cancelled)]),
        record(200, app_job(2, 0, 7, 1), vec![start(2, 2, 200, &gpus(0, 1))]),
        record(250, app_job(4, 0, 8, 1), vec![]),
        record(300, Event::Retired(JobId(4)), vec![end(4, Outcome::Retired)]),
        record(300, lease_ended(2, 0.0, 0.0, done), vec![end(2, Outcome::Finished)]),
    ];
    let run = report(&records).summary(&Costs::default());
    // App 7 lives for 300 s, app 8 for the last 50 s; job 3 never ended as it should, but was there for 100 s.
    assert_eq!(run.apps, 2);
    close("app_jct_mean_s", run.app_jct_mean_s, 175.0);
    // Nothing was done in app 8: only app 7 has a ratio, 300 s over 200 s times N = 450/300.
    close("app_rho_worst", run.app_rho_worst, 1.0);
    close("app_rho_mean", run.app_rho_mean, 1.0);
    close("app_rho_share_worst", run.app_rho_share_worst, 1.0);
    close("app_unfair_fraction", run.app_unfair_fraction, 0.0);
}

#[test]
fn an_app_with_jobs_left_has_not_ended() {
    let mut records = an_app_and_a_job();
    // Before the app is closed, and with job 1 still at work.
    records.truncate(10);
    let run = report(&records).summary(&Costs::default());
    assert_eq!((run.apps, run.has_apps), (0, true));
    assert!(run.app_rho_worst.is_nan() && run.app_jct_mean_s.is_nan() && run.app_jain.is_nan());
}

#[test]
fn lost_work_was_done_all_the_same() {
    let mut records = an_app_and_a_job();
    records[9] = record(70, lease_ended(2, 60.0, 0.0, EndCause::Crashed), vec![end(2, Outcome::Failed)]);
    let run = report(&records).summary(&Costs::default());
    close("app_jain", run.app_jain, 0.960_909_4);
}

#[test]
fn the_page_has_a_section_on_apps_where_there_are_any() {
    let (with, without) = (report(&an_app_and_a_job()), report(&two_tenants()));
    let (first, second) = (with.summary(&Costs::default()), without.summary(&Costs::default()));
    let page = html("apps", &[(&with, &first)]);
    for words in ["<h2>The apps</h2>", "app 1", "job 3", "private part"] {
        assert!(page.contains(words), "{words} is missing");
    }
    assert!(!html("jobs", &[(&without, &second)]).contains("The apps"));
    assert!(html("both", &[(&with, &first), (&with, &first)]).contains("worst app"));
    assert!(!html("none", &[(&without, &second), (&without, &second)]).contains("worst app"));
}
