//! Runs in tables: several side by side, or one from top to bottom.

use crate::numbers::{count, moment, percent, plain, span};
use crate::table::{Side, Table};
use evenhand_core::{Better, Reading, Unit};
use evenhand_report::{Average, Report, Summary, groups};

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
const LEGEND: &str = "\
ftf: finish-time fairness, completion time over that with a fair part of the cluster
  (dynamic: with the contention really met; fluid: under fluid fair sharing of the same work)
unfair: jobs with such a ratio above 1.05
decision: CPU time of the policy";

/// What the words about apps mean, where there are any but those of one job.
const APPS_LEGEND: &str = "\
rho: time of an app over what the whole cluster owed it, shared by as many apps as there were
  (share: over its time on a private part of the cluster); unfair: apps above 1.05";

/// A run to show.
pub struct Row<'a> {
    /// Every figure of it.
    pub readings: &'a [Reading],
    /// The same by name, with what it cost.
    pub summary: &'a Summary,
}

/// A figure of a row: over the seeds, if there are several.
#[derive(Clone, Copy)]
struct Figure {
    /// The reading, with the mean as its value.
    reading: Reading,
    /// Half the 95 % interval; NaN with one seed.
    half: f64,
}

/// Several runs of the same work side by side, means over seeds, the best of each column marked.
pub fn comparison(runs: &[Row<'_>]) -> String {
    let rows = groups(&runs.iter().map(|run| run.summary).collect::<Vec<_>>());
    let columns: Vec<(&str, Vec<Figure>)> = COLUMNS
        .iter()
        .filter(|(name, _)| is_shown(name, runs))
        .filter_map(|(name, title)| Some((*title, column(name, &rows, runs)?)))
        .collect();
    let mut titles = vec![("policy", Side::Left)];
    titles.extend(columns.iter().map(|(title, _)| (*title, Side::Right)));
    titles.push(("decision\np99", Side::Right));
    let mut table = Table::new(titles);
    for (at, seeds) in rows.iter().enumerate() {
        let mut cells = vec![name(runs[seeds[0]].summary)];
        cells.extend(columns.iter().map(|(_, column)| column[at].text(scale(column))));
        let decision = Average::of(seeds.iter().map(|seed| runs[*seed].summary.decide_ms_p99 / 1e3));
        cells.push(plus_minus(moment(decision.mean), decision.half, moment));
        table.row(cells);
    }
    for (at, (_, column)) in columns.iter().enumerate() {
        if let Some(best) = best(column) {
            table.mark(1 + at, best);
        }
    }
    table.render()
}

/// How many jobs came to a good end.
fn finished(summary: &Summary) -> String {
    let retired = match summary.retired {
        0 => String::new(),
        retired => format!(", {} retired by their tuners", count(retired as f64)),
    };
    format!("{} of {}{retired}", count(summary.finished as f64), count(summary.jobs as f64))
}

/// What the head of this comparison means.
pub fn legend(runs: &[Row<'_>]) -> String {
    let rows = groups(&runs.iter().map(|run| run.summary).collect::<Vec<_>>());
    let seeds = rows.iter().map(Vec::len).max().unwrap_or(1);
    let means = format!("Means of {seeds} seeds; ±: half of their 95 % interval (Student's t).");
    let apps = runs.iter().any(|run| run.summary.has_apps);
    let lines = [(seeds > 1).then_some(means.as_str()), Some(LEGEND), apps.then_some(APPS_LEGEND)];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn is_shown(name: &str, runs: &[Row<'_>]) -> bool {
    if name == "finished" {
        return runs.iter().any(|run| run.summary.finished + run.summary.retired < run.summary.jobs);
    }
    !name.starts_with("app_") || runs.iter().any(|run| run.summary.has_apps)
}

/// A figure in every row; `None` if it is not read.
fn column(name: &str, rows: &[Vec<usize>], runs: &[Row<'_>]) -> Option<Vec<Figure>> {
    let find = |at: usize| runs[at].readings.iter().find(|reading| reading.name == name).copied();
    let figure = |seeds: &Vec<usize>| {
        let readings: Vec<Reading> = seeds.iter().map(|at| find(*at)).collect::<Option<_>>()?;
        let average = Average::of(readings.iter().map(|reading| reading.value));
        Some(Figure { reading: Reading { value: average.mean, ..readings[0] }, half: average.half })
    };
    rows.iter().map(figure).collect()
}

/// A policy and its parameters.
pub fn name(summary: &Summary) -> String {
    let settings = summary.parameters.0.iter().map(|(key, value)| format!(" {key}={value}"));
    format!("{}{}", summary.policy, settings.collect::<String>())
}

/// One unit for a column: that of its largest number.
fn scale(column: &[Figure]) -> f64 {
    column.iter().map(|figure| figure.reading.value).filter(|value| value.is_finite()).fold(0.0, f64::max)
}

impl Figure {
    fn text(self, scale: f64) -> String {
        let text = |value: f64| match self.reading.unit {
            Unit::Seconds => span(value, scale),
            Unit::Fraction if ["jain", "app_jain"].contains(&self.reading.name) => plain(value),
            Unit::Fraction => percent(value),
            Unit::Count if value.fract().abs() < 1e-9 => count(value),
            Unit::Count | Unit::GpuHours | Unit::Ratio => plain(value),
        };
        plus_minus(text(self.reading.value), self.half, text)
    }
}

/// A mean with half its interval, if it has one; the unit is written once.
fn plus_minus(mean: String, half: f64, text: impl Fn(f64) -> String) -> String {
    if !half.is_finite() {
        return mean;
    }
    let half = text(half);
    match (mean.rsplit_once(' '), half.rsplit_once(' ')) {
        (Some((mean, unit)), Some((half, same))) if unit == same => format!("{mean} ± {half} {unit}"),
        _ => format!("{mean} ± {half}"),
    }
}

fn best(column: &[Figure]) -> Option<usize> {
    let values = column.iter().map(|figure| figure.reading.value);
    let known = values.enumerate().filter(|(_, value)| value.is_finite());
    let by_value = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1);
    let found = match column.first()?.reading.better {
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
        ("jobs finished", finished(s)),
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
