//! `evenhand explain`: why a job ran when it did, and why it waited.

mod standing;

use crate::args;
use crate::client::{Client, escaped};
use crate::failure::wrong;
use crate::local_clock::LocalClock;
use crate::numbers::span;
use crate::{ledger_file, output};
use anyhow::Result;
use evenhand_core::{Event, JobId};
use evenhand_live::api::Now;
use evenhand_report::Explanation;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Tells the story of one job.
pub fn run(args: &args::Explain) -> Result<()> {
    let Some(ledger) = &args.ledger else { return ask(args) };
    let job = find(ledger, &args.job)?;
    let mut explanation = Explanation::new(job);
    read(ledger, |record| explanation.take(record))?;
    if args.json {
        return output::say_json(&explanation);
    }
    let lines = explanation.lines.iter().map(|line| (line.at_s, line.text.as_str(), line.times));
    tell(args, &lines.collect::<Vec<_>>())
}

/// An explanation as the service gives it.
#[derive(Serialize, Deserialize)]
struct Told {
    job: JobId,
    lines: Vec<ToldLine>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_array: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_ended: bool,
    epoch_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    now: Option<Now>,
}

#[derive(Serialize, Deserialize)]
struct ToldLine {
    at_s: f64,
    text: String,
    times: u64,
}

/// Asks the service.
fn ask(args: &args::Explain) -> Result<()> {
    let told: Told = Client::new(&args.server)?.get(&format!("/v1/jobs/{}/explain", escaped(&args.job)))?;
    if args.json {
        return output::say_json(&told);
    }
    let clock = LocalClock::new(told.epoch_ms);
    match &told.now {
        Some(now) => output::say(&standing::told(told.job, now, &clock))?,
        None if told.is_array => output::say(&format!("array {}\n", told.job.0))?,
        None if told.has_ended => output::say(&format!("job {} has ended", told.job.0))?,
        None => output::say(&format!("job {}: how it stands cannot be told now", told.job.0))?,
    }
    if !told.is_array {
        output::say("\nso far")?;
    }
    for line in &told.lines {
        output::say(&format!("  {}  {}{}", clock.at(line.at_s), line.text, times(line.times)))?;
    }
    Ok(())
}

fn tell(args: &args::Explain, lines: &[(f64, &str, u64)]) -> Result<()> {
    let last = lines.last().map_or(0.0, |(at_s, ..)| *at_s);
    output::say(&format!("job {}", args.job))?;
    for line in lines {
        output::say(&text(*line, last))?;
    }
    Ok(())
}

/// The number of the job that is called so.
fn find(path: &Path, name: &str) -> Result<JobId> {
    let (mut found, mut jobs) = (None, 0_u64);
    read(path, |record| {
        if let Event::Submitted(spec) = &record.event {
            jobs += 1;
            // A name is nearer than a number.
            if spec.label.as_deref() == Some(name) || (found.is_none() && spec.id.0.to_string() == name) {
                found = Some(spec.id);
            }
        }
    })?;
    found.ok_or_else(|| wrong(path.display(), format!("there is no job `{name}` among its {jobs} jobs")))
}

fn read(path: &Path, mut take: impl FnMut(&evenhand_core::Record)) -> Result<()> {
    let mut ledger = ledger_file::open(path)?;
    while let Some(record) = ledger.read().map_err(|error| ledger_file::refuse(path, &error))? {
        take(&record);
    }
    ledger_file::warn_if_torn(path, &ledger);
    Ok(())
}

fn text((at_s, text, count): (f64, &str, u64), last: f64) -> String {
    format!("  {:>8}  {text}{}", span(at_s, last), times(count))
}

fn times(count: u64) -> String {
    if count > 1 { format!(" ({count} times, this is the last)") } else { String::new() }
}
