//! `evenhand whatif`: your own history under other policies.

use crate::args::WhatIf;
use crate::commands::report::fold;
use crate::comparison::Comparison;
use crate::numbers::{plain, span};
use crate::works::Work;
use crate::{failure, inputs, ledger_file, output, promises};
use anyhow::Result;
use evenhand_report::{Costs, Summary};
use evenhand_sim::{Again, History, Setup};
use std::path::Path;
use std::sync::Arc;

/// Runs what a ledger recorded again, under its own policy and others.
pub fn run(args: &WhatIf) -> Result<()> {
    let path = &match &args.ledger {
        Some(ledger) => ledger.clone(),
        None => ledger_file::of_service(&args.server)?,
    };
    let history = read(path)?;
    let setups = setups(args, &history)?;
    let again = history.again(args.since);
    if again.workload.jobs.is_empty() {
        return Err(failure::wrong(path.display(), "no job of it is known well enough to be run again"));
    }
    warn(&again);
    output::make_folder(&args.out)?;
    let (cluster, work) = (again.cluster, Work::Same(Arc::new(again.workload)));
    let compared = Comparison { cluster, work, setups }.run(inputs::threads(args.threads), None)?;
    let page = args.out.join("report.html");
    compared.write_page(&page, &format!("What if: {}", path.display()))?;
    if args.json {
        compared.say_json()?;
        return compared.check();
    }
    compared.say_table()?;
    let happened = promises::told(fold(path)?.summary(&Costs::default()));
    let happened = args.since.is_none().then_some(&happened);
    output::say(&format!("\n{}", told(happened, &compared.summaries())))?;
    output::say(&format!("\nreport   {}", page.display()))?;
    compared.check()
}

fn read(path: &Path) -> Result<History> {
    let mut ledger = ledger_file::open(path)?;
    let mut history = History::new(ledger.header());
    while let Some(record) = ledger.read().map_err(|error| ledger_file::refuse(path, &error))? {
        history.take(&record);
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
    let mut setups = vec![own];
    for policy in inputs::choices(&args.policy, &args.set)? {
        let is_known = |setup: &Setup| setup.policy == policy;
        if !setups.iter().any(is_known) {
            setups.push(Setup { policy, ..setups[0].clone() });
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
            "ran on no GPU model or on several: how fast they are where they did not run is as declared",
        ),
    ];
    for (count, what) in said.iter().filter(|(count, _)| *count > 0) {
        output::note(&format!("note: {count} jobs {what}"));
    }
}

/// What it comes to, in a few sentences that can be passed on.
fn told(happened: Option<&Summary>, runs: &[&Summary]) -> String {
    let Some((own, others)) = runs.split_first() else { return String::new() };
    let mut lines = Vec::new();
    if let Some(happened) = happened {
        let off = 100.0 * (own.jct_mean_s / happened.jct_mean_s - 1.0);
        lines.push(format!(
            "What happened, under {}: jobs took {} on average. The same work run again under {} gives {} ({off:+.1} %): so far off is what follows.",
            happened.policy, time(happened.jct_mean_s), own.policy, time(own.jct_mean_s)
        ));
    }
    for other in others {
        let change = 100.0 * (other.jct_mean_s / own.jct_mean_s - 1.0);
        let sooner = if change <= 0.0 { "sooner" } else { "later" };
        lines.push(format!(
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
        ));
    }
    lines.join("\n")
}

fn time(seconds: f64) -> String {
    span(seconds, seconds)
}
