//! `evenhand whatif`: your own history under other policies.

use crate::args::Work as WorkArgs;
use crate::commands::report::fold;
use crate::comparison::{Compared, Comparison};
use crate::numbers::{count, plain, span};
use crate::progress::Progress;
use crate::table::{Side, Table};
use crate::whatif_args::WhatIf;
use crate::works::Work;
use crate::{failure, inputs, ledger_file, output, promises};
use anyhow::{Context, Result};
use evenhand_core::Choice;
use evenhand_live::shadow::SHADOW_WORLD;
use evenhand_report::{Costs, Report, Summary};
use evenhand_sim::traces::{Trace, open_trace};
use evenhand_sim::{Again, History, Lean, Semantics, Setup};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// A history that its own policy does not give back to so many percent is not believed.
const OFF_MAX: f64 = 5.0;

/// What is known of what really happened.
enum Happened {
    /// Nothing.
    Unknown,
    /// Under whom, and how long jobs took on average: the first run is to give that back.
    Took { under: String, jct_mean_s: f64 },
    /// All of it: it is the first run itself.
    Watched,
}

/// A history run again: as is expected, and at both ends of what is believed where something is.
struct Runs {
    expected: Compared,
    ends: Option<[Compared; 2]>,
}

/// Runs what a ledger or a trace recorded again, under its own policy and others.
pub fn run(args: &WhatIf) -> Result<()> {
    let path = &match &args.history {
        Some(history) => history.clone(),
        None => ledger_file::of_service(&args.server)?,
    };
    if args.parts {
        // Whoever cannot give way goes on all the same.
        let _ = rustix::process::nice(10);
    }
    let (happened, runs) =
        if args.cluster.is_some() { of_trace(args, path)? } else { of_ledger(args, path)? };
    output::make_folder(&args.out)?;
    let page = args.out.join("report.html");
    runs.expected.write_page(&page, &format!("What if: {}", path.display()))?;
    if args.parts {
        output::write_file(&args.out.join("parts.html"), &runs.expected.parts())?;
        output::write_file(&args.out.join("told.txt"), &told(&happened, &runs))?;
    }
    if args.json {
        output::say_json(&runs.as_json()?)?;
        return runs.expected.check();
    }
    runs.expected.say_table()?;
    output::say(&format!("\n{}", told(&happened, &runs)))?;
    if let Some(table) = by_tenant(&runs.expected) {
        output::say(&format!("\n{table}"))?;
    }
    output::say(&format!("\nreport   {}", page.display()))?;
    runs.expected.check()
}

fn of_ledger(args: &WhatIf, path: &Path) -> Result<(Happened, Runs)> {
    let history = read(path)?;
    let is_watched = history.header().world == SHADOW_WORLD;
    if is_watched && args.since.is_some() {
        return Err(failure::wrong(
            "--since",
            "what was watched is told as a whole: begin another journal instead",
        ));
    }
    let setups = setups(args, &history)?;
    let again = history.clone().again(args.since, Lean::Expected);
    if again.workload.jobs.is_empty() {
        return Err(failure::wrong(path.display(), "no job of it is known well enough to be run again"));
    }
    warn(&again);
    let believed = again.believed > 0;
    if args.parts {
        Progress::tell_programs(if believed { 3 } else { 1 });
    }
    let run = |again: Again| {
        let (cluster, work) = (again.cluster, Work::Same(Arc::new(again.workload)));
        Comparison { cluster, work, setups: setups.clone() }.run(inputs::threads(args.threads), None)
    };
    let expected = run(again)?;
    let end = |lean| run(history.clone().again(args.since, lean));
    let ends = if believed { Some([end(Lean::Slower)?, end(Lean::Faster)?]) } else { None };
    let runs = Runs { expected, ends };
    if is_watched {
        return Ok((Happened::Watched, runs.after(|| fold(path))?));
    }
    if args.since.is_some() {
        return Ok((Happened::Unknown, runs));
    }
    let summary = promises::told(fold(path)?.summary(&Costs::default()));
    let happened = match summary.jct_mean_s {
        jct_mean_s if jct_mean_s.is_finite() => Happened::Took { under: summary.policy, jct_mean_s },
        // Nobody has come to an end yet.
        _ => Happened::Unknown,
    };
    Ok((happened, runs))
}

/// A trace says who waited how long, perhaps, and not who decided.
fn of_trace(args: &WhatIf, path: &Path) -> Result<(Happened, Runs)> {
    let machines = WorkArgs {
        cluster: args.cluster.clone(),
        gpus_per_node: args.gpus_per_node,
        nodes_per_rack: args.nodes_per_rack,
        throughputs: None,
        semantics: Semantics::Exact,
        round: args.round,
        restore: None,
        save: None,
        checkpoint: None,
        lie: Vec::new(),
    };
    let (cluster, base) = (machines.cluster()?, machines.setup()?);
    let mut choices = inputs::choices(std::slice::from_ref(&args.really), &[])?;
    for choice in inputs::choices(&args.policy, &args.set)? {
        let is_known = |known: &Choice| *known == choice;
        if !choices.iter().any(is_known) {
            choices.push(choice);
        }
    }
    let setups: Vec<Setup> = choices.into_iter().map(|policy| Setup { policy, ..base.clone() }).collect();
    setups.iter().try_for_each(|setup| inputs::check(setup, None))?;
    let trace = open_trace(path, &inputs::sides(None)?)?;
    inputs::tell_warnings(path, &trace.warnings);
    let happened = waited(&trace).unwrap_or(Happened::Unknown);
    let mut workload = trace.bind(&cluster).map_err(|error| error.within(&path.display().to_string()))?;
    // How long they would take, nobody knew beforehand.
    workload.withhold_work();
    let comparison = Comparison { cluster, work: Work::Same(Arc::new(workload)), setups };
    Ok((happened, Runs { expected: comparison.run(inputs::threads(args.threads), None)?, ends: None }))
}

/// How long jobs really took from their submission on, if the trace says of all how long they waited.
fn waited(trace: &Trace) -> Option<Happened> {
    let mut total_s = 0.0;
    for job in &trace.jobs {
        total_s += job.queued?.seconds() + job.spec.work?.steps();
    }
    let jct_mean_s = total_s / trace.jobs.len().max(1) as f64;
    Some(Happened::Took { under: "whoever decided".to_owned(), jct_mean_s })
}

impl Runs {
    /// With what really happened before all of them.
    fn after(self, happened: impl Fn() -> Result<Report>) -> Result<Self> {
        let with = |runs: Compared| -> Result<Compared> {
            let report = happened()?;
            let summary = report.summary(&Costs::default());
            Ok(runs.after(report, summary))
        };
        let ends = self.ends.map(|[slower, faster]| Ok::<_, anyhow::Error>([with(slower)?, with(faster)?]));
        Ok(Self { expected: with(self.expected)?, ends: ends.transpose()? })
    }

    /// The figures of each run; where something is believed, with both ends of the mean time and of the end of all.
    fn as_json(&self) -> Result<Vec<serde_json::Value>> {
        let rows = self.expected.summaries().into_iter().enumerate().map(|(at, run)| {
            let mut row = serde_json::to_value(run).context("figures can be written as JSON")?;
            if let Some((low, high)) = self.between(at, |run| run.jct_mean_s) {
                row["jct_mean_s_between"] = json!([low, high]);
            }
            if let Some((low, high)) = self.between(at, |run| run.makespan_s) {
                row["makespan_s_between"] = json!([low, high]);
            }
            Ok(row)
        });
        rows.collect()
    }

    /// A figure of one run at both ends of what is believed, the smaller first; with what is expected among them.
    fn between(&self, at: usize, figure: impl Fn(&Summary) -> f64) -> Option<(f64, f64)> {
        let ends = self.ends.as_ref()?;
        let all =
            [&ends[0], &ends[1], &self.expected].map(|runs| runs.summaries().get(at).map(|run| figure(run)));
        let all = [all[0]?, all[1]?, all[2]?];
        Some((
            all.into_iter().fold(f64::INFINITY, f64::min),
            all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        ))
    }
}

fn read(path: &Path) -> Result<History> {
    let hint = "note: a trace that is no ledger needs its machines: --cluster v100=32, say";
    let mut ledger = ledger_file::open(path).inspect_err(|_| output::note(hint))?;
    let mut history = History::new(ledger.header());
    while let Some(record) = ledger.read().map_err(|error| ledger_file::refuse(path, &error))? {
        let taken = history.take(&record);
        taken.map_err(|error| failure::wrong(path.display(), format!("line {}: {error}", ledger.line())))?;
    }
    ledger_file::warn_if_torn(path, &ledger);
    Ok(history)
}

/// Its own policy first, then those that were named; all with its own rounds, placer and seed.
fn setups(args: &WhatIf, history: &History) -> Result<Vec<Setup>> {
    let header = history.header();
    let own = Setup {
        policy: history.policy().clone(),
        placer: header.placer.clone(),
        engine: header.engine.clone(),
        limits: header.limits,
        seed: header.seed,
        ..Setup::default()
    };
    let mut setups = if header.world == SHADOW_WORLD { Vec::new() } else { vec![own.clone()] };
    for policy in inputs::choices(&args.policy, &args.set)? {
        let is_known = |setup: &Setup| setup.policy == policy;
        if !setups.iter().any(is_known) {
            setups.push(Setup { policy, ..own.clone() });
        }
    }
    setups.iter().try_for_each(|setup| inputs::check(setup, None))?;
    Ok(setups)
}

fn warn(again: &Again) {
    let said = [
        (again.cut, "still ran when the ledger ended, and count as done with what they had done"),
        (again.unknown, "had not begun, and nobody knows how long they take: left out"),
        (
            again.mixed,
            "ran on no GPU model or on several: how much faster one is than another is as declared",
        ),
        (
            again.believed,
            "may run on GPU models where they did not: how fast they are there is as others of their kind were, or else as declared",
        ),
    ];
    for (count, what) in said.iter().filter(|(count, _)| *count > 0) {
        output::note(&format!("note: {count} jobs {what}"));
    }
}

/// What it comes to, in a few sentences that can be passed on.
fn told(happened: &Happened, runs: &Runs) -> String {
    let all = runs.expected.summaries();
    let Some((own, others)) = all.split_first() else { return String::new() };
    let mut lines = Vec::new();
    match happened {
        Happened::Took { under, jct_mean_s } => lines.push(checked(under, *jct_mean_s, own)),
        Happened::Watched => lines.push(watched(own)),
        Happened::Unknown => lines.push(format!(
            "How long jobs really took, waiting included, is not known here, so nobody can say how far off this is. Under {} jobs would have taken {} on average.",
            own.policy,
            time(own.jct_mean_s)
        )),
    }
    for (at, other) in others.iter().enumerate() {
        lines.push(against(own, other) + &doubt(runs.between(at + 1, |run| run.jct_mean_s)));
    }
    lines.join("\n")
}

/// What was seen, for somebody who has not heard of finish-time fairness.
fn watched(own: &Summary) -> String {
    if own.finished == 0 {
        return format!(
            "Of {} jobs that were seen under {} none has come to its end yet: watch for longer.",
            own.jobs, own.policy
        );
    }
    format!(
        "What happened, under {}: {} of {} jobs that were seen came to their end. They took {} on average from submission to end, and waited {} of that. The one treated worst took {} times as long as it would have if the GPUs had always been divided equally among all who had work; {:.0} % took longer than that. \
         Below, the same jobs, each with the time it really ran, under other policies. Whoever is interrupted there is taken to be able to save, and to lose a minute.",
        own.policy,
        own.finished,
        own.jobs,
        time(own.jct_mean_s),
        time(own.wait_mean_s),
        plain(own.ftf_fluid_worst),
        100.0 * own.unfair_fluid_fraction,
    )
}

/// What each tenant got under each policy; nothing where there is one tenant.
fn by_tenant(runs: &Compared) -> Option<String> {
    let runs = runs.tenants();
    let (_, first) = runs.first().filter(|(_, rows)| rows.len() > 1)?;
    let titles =
        runs.iter().flat_map(|(policy, _)| [format!("{policy}\nmean time"), "worst\nratio".to_owned()]);
    let words = [("tenant".to_owned(), Side::Left), ("jobs".to_owned(), Side::Right)];
    let mut table = Table::new(words.into_iter().chain(titles.map(|title| (title, Side::Right))));
    for row in first {
        let theirs = runs.iter().map(|(_, rows)| rows.iter().find(|other| other.name == row.name));
        let figures = theirs.flat_map(|row| {
            row.map_or_else(Default::default, |row| [time(row.jct_mean_s), plain(row.ftf_fluid_worst)])
        });
        let words = [row.name.clone(), count(row.jobs as f64)];
        table.row(words.into_iter().chain(figures));
    }
    Some(table.render())
}

/// Whether the same policy gives back what happened.
fn checked(under: &str, jct_mean_s: f64, own: &Summary) -> String {
    let off = 100.0 * (own.jct_mean_s / jct_mean_s - 1.0);
    let trust = if off.abs() <= OFF_MAX {
        "so far off is what follows"
    } else {
        "too far off to believe what follows"
    };
    format!(
        "What happened, under {}: jobs took {} on average. The same work run again under {} gives {} ({off:+.1} %): {trust}.",
        under,
        time(jct_mean_s),
        own.policy,
        time(own.jct_mean_s)
    )
}

fn against(own: &Summary, other: &Summary) -> String {
    let change = 100.0 * (other.jct_mean_s / own.jct_mean_s - 1.0);
    let sooner = if change <= 0.0 { "sooner" } else { "later" };
    format!(
        "Under {} jobs would have been done {} {sooner} on average ({:.1} %: {} instead of {}), all of them after {} instead of {}. The one treated worst would have taken {} times as long as with a fair share, instead of {}; {} interruptions instead of {}.",
        other.policy,
        time((other.jct_mean_s - own.jct_mean_s).abs()),
        change.abs(),
        time(other.jct_mean_s),
        time(own.jct_mean_s),
        time(other.makespan_s),
        time(own.makespan_s),
        plain(other.ftf_fluid_worst),
        plain(own.ftf_fluid_worst),
        other.preemptions,
        own.preemptions,
    )
}

/// What it may be instead, where jobs run on GPU models on which nobody has seen them.
fn doubt(between: Option<(f64, f64)>) -> String {
    between.map_or_else(String::new, |(low, high)| {
        format!(
            " With the speeds of jobs where they never ran at either end of what is believed, it is between {} and {}.",
            time(low),
            time(high)
        )
    })
}

fn time(seconds: f64) -> String {
    span(seconds, seconds)
}
