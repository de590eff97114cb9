//! `evenhand trace inspect`: what a trace holds.

use super::plots;
use crate::numbers::{count, percent, plain, span};
use crate::output;
use crate::table::{Side, Table};
use crate::trace_args::TraceInspect;
use anyhow::{Context, Result};
use evenhand_sim::profiles::Portrait;
use evenhand_sim::profiles::portrait::{AppFigures, Quantiles};
use evenhand_sim::traces::{Trace, Warnings};
use serde_json::{Value, json};

/// Edges of the histogram of durations, in seconds: each about three times the one before.
const EDGES: &[(f64, &str)] = &[
    (10.0, "10 s"),
    (30.0, "30 s"),
    (90.0, "90 s"),
    (300.0, "5 min"),
    (900.0, "15 min"),
    (2700.0, "45 min"),
    (7200.0, "2 h"),
    (21_600.0, "6 h"),
    (64_800.0, "18 h"),
    (172_800.0, "2 d"),
    (518_400.0, "6 d"),
    (1_555_200.0, "18 d"),
];

/// Rows that are shown of a long list.
const ROWS_MAX: usize = 12;

/// Columns of the plot of days.
const DAYS_WIDTH: usize = 72;

/// Reads a trace and says what it holds.
pub fn run(args: &TraceInspect) -> Result<()> {
    let trace = super::read(&args.file, args.throughputs.as_deref())?;
    let portrait = Portrait::of(&trace).context("a trace with jobs can be measured")?;
    let file = args.file.display().to_string();
    if args.json {
        return output::say_json(&as_json(&file, &trace, &portrait)?);
    }
    let parts = [
        head(&file, &trace, &portrait),
        quantiles(&portrait),
        sizes(&portrait),
        tenants(&portrait),
        arrivals(&portrait),
        durations_plot(&trace),
        sizes_plot(&portrait),
        hours_plot(&portrait),
        days_plot(&portrait),
        warnings(&trace.warnings),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    output::say(&parts.join("\n\n"))
}

fn as_json(file: &str, trace: &Trace, portrait: &Portrait) -> Result<Value> {
    let warnings = trace.warnings.iter().map(|(warning, count, line)| {
        json!({
            "warning": format!("{warning:?}"),
            "rows": count,
            "first_line": line,
            "skipped": warning.is_skip(),
            "sentence": warning.sentence(),
        })
    });
    let mut document = json!({
        "file": file,
        "format": trace.format,
        "anchor": trace.anchor,
        "models": trace.models,
        "skipped": trace.warnings.skipped(),
        "warnings": warnings.collect::<Vec<_>>(),
    });
    let (Value::Object(all), Value::Object(figures)) = (&mut document, serde_json::to_value(portrait)?)
    else {
        anyhow::bail!("a portrait is an object");
    };
    all.extend(figures);
    Ok(document)
}

fn head(file: &str, trace: &Trace, portrait: &Portrait) -> String {
    let mut rows = vec![
        ("format", trace.format.to_owned()),
        (
            "jobs",
            format!(
                "{} of {} {}, submitted within {}",
                count(portrait.jobs as f64),
                count(portrait.tenants.len() as f64),
                if portrait.tenants.len() == 1 { "tenant" } else { "tenants" },
                span(portrait.span_s, portrait.span_s)
            ),
        ),
        ("time 0", trace.anchor.clone().unwrap_or_else(|| "the wall clock is not known".into())),
        (
            "GPU-time",
            format!(
                "{} GPU-hours: {} GPUs busy on average if every job ran at once",
                count(portrait.gpu_hours),
                plain(portrait.gpus_offered)
            ),
        ),
    ];
    if !trace.models.is_empty() {
        rows.push(("GPU models", trace.models.join(", ")));
    }
    if portrait.dynamic_fraction > 0.0 {
        rows.push((
            "dynamic",
            format!("{} of jobs change their batch size", percent(portrait.dynamic_fraction)),
        ));
    }
    if let Some(apps) = &portrait.apps {
        rows.push(("apps", apps_text(apps)));
    }
    if !portrait.outcomes.is_empty() {
        let share = portrait.outcomes.iter().map(|share| {
            let (jobs, gpu_time) = (percent(share.jobs_fraction), percent(share.gpu_time_fraction));
            format!("{} {jobs} ({gpu_time} of GPU-time)", share.outcome)
        });
        rows.push(("outcomes", share.collect::<Vec<_>>().join(", ")));
    }
    if trace.warnings.skipped() > 0 {
        rows.push(("skipped", format!("{} rows (see below)", count(trace.warnings.skipped() as f64))));
    }
    format!("{file}\n{}", listed(&rows))
}

fn apps_text(apps: &AppFigures) -> String {
    let tuners: Vec<String> = apps.tuners.iter().map(|(tuner, apps)| format!("{tuner} {apps}")).collect();
    format!(
        "{}, of which {} with one job; {} jobs in the median, {} at most; {} are over with the first job at its target\n  {:8}  \
         tuners: {}",
        count(apps.count as f64),
        count(apps.single as f64),
        plain(apps.jobs.p50),
        plain(apps.jobs.max),
        count(apps.first_to_target as f64),
        "",
        tuners.join(", ")
    )
}

/// Titles and texts, aligned.
fn listed(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(title, _)| title.len()).max().unwrap_or(0);
    rows.iter().map(|(title, text)| format!("  {title:width$}  {text}")).collect::<Vec<_>>().join("\n")
}

fn quantiles(portrait: &Portrait) -> String {
    let titles = ["", "min", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "max", "mean"];
    let sides = titles.map(|title| (title, if title.is_empty() { Side::Left } else { Side::Right }));
    let mut table = Table::new(sides);
    let mut row = |name: &str, of: &Quantiles, shown: fn(f64) -> String| {
        let values = [of.min, of.p10, of.p25, of.p50, of.p75, of.p90, of.p95, of.p99, of.max, of.mean];
        table.row(std::iter::once(name.to_owned()).chain(values.map(shown)));
    };
    let short = |seconds: f64| span(seconds, seconds);
    row("duration", &portrait.duration_s, short);
    row("GPUs", &portrait.gpus, plain);
    if let Some(waits) = &portrait.wait_s {
        row("waiting", waits, short);
    }
    table.render()
}

fn sizes(portrait: &Portrait) -> String {
    let titles = [("GPUs", Side::Right), ("jobs", Side::Right), ("of jobs", Side::Right)];
    let rest = [("of GPU-time", Side::Right), ("mean duration", Side::Right)];
    let mut table = Table::new(titles.into_iter().chain(rest));
    let mut shown: Vec<_> = portrait.sizes.iter().collect();
    shown.sort_by_key(|size| std::cmp::Reverse(size.jobs));
    let others = shown.split_off(shown.len().min(ROWS_MAX));
    shown.sort_by_key(|size| size.gpus);
    for size in shown {
        table.row([
            size.gpus.to_string(),
            count(size.jobs as f64),
            percent(size.jobs_fraction),
            percent(size.gpu_time_fraction),
            span(size.duration_mean_s, size.duration_mean_s),
        ]);
    }
    if !others.is_empty() {
        let jobs: u64 = others.iter().map(|size| size.jobs).sum();
        let seconds = others.iter().map(|size| size.duration_mean_s * size.jobs as f64).sum::<f64>();
        table.row([
            format!("{} others", others.len()),
            count(jobs as f64),
            percent(others.iter().map(|size| size.jobs_fraction).sum()),
            percent(others.iter().map(|size| size.gpu_time_fraction).sum()),
            span(seconds / jobs as f64, seconds / jobs as f64),
        ]);
    }
    format!(
        "{}\nThe heaviest 1 % of jobs hold {} of the GPU-time, the heaviest 10 % {}.",
        table.render(),
        percent(portrait.top.top_1_percent),
        percent(portrait.top.top_10_percent)
    )
}

fn tenants(portrait: &Portrait) -> String {
    if portrait.tenants.len() < 2 {
        return String::new();
    }
    let mut table = Table::new([
        ("tenant", Side::Left),
        ("jobs", Side::Right),
        ("of jobs", Side::Right),
        ("of GPU-time", Side::Right),
    ]);
    let (shown, others) = portrait.tenants.split_at(portrait.tenants.len().min(ROWS_MAX));
    let mut row = |name: String, jobs: u64, jobs_fraction: f64, gpu_time_fraction: f64| {
        table.row([name, count(jobs as f64), percent(jobs_fraction), percent(gpu_time_fraction)]);
    };
    for tenant in shown {
        row(tenant.name.clone(), tenant.jobs, tenant.jobs_fraction, tenant.gpu_time_fraction);
    }
    if !others.is_empty() {
        row(
            format!("{} others", others.len()),
            others.iter().map(|tenant| tenant.jobs).sum(),
            others.iter().map(|tenant| tenant.jobs_fraction).sum(),
            others.iter().map(|tenant| tenant.gpu_time_fraction).sum(),
        );
    }
    table.render()
}

fn arrivals(portrait: &Portrait) -> String {
    let (arrivals, batches) = (&portrait.arrivals, &portrait.batches);
    let rows = [
        (
            "rate",
            format!(
                "{} jobs an hour; the busiest hour has {}",
                plain(arrivals.jobs_per_hour),
                count(arrivals.busiest_hour_jobs as f64)
            ),
        ),
        (
            "gaps",
            format!(
                "mean {}, median {}, coefficient of variation {}; {} in the same second",
                span(arrivals.gap_mean_s, arrivals.gap_mean_s),
                span(arrivals.gap_median_s, arrivals.gap_median_s),
                plain(arrivals.gap_cv),
                percent(arrivals.same_second_fraction)
            ),
        ),
        (
            "dispersion",
            format!(
                "{} (variance over mean of hourly counts; Poisson: 1)",
                plain(arrivals.dispersion_hourly)
            ),
        ),
        (
            "batches",
            format!(
                "mean {}, largest {}; {} are single jobs; {} of jobs in batches of 5 and more, {} in 20 and more",
                plain(batches.mean),
                count(batches.largest as f64),
                percent(batches.single_fraction),
                percent(batches.jobs_in_5_fraction),
                percent(batches.jobs_in_20_fraction)
            ),
        ),
    ];
    format!("arrivals\n{}", listed(&rows))
}

fn durations_plot(trace: &Trace) -> String {
    let mut counts = vec![0_u64; EDGES.len() + 1];
    for seconds in trace.jobs.iter().filter_map(evenhand_sim::traces::TraceJob::duration_s) {
        counts[EDGES.partition_point(|(edge, _)| *edge <= seconds)] += 1;
    }
    let label = |at: usize| match EDGES.get(at) {
        Some((_, name)) => format!("< {name}"),
        None => format!(">= {}", EDGES[EDGES.len() - 1].1),
    };
    let rows: Vec<_> = counts.iter().enumerate().map(|(at, jobs)| (label(at), *jobs)).collect();
    bars_of("jobs by duration", &rows, trace.jobs.len())
}

fn sizes_plot(portrait: &Portrait) -> String {
    // Powers of two: 1, 2, 3 to 4, 5 to 8 and so on.
    let mut counts: Vec<u64> = Vec::new();
    for size in &portrait.sizes {
        let place = size.gpus.next_power_of_two().trailing_zeros() as usize;
        counts.resize(counts.len().max(place + 1), 0);
        counts[place] += size.jobs;
    }
    let label = |at: usize| match at {
        0 | 1 => (1 << at).to_string(),
        _ => format!("{} to {}", (1_u64 << (at - 1)) + 1, 1_u64 << at),
    };
    let rows: Vec<_> = counts.iter().enumerate().map(|(at, jobs)| (label(at), *jobs)).collect();
    bars_of("jobs by GPUs", &rows, portrait.jobs as usize)
}

/// Bars with percentages; empty rows at both ends are left out.
fn bars_of(title: &str, rows: &[(String, u64)], total: usize) -> String {
    let first = rows.iter().position(|(_, jobs)| *jobs > 0).unwrap_or(0);
    let last = rows.iter().rposition(|(_, jobs)| *jobs > 0).map_or(0, |last| last + 1);
    let row = |(label, jobs): &(String, u64)| {
        (label.clone(), *jobs as f64, percent(*jobs as f64 / total.max(1) as f64))
    };
    format!("{title}\n{}", plots::bars(&rows[first..last.max(first)].iter().map(row).collect::<Vec<_>>()))
}

fn hours_plot(portrait: &Portrait) -> String {
    let arrivals = &portrait.arrivals;
    let (line, _) = plots::columns(&arrivals.hours, 24);
    let wide: String = line.chars().flat_map(|column| [column, column]).collect();
    let from = if arrivals.wall_clock { "hour of the day" } else { "hour of the day, counted from time 0" };
    let (days, _) = plots::columns(&arrivals.weekdays, 7);
    let days: String = days.chars().flat_map(|column| [column, column, ' ', ' ']).collect();
    let names = if arrivals.wall_clock { "Mo  Tu  We  Th  Fr  Sa  Su" } else { "1   2   3   4   5   6   7" };
    format!(
        "jobs by {from}, and by day of the week\n  {wide}    {}\n  0     3     6     9     12    15    18    21        {names}",
        days.trim_end()
    )
}

fn days_plot(portrait: &Portrait) -> String {
    let (line, group) = plots::columns(&portrait.arrivals.days, DAYS_WIDTH);
    let days = portrait.arrivals.days.len();
    if days < 2 {
        return String::new();
    }
    let each = if group == 1 { String::new() } else { format!(", {group} days in each column") };
    format!("jobs by day ({days} days{each})\n  {line}")
}

fn warnings(warnings: &Warnings) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let rows: Vec<String> = warnings
        .iter()
        .map(|(warning, rows, line)| {
            let noun = if rows == 1 { "row" } else { "rows" };
            format!("  {} {noun} {} (the first in line {line})", count(rows as f64), warning.sentence())
        })
        .collect();
    format!("skipped or changed\n{}", rows.join("\n"))
}
