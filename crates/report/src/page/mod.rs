//! One self-contained page: no network, no fonts, no libraries; the same ledgers give the same bytes.

mod apps;
mod auctions;
mod audit;
mod audit_comparison;
mod axis;
mod bars;
mod comparison;
mod curves;
mod distributions;
mod figures;
mod gantt_plot;
mod parts;
mod plot;
mod scatter;
mod speeds;
mod style;
mod tables;
mod tenant_colours;
pub(crate) mod text;

use crate::metrics::ratios;
use crate::{Report, Summary};
use distributions::{Sample, Who};
use tenant_colours::TenantColours;
use text::{count, escape};

/// One self-contained page about one run, or about several runs of the same work side by side.
pub fn html(title: &str, runs: &[(&Report, &Summary)]) -> String {
    let body = match runs {
        [] => "<p>There are no runs to report on.</p>".to_owned(),
        [(report, summary)] => one(report, summary),
        several => many(several),
    };
    let (title, style, script) = (escape(title), style::STYLE, style::SCRIPT);
    format!(
        r#"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>{body}<script>{script}</script></body></html>
"#
    )
}

fn one(report: &Report, summary: &Summary) -> String {
    let colours = TenantColours::new(report);
    let setting = format!(
        "Policy {}, speeds as {}, seed {}: {} jobs on {} GPUs ({} world).",
        name(summary, false),
        report.predictor(),
        summary.seed,
        count(summary.jobs),
        count(summary.gpus),
        report.header.world,
    );
    [
        format!(r#"<p class="soft">{}</p><h2>In short</h2>"#, escape(&setting)),
        figures::cards(summary),
        "<h2>The cluster</h2>".into(),
        gantt_plot::gantt(report, &colours),
        format!(r#"<div class="plots gap">{}{}</div>"#, curves::leased(report), curves::waiting(report)),
        "<h2>The jobs</h2>".into(),
        format!(r#"<div class="plots">{}{}</div>"#, completion_of_one(report), fairness_of_one(report)),
        format!("<h3>How they ended</h3>{}", tables::outcomes(report)),
        apps::section(report, summary),
        "<h2>The tenants</h2>".into(),
        tables::tenants(report, &colours),
        auctions::auctions(report),
        speeds::speeds(report),
        "<h2>What this policy guarantees here, and what it cost</h2>".into(),
        audit::audit(summary.audit.as_ref(), &colours),
    ]
    .concat()
}

fn many(runs: &[(&Report, &Summary)]) -> String {
    let seeds = runs.iter().any(|(_, run)| run.seed != runs[0].1.seed);
    let names: Vec<String> = runs.iter().map(|(_, run)| name(run, seeds)).collect();
    let rows: Vec<(&str, &Summary)> =
        names.iter().zip(runs).map(|(name, (_, run))| (name.as_str(), *run)).collect();
    let dots: Vec<_> =
        rows.iter().map(|(name, run)| ((*name).to_owned(), run.jct_mean_s, run.ftf_fluid_worst)).collect();
    let times = names.iter().zip(runs).map(|(name, (report, _))| (name.clone(), completion_times(report)));
    let fluid = names.iter().zip(runs).map(|(name, (report, _))| {
        (name.clone(), ratios(&report.book).iter().map(|row| row.fluid).collect())
    });
    let setting =
        format!("{} runs of {} jobs on {} GPUs.", runs.len(), count(runs[0].1.jobs), count(runs[0].1.gpus));
    let details = names.iter().zip(runs).map(|(name, (report, run))| detail(name, report, run));
    [
        format!(
            r#"<p class="soft">{} The best value of each column is marked.</p><h2>Side by side</h2>"#,
            escape(&setting)
        ),
        comparison::comparison(&rows),
        "<h2>Fast and fair</h2>".into(),
        scatter::fast_against_fair(&dots),
        r#"<div class="plots gap">"#.into(),
        distributions::completion("Completion times", Who::Jobs, times.collect()),
        distributions::fairness("Fairness against fluid fair sharing", Who::Jobs, fluid.collect()),
        apps_of_many(&names, runs),
        "</div><h2>What each policy guarantees here, and what it cost</h2>".into(),
        audit_comparison::audits(&rows),
        "<h2>Run by run</h2>".into(),
        details.collect(),
    ]
    .concat()
}

/// rho of apps in several runs; empty if there are none but those of one job.
fn apps_of_many(names: &[String], runs: &[(&Report, &Summary)]) -> String {
    if runs.iter().all(|(_, run)| !run.has_apps) {
        return String::new();
    }
    let rho = names.iter().zip(runs).map(|(name, (report, _))| (name.clone(), apps::printed(report)));
    distributions::fairness("Finish-time fairness of apps, as printed", Who::Apps, rho.collect())
}

/// What a run is called: its policy, the parameters that were given, and its seed where seeds differ.
fn name(run: &Summary, seeds: bool) -> String {
    let given = run.parameters.0.iter().map(|(name, value)| format!("{name}={value}"));
    let seed = seeds.then(|| format!("(seed {})", run.seed));
    let words: Vec<String> = std::iter::once(run.policy.clone()).chain(given).chain(seed).collect();
    words.join(" ")
}

fn detail(name: &str, report: &Report, run: &Summary) -> String {
    let colours = TenantColours::new(report);
    format!(
        r#"<details><summary>{}</summary><h3>In short</h3>{}<h3>The cluster</h3><div class="plots">{}{}</div><h3>The tenants</h3>{}<h3>What this policy guarantees here, and what it cost</h3>{}</details>"#,
        escape(name),
        figures::cards(run),
        curves::leased(report),
        curves::waiting(report),
        tables::tenants(report, &colours),
        audit::audit(run.audit.as_ref(), &colours),
    )
}

fn completion_times(report: &Report) -> Vec<f64> {
    report.book.lives.iter().map(|life| life.jct().seconds()).collect()
}

fn completion_of_one(report: &Report) -> String {
    let samples = vec![("completion time".into(), completion_times(report))];
    distributions::completion("Completion times", Who::Jobs, samples)
}

fn fairness_of_one(report: &Report) -> String {
    let rows = ratios(&report.book);
    let samples: Vec<Sample> = vec![
        ("against fluid fair sharing".into(), rows.iter().map(|row| row.fluid).collect()),
        ("static: jobs of the trace over GPUs".into(), rows.iter().map(|row| row.fixed).collect()),
        ("dynamic: mean active jobs over GPUs".into(), rows.iter().map(|row| row.dynamic).collect()),
    ];
    distributions::fairness("Fairness ratios", Who::Jobs, samples)
}
