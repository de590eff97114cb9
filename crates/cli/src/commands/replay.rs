//! `evenhand replay`: feeds a ledger back and checks that every decision is the same.

use crate::args::Replay;
use crate::failure::{survive, wrong};
use crate::{ledger_file, numbers, output};
use anyhow::{Result, bail};
use evenhand_core::{Command, Record, Time};
use evenhand_engine::{Difference, ReplayError, replay};
use evenhand_live::shadow::SHADOW_WORLD;
use std::path::Path;

/// Replays a ledger.
pub fn run(args: &Replay) -> Result<()> {
    let path = &args.ledger;
    let mut ledger = ledger_file::open(path)?;
    if ledger.header().world == SHADOW_WORLD {
        return Err(wrong(
            path.display(),
            "Evenhand only watched there: no decision of its own can be replayed",
        ));
    }
    let engine = evenhand_sim::engine_for(ledger.header());
    let mut engine = engine.map_err(|error| wrong(path.display(), format!("line 1: {error}")))?;
    let replayed = match survive(|| replay(&mut engine, &mut ledger)) {
        Ok(Ok(replayed)) => replayed,
        Ok(Err(ReplayError::Ledger(error))) => return Err(ledger_file::refuse(path, &error)),
        Ok(Err(ReplayError::Differs(difference))) => bail!("{}", explained(path, &difference)),
        Err(law) => {
            bail!("{}: line {}: the engine could never have met this: {law}", path.display(), ledger.line())
        }
    };
    ledger_file::warn_if_torn(path, &ledger);
    let (records, decisions) = (replayed.records as f64, replayed.decisions as f64);
    output::say(&format!(
        "{} records, {} decisions: all the same",
        numbers::count(records),
        numbers::count(decisions)
    ))
}

/// Lines of each side that are shown.
const SHOWN_MAX: usize = 5;
/// Letters of a line that are shown.
const WIDTH_MAX: usize = 160;

/// The first difference: which line, what the ledger says, what the engine does now.
fn explained(path: &Path, difference: &Difference) -> String {
    let Difference { line, recorded, repeated } = difference;
    let (was, is) = (parts(recorded), parts(repeated));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|part| !those.contains(part)).cloned().collect()
    };
    let (mut before, mut now) = (only(&was, &is), only(&is, &was));
    if before.is_empty() && now.is_empty() {
        // The same things in another order, or another number of times.
        (before, now) = (was, is);
    }
    let at = evenhand_core::Span(recorded.now.0);
    let event = cut(&text(&recorded.event));
    format!(
        "{}: line {line}: the engine now does something else\n  at {at}, after {event}\n{}\n{}",
        path.display(),
        listed("the ledger says", &before),
        listed("the engine now ", &now)
    )
}

/// All that came of an event, a line each.
fn parts(record: &Record) -> Vec<String> {
    let mut parts: Vec<String> = record.commands.iter().map(told).collect();
    parts.extend(record.decision.iter().map(|decision| format!("decision {}", text(decision))));
    parts.extend(record.notes.iter().map(|note| format!("note {}", text(note))));
    parts
}

/// A command in a few words.
fn told(command: &Command) -> String {
    match command {
        Command::Start(lease) => format!(
            "start {} as {} on {} until {} ({})",
            lease.job,
            lease.id,
            text(&lease.gpus),
            exact(lease.expires),
            text(&lease.reason)
        ),
        Command::Renew { lease, expires } => {
            format!("renew {lease} until {}", exact(*expires))
        }
        Command::Resize { lease, gpus } => format!("resize {lease} to {}", text(gpus)),
        Command::Stop { lease, reason, .. } => format!("stop {lease} ({})", text(reason)),
        Command::End { job, outcome, attained } => {
            format!("end {job} ({}) with {} GPU-ms", text(outcome), attained.0)
        }
        Command::AskForBids(invitation) => {
            let (apps, until) = (invitation.to.len(), invitation.offer.reply_by);
            format!("ask {apps} apps for bids until {}", exact(until))
        }
        Command::WakeAt(time, round) => format!("wake at {} ms for round {}", time.0, round.0),
    }
}

/// To the millisecond: a difference must be seen.
fn exact(time: Time) -> String {
    format!("{} ms", time.0)
}

fn listed(title: &str, parts: &[String]) -> String {
    if parts.is_empty() {
        return format!("  {title}: nothing of the kind");
    }
    let mut lines: Vec<String> =
        parts.iter().take(SHOWN_MAX).map(|part| format!("  {title}: {}", cut(part))).collect();
    if parts.len() > SHOWN_MAX {
        lines.push(format!("  {title}: and {} more", parts.len() - SHOWN_MAX));
    }
    lines.join("\n")
}

fn text<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('"', "")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= WIDTH_MAX {
        return text.to_owned();
    }
    format!("{}...", text.chars().take(WIDTH_MAX).collect::<String>())
}
