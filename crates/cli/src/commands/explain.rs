//! `evenhand explain`: why a job ran when it did, and why it waited.

use crate::args;
use crate::failure::wrong;
use crate::numbers::span;
use crate::{ledger_file, output};
use anyhow::Result;
use evenhand_core::{Event, JobId};
use evenhand_report::{Explanation, Line};
use std::path::Path;

/// Tells the story of one job.
pub fn run(args: &args::Explain) -> Result<()> {
    let job = find(&args.ledger, &args.job)?;
    let mut explanation = Explanation::new(job);
    read(&args.ledger, |record| explanation.take(record))?;
    if args.json {
        return output::say_json(&explanation);
    }
    let last = explanation.lines.last().map_or(0.0, |line| line.at_s);
    output::say(&format!("job {}", args.job))?;
    for line in &explanation.lines {
        output::say(&text(line, last))?;
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

fn text(line: &Line, last: f64) -> String {
    let times =
        if line.times > 1 { format!(" ({} times, this is the last)", line.times) } else { String::new() };
    format!("  {:>8}  {}{times}", span(line.at_s, last), line.text)
}
