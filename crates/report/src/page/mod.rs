//! One self-contained page: no network, no fonts, no libraries; the same ledgers give the same bytes.

mod ahead;
mod apps;
mod auctions;
mod audit;
mod audit_comparison;
mod axis;
mod bars;
mod comparison;
mod curves;
mod distributions;
mod envy;
mod figures;
mod figures_by_name;
mod gantt_plot;
mod parts;
mod plot;
mod round_plots;
mod row;
mod scatter;
mod sheet;
mod speeds;
mod style;
mod sweep;
mod tables;
mod tenant_colours;
pub(crate) mod text;

use crate::metrics::ratios;
use crate::{Report, Summary};
use distributions::{Sample, Who};
use row::{Row, name};
use tenant_colours::TenantColours;
use text::{count, escape};

pub use figures_by_name::{FIGURES, FigureEntry, own_shares, tenant_colours};
pub use row::DRAWN_MAX;
pub use style::STYLE;

/// One self-contained page about one run, or about several runs of the same work side by side.
pub fn html(title: &str, runs: &[(&Report, &Summary)]) -> String {
    html_with(title, &runs.iter().map(|(_, summary)| *summary).collect::<Vec<_>>(), runs)
}

/// The same of runs of which only some were kept: all count in the figures, those of `drawn` are also drawn. One run that
/// was kept has a page of its own.
pub fn html_with(title: &str, all: &[&Summary], drawn: &[(&Report, &Summary)]) -> String {
    let body = body(all, drawn);
    let (title, style, script) = (escape(title), STYLE, style::SCRIPT);
    format!(
        r#"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title><style>{style}</style></head><body><h1>{title}</h1>{body}<script>{script}</script></body></html>
"#
    )
}

/// What is on such a page, without its title, its style and its script.
pub fn body(all: &[&Summary], drawn: &[(&Report, &Summary)]) -> String {
    match (all, drawn) {
        ([], _) => "<p>There are no runs to report on.</p>".to_owned(),
        ([_], [(report, summary)]) => one(report, summary),
        _ => many(all, drawn),
    }
}

fn one(report: &Report, summary: &Summary) -> String {
    let colours = TenantColours::new(report);
    let setting = format!(
        "Policy {}, speeds as {}, seed {}: {} jobs on {} GPUs ({} world).",
        name(summary),
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
        ahead::plans(report, &colours),
        speeds::speeds(report),
        "<h2>What this policy guarantees here, and what it cost</h2>".into(),
        audit::audit(summary.audit.as_ref(), &colours),
        format!(r#"<div class="gap">{}</div>"#, envy::matrix(summary.audit.as_ref())),
    ]
    .concat()
}

fn many(all: &[&Summary], drawn: &[(&Report, &Summary)]) -> String {
    let rows = Row::all(all, drawn);
    let dots: Vec<_> = rows.iter().map(dot).collect();
    let drawn: Vec<&Row<'_>> = rows.iter().take(DRAWN_MAX).collect();
    // A row of which nothing was kept has an empty curve, so that the others keep their colours.
    let curves = |read: fn(&Report) -> Vec<f64>| -> Vec<Sample> {
        let sample = |row: &Row<'_>| row.drawn.map_or_else(Vec::new, |(report, _)| read(report));
        drawn.iter().map(|row| (row.name.clone(), sample(row))).collect()
    };
    let details = drawn.iter().filter_map(|row| Some((row, row.drawn?)));
    let details = details.map(|(row, (report, run))| detail(&row.name, report, run));
    [
        format!(r#"<p class="soft">{}</p><h2>Side by side</h2>"#, escape(&setting(&rows, all))),
        comparison::comparison(&rows),
        sweep::section(&rows),
        "<h2>Fast and fair</h2>".into(),
        scatter::fast_against_fair(&dots),
        format!(r#"{}<div class="plots gap">"#, of_which(&rows)),
        distributions::completion("Completion times", Who::Jobs, curves(completion_times)),
        distributions::fairness("Fairness against fluid fair sharing", Who::Jobs, curves(fluid_ratios)),
        if all.iter().any(|run| run.has_apps) {
            let title = "Finish-time fairness of apps, as printed";
            distributions::fairness(title, Who::Apps, curves(apps::printed))
        } else {
            String::new()
        },
        "</div><h2>What each policy guarantees here, and what it cost</h2>".into(),
        audit_comparison::audits(&rows),
        format!("<h2>Run by run</h2>{}", of_which(&rows)),
        details.collect(),
    ]
    .concat()
}

fn dot(row: &Row<'_>) -> scatter::Dot {
    let worst = row.average(|run| run.ftf_fluid_worst).mean;
    (row.name.clone(), row.average(|run| run.jct_mean_s).mean, worst)
}

/// What was run, and how to read the numbers.
fn setting(rows: &[Row<'_>], all: &[&Summary]) -> String {
    let jobs = |pick: fn(u64, u64) -> u64| all.iter().map(|run| run.jobs).reduce(pick).unwrap_or(0);
    let (least, most) = (jobs(u64::min), jobs(u64::max));
    let jobs = if least == most { count(least) } else { format!("{} to {}", count(least), count(most)) };
    let seeds = rows.iter().map(|row| row.runs.len()).max().unwrap_or(1);
    let means = if seeds > 1 {
        format!(
            " Figures are means over up to {} seeds, and ± is half of their 95 % interval (Student's t).",
            count(seeds as u64)
        )
    } else {
        String::new()
    };
    let (runs, gpus) = (count(all.len() as u64), count(all[0].gpus));
    format!("{runs} runs of {jobs} jobs on {gpus} GPUs.{means} The best value of each column is marked.")
}

/// Says which runs are drawn, if not all are.
fn of_which(rows: &[Row<'_>]) -> String {
    let mut words = Vec::new();
    if rows.iter().any(|row| row.runs.len() > 1) {
        let seed = rows.iter().find_map(|row| row.drawn).map(|(_, run)| run.seed);
        words.extend(seed.map(|seed| format!("Curves and single runs are those of seed {seed}.")));
    }
    if rows.len() > DRAWN_MAX {
        words.push(format!("They are shown of the first {DRAWN_MAX} rows."));
    }
    if words.is_empty() { String::new() } else { format!(r#"<p class="soft gap">{}</p>"#, words.join(" ")) }
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

fn fluid_ratios(report: &Report) -> Vec<f64> {
    ratios(&report.book).iter().map(|row| row.fluid).collect()
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
