//! The apps of one run: key figures, the distribution of rho under both ideals, and who was worst off.

use super::distributions::{self, Sample, Who};
use super::parts::{Field, card, table};
use super::text::{amount, count, duration, percent};
use crate::metrics::{AppName, AppRatios, app_ratios};
use crate::{Report, Summary};

/// Apps that have a row.
const ROWS_MAX: usize = 15;

/// The section on apps; empty if there are none but those of one job.
pub fn section(report: &Report, summary: &Summary) -> String {
    if !report.has_apps() {
        return String::new();
    }
    let rows = app_ratios(&report.book);
    [
        "<h2>The apps</h2>".to_owned(),
        cards(summary),
        format!(r#"<div class="plots gap">{}{}</div>"#, times(&rows), ratios(&rows)),
        "<h3>The apps treated worst</h3>".to_owned(),
        worst(report, rows),
    ]
    .concat()
}

/// rho as printed of every app of a run that has it.
pub fn printed(report: &Report) -> Vec<f64> {
    app_ratios(&report.book).iter().filter_map(AppRatios::paper).collect()
}

fn cards(summary: &Summary) -> String {
    let unfair = format!(
        "Apps that took over 5 % longer than the whole cluster, shared by as many apps as there were, owed them. {} on a \
         private part of the cluster.",
        percent(summary.app_unfair_share_fraction),
    );
    let worst = format!(
        "The time of the app treated worst over what it was owed; on a private part of the cluster {}. On average {}, half \
         of the apps at most {}.",
        amount(summary.app_rho_share_worst),
        amount(summary.app_rho_mean),
        amount(summary.app_rho_p50),
    );
    let cards = [
        card(
            "Apps ended",
            &count(summary.apps),
            "Apps closed, or without jobs left. A job without an app counts as one.",
        ),
        card(
            "Mean completion time of apps",
            &duration(summary.app_jct_mean_s),
            "From an app's first job to its end, on average.",
        ),
        card("Worst rho", &amount(summary.app_rho_worst), &worst),
        card("Apps treated unfairly", &percent(summary.app_unfair_fraction), &unfair),
        card("Evenness among apps", &amount(summary.app_jain), "Jain's index of 1/rho: 1 if all alike."),
    ];
    format!(r#"<div class="cards">{}</div>"#, cards.concat())
}

fn times(rows: &[AppRatios]) -> String {
    let samples = vec![("completion time".into(), rows.iter().map(|row| row.time_s).collect())];
    distributions::completion("Completion times of apps", Who::Apps, samples)
}

fn ratios(rows: &[AppRatios]) -> String {
    let samples: Vec<Sample> = vec![
        (
            "ideal as printed: the whole cluster, N times over".into(),
            rows.iter().filter_map(AppRatios::paper).collect(),
        ),
        ("ideal: a private part of the cluster".into(), rows.iter().filter_map(AppRatios::share).collect()),
    ];
    distributions::fairness("Finish-time fairness of apps", Who::Apps, samples)
}

fn worst(report: &Report, mut rows: Vec<AppRatios>) -> String {
    let rho = |row: &AppRatios| row.paper().unwrap_or(0.0);
    // Stable: apps treated alike stay in their order.
    rows.sort_by(|a, b| rho(b).total_cmp(&rho(a)));
    let tenants = report.book.standings.rows();
    let fields = |row: &AppRatios| {
        let name = match row.name {
            AppName::App(id) => id.to_string(),
            AppName::Job(id) => id.to_string(),
        };
        let texts = [
            name,
            tenants[row.tenant.index()].name.clone(),
            count(row.jobs),
            count(row.retired),
            duration(row.time_s),
            duration(row.ideal_s),
            amount(row.paper().unwrap_or(f64::NAN)),
            amount(row.share().unwrap_or(f64::NAN)),
        ];
        texts.map(Field::new).into()
    };
    let head = ["app", "tenant", "jobs", "retired", "time", "ideal, as printed", "rho", "rho, private part"];
    let with_rho: Vec<Vec<Field>> =
        rows.iter().filter(|row| row.paper().is_some()).take(ROWS_MAX).map(fields).collect();
    table("", &head, &with_rho)
}
