//! Runs in tables: several side by side, or one from top to bottom.

use crate::numbers::{count, moment, percent, plain, span};
use crate::table::{Side, Table};
use evenhand_core::{Better, Reading, Unit};
use evenhand_report::{Report, Summary};

/// What a comparison shows of each run, by the name of the reading; jobs done only if some were not, apps only if there
/// are any but those of one job.
const COLUMNS: &[(&str, &str)] = &[
    ("finished", "jobs\ndone"),
    ("makespan_s", "\nmakespan"),
    ("jct_mean_s", "completion\nmean"),
    ("jct_p95_s", "\np95"),
    ("wait_mean_s", "wait\nmean"),
    ("app_jct_mean_s", "apps:\nmean"),
    ("app_rho_worst", "worst\nrho"),
    ("app_rho_mean", "mean\nrho"),
    ("app_unfair_fraction", "unfair\nrho"),
    ("app_rho_share_worst", "worst\nshare"),
    ("app_unfair_share_fraction", "unfair\nshare"),
    ("app_jain", "apps'\nJain"),
    ("ftf_worst", "worst\nftf"),
    ("ftf_dynamic_worst", "worst\ndynamic"),
    ("ftf_fluid_worst", "worst\nfluid"),
    ("unfair_fraction", "unfair\nftf"),
    ("unfair_dynamic_fraction", "unfair\ndynamic"),
    ("unfair_fluid_fraction", "unfair\nfluid"),
    ("jain", "\nJain"),
    ("utilisation", "utili-\nsation"),
    ("preemptions", "preemp-\ntions"),
];

/// What the words in the head of a comparison mean.
pub const LEGEND: &str = "\
ftf: finish-time fairness, completion time over that with a fair part of the cluster
  (dynamic: with the contention really met; fluid: under fluid fair sharing of the same work)
unfair: jobs with such a ratio above 1.05
decision: CPU time of the policy";

/// What the words about apps mean, where there are any but those of one job.
pub const APPS_LEGEND: &str = "\
rho: time of an app over what the whole cluster owed it, shared by as many apps as there were
  (share: over its time on a private part of the cluster); unfair: apps above 1.05";

/// A run to show.
pub struct Row<'a> {
    /// All of it.
    pub report: &'a Report,
    /// In numbers.
    pub summary: &'a Summary,
}

/// Several runs of the same work side by side, the best of each column marked.
pub fn comparison(runs: &[Row<'_>]) -> String {
    let seeds = runs.iter().any(|run| run.summary.seed != runs[0].summary.seed);
    let apps = runs.iter().any(|run| run.summary.has_apps);
    let readings: Vec<Vec<Reading>> = runs.iter().map(|run| run.report.readings()).collect();
    let columns: Vec<(&str, Vec<Reading>)> = COLUMNS
        .iter()
        .filter(|(name, _)| {
            *name != "finished" || runs.iter().any(|run| run.summary.finished < run.summary.jobs)
        })
        .filter(|(name, _)| apps || !name.starts_with("app_"))
        .filter_map(|(name, title)| {
            let find = |run: &Vec<Reading>| run.iter().find(|reading| reading.name == *name).copied();
            Some((*title, readings.iter().map(find).collect::<Option<Vec<_>>>()?))
        })
        .collect();
    let mut titles = vec![("policy", Side::Left)];
    titles.extend(seeds.then_some(("seed", Side::Right)));
    titles.extend(columns.iter().map(|(title, _)| (*title, Side::Right)));
    titles.push(("decision\np99", Side::Right));
    let mut table = Table::new(titles);
    for (at, run) in runs.iter().enumerate() {
        let mut cells = vec![name(run.summary)];
        cells.extend(seeds.then(|| run.summary.seed.to_string()));
        cells.extend(columns.iter().map(|(_, column)| shown(column[at], scale(column))));
        cells.push(moment(run.summary.decide_ms_p99 / 1e3));
        table.row(cells);
    }
    for (at, (_, column)) in columns.iter().enumerate() {
        if let Some(best) = best(column) {
            table.mark(1 + usize::from(seeds) + at, best);
        }
    }
    table.render()
}

/// A policy and its parameters.
pub fn name(summary: &Summary) -> String {
    let settings = summary.parameters.0.iter().map(|(key, value)| format!(" {key}={value}"));
    format!("{}{}", summary.policy, settings.collect::<String>())
}

/// One unit for a column: that of its largest number.
fn scale(column: &[Reading]) -> f64 {
    column.iter().map(|reading| reading.value).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

fn shown(reading: Reading, scale: f64) -> String {
    match reading.unit {
        Unit::Seconds => span(reading.value, scale),
        Unit::Fraction if ["jain", "app_jain"].contains(&reading.name) => plain(reading.value),
        Unit::Fraction => percent(reading.value),
        Unit::Count => count(reading.value),
        Unit::GpuHours | Unit::Ratio => plain(reading.value),
    }
}

fn best(column: &[Reading]) -> Option<usize> {
    let known = column.iter().enumerate().filter(|(_, reading)| reading.value.is_finite());
    let by_value = |a: &(usize, &Reading), b: &(usize, &Reading)| a.1.value.total_cmp(&b.1.value);
    let found = match column.first()?.better {
        Better::Down => known.min_by(by_value),
        Better::Up => known.max_by(by_value),
        Better::Neutral => None,
    };
    found.map(|(at, _)| at)
}

/// One run from top to bottom, and what each tenant got.
pub fn single(report: &Report, summary: &Summary) -> String {
    let one = |seconds: f64| span(seconds, seconds);
    let fairness = |worst: f64, rest: String, unfair: f64| {
        format!("worst {}{rest}, {} of jobs unfair", plain(worst), percent(unfair))
    };
    let and_mean = |mean: f64| format!(", mean {}", plain(mean));
    let and_p95 = |p95: f64| format!(", p95 {}", plain(p95));
    let s = summary;
    let mut rows = vec![
        ("jobs finished", format!("{} of {}", count(s.finished as f64), count(s.jobs as f64))),
        ("makespan", one(s.makespan_s)),
        (
            "completion time",
            format!(
                "mean {}, median {}, p95 {}, p99 {}",
                one(s.jct_mean_s),
                one(s.jct_p50_s),
                one(s.jct_p95_s),
                one(s.jct_p99_s)
            ),
        ),
        ("wait for the first start", format!("mean {}, median {}", one(s.wait_mean_s), one(s.wait_p50_s))),
        (
            "finish-time fairness, static",
            fairness(s.ftf_worst, and_mean(s.ftf_mean) + &and_p95(s.ftf_p95), s.unfair_fraction),
        ),
        ("  with contention met", fairness(s.ftf_dynamic_worst, String::new(), s.unfair_dynamic_fraction)),
        (
            "  against fluid sharing",
            fairness(s.ftf_fluid_worst, and_mean(s.ftf_fluid_mean), s.unfair_fluid_fraction),
        ),
        ("Jain's index", plain(s.jain)),
        ("utilisation", format!("{} of {} GPUs", percent(s.utilisation), count(s.gpus as f64))),
        (
            "preemptions",
            format!(
                "{}; {} GPU-hours lost of {}",
                count(s.preemptions as f64),
                plain(s.lost_gpu_hours),
                plain(s.gpu_hours)
            ),
        ),
        (
            "decisions",
            format!("{}; {} of due leases kept", count(s.rounds as f64), percent(s.lease_kept_fraction)),
        ),
    ];
    if s.has_apps {
        rows.extend(apps(s));
    }
    rows.push(("speeds", speeds(report)));
    if s.cpu_s.is_finite() {
        let costs = format!(
            "{} CPU, decision p50 {}, p99 {}, at most {} MB",
            moment(s.cpu_s),
            moment(s.decide_ms_p50 / 1e3),
            moment(s.decide_ms_p99 / 1e3),
            plain(s.peak_rss_mb)
        );
        rows.push(("cost of the run", costs));
    }
    let width = rows.iter().map(|(title, _)| title.len()).max().unwrap_or(0);
    let lines: Vec<_> = rows.iter().map(|(title, text)| format!("{title:width$}  {text}")).collect();
    let lines = lines.join("\n");
    format!("{}, seed {}\n\n{lines}\n\n{}", name(summary), summary.seed, tenants(report))
}

/// What there is to say of apps.
fn apps(s: &Summary) -> [(&'static str, String); 3] {
    let mean = span(s.app_jct_mean_s, s.app_jct_mean_s);
    [
        ("apps ended", format!("{}; completion time mean {mean}", count(s.apps as f64))),
        (
            "  rho, as printed",
            format!(
                "worst {}, mean {}, median {}, p95 {}, {} of apps unfair; Jain's index {}",
                plain(s.app_rho_worst),
                plain(s.app_rho_mean),
                plain(s.app_rho_p50),
                plain(s.app_rho_p95),
                percent(s.app_unfair_fraction),
                plain(s.app_jain)
            ),
        ),
        (
            "  against a private part",
            format!(
                "worst {}, {} of apps unfair",
                plain(s.app_rho_share_worst),
                percent(s.app_unfair_share_fraction)
            ),
        ),
    ]
}

/// Whose speeds were believed, and which reports the work itself has refuted.
fn speeds(report: &Report) -> String {
    const NAMED_MAX: usize = 3;
    let check = report.speeds();
    let refuted = check.rows.iter().filter(|row| row.flagged);
    let named: Vec<String> = refuted
        .take(NAMED_MAX)
        .map(|row| {
            let (said, found) = if row.measured_speedup.is_finite() && row.model != row.reference {
                (row.reported_speedup, row.measured_speedup)
            } else {
                (row.reported, row.measured)
            };
            format!("{} on {} says {}, is {}", row.tenant, row.model, plain(said), plain(found))
        })
        .collect();
    let more = check.flagged as usize - named.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let verdict = if named.is_empty() { "no report refuted".into() } else { named.join("; ") + &more };
    format!("as {}; {verdict}", report.predictor())
}

fn tenants(report: &Report) -> String {
    let mut table = Table::new([
        ("tenant", Side::Left),
        ("jobs", Side::Right),
        ("GPU-hours\nreceived", Side::Right),
        ("GPU-hours\nowed", Side::Right),
        ("completion\nmean", Side::Right),
        ("worst\nfluid ftf", Side::Right),
    ]);
    let rows = report.tenants();
    let scale = rows.iter().map(|row| row.jct_mean_s).filter(|mean| mean.is_finite()).fold(0.0, f64::max);
    for row in rows {
        table.row([
            row.name,
            count(row.jobs as f64),
            plain(row.gpu_hours),
            plain(row.owed_gpu_hours),
            span(row.jct_mean_s, scale),
            plain(row.ftf_fluid_worst),
        ]);
    }
    table.render()
}
