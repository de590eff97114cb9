//! The Standard Workload Format of the Parallel Workloads Archive: 18 numbers in a line, remarks after `;`, -1 for what
//! is not known. It counts processors; each stands for a GPU, and that is counted too.
//!
//! A line of status 2 to 4 is a part of a job that has a line of its own.

use super::reading::{Draft, Gather, Lines, civil, milliseconds, number};
use super::{Opening, Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use evenhand_core::Outcome;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "swf",
    summary: "Standard Workload Format of the Parallel Workloads Archive; a processor stands for a GPU.",
    recognises,
    read,
};

const FIELDS: usize = 18;

fn recognises(opening: &Opening<'_>) -> bool {
    let first = opening.start.lines().find(|line| !line.trim().is_empty() && !line.starts_with(';'));
    // A long header fills the whole opening; the last line of one may be cut.
    first.map_or(opening.start.starts_with(';'), |line| {
        let numbers: Vec<bool> = line.split_whitespace().map(|field| field.parse::<f64>().is_ok()).collect();
        numbers.len() == FIELDS && numbers.iter().all(|is_number| *is_number)
    })
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut lines = Lines::new(source);
    let mut gather = Gather::default();
    let mut start: Option<i64> = None;
    while lines.advance()? {
        let line = lines.number();
        let text = lines.text().unwrap_or("not text");
        if let Some(remark) = text.strip_prefix(';') {
            let unix =
                remark.trim().strip_prefix("UnixStartTime:").and_then(|time| time.trim().parse::<u32>().ok());
            start = start.or(unix.map(i64::from));
        } else if !text.trim().is_empty() {
            gather.add(line, job(text))?;
        }
    }
    let anchor =
        start.zip(gather.first()).map(|(start, first)| format!("{} UTC", civil(start * 1000 + first)));
    let mut trace = gather.finish();
    trace.anchor = anchor;
    for job in &trace.jobs {
        trace.warnings.add(Warning::Processors, job.line);
    }
    Ok(trace)
}

fn job(text: &str) -> Result<Draft<'_>, Warning> {
    let fields: Vec<&str> = text.split_whitespace().take(FIELDS + 1).collect();
    if fields.len() != FIELDS {
        return Err(Warning::BadRow);
    }
    // The format numbers its fields from 1, and so does this function.
    let value = |at: usize| Ok(number(fields[at - 1])?.filter(|value| *value >= 0.0));
    let status = value(11)?;
    if status.is_some_and(|status| (2.0..=4.0).contains(&status)) {
        return Err(Warning::JobStep);
    }
    let submit = value(2)?.ok_or(Warning::MissingTime)?;
    let seconds = value(4)?.ok_or(Warning::MissingTime)?;
    let granted = value(5)?.filter(|count| *count > 0.0);
    let processors = granted.or(value(8)?).unwrap_or(0.0);
    let mut draft = Draft::new(fields[0], milliseconds(submit), processors, seconds);
    draft.queued = value(3)?;
    draft.outcome = match status {
        Some(status) if status < 0.5 => Some(Outcome::Failed),
        Some(status) if status < 1.5 => Some(Outcome::Finished),
        Some(status) if status > 4.5 && status < 5.5 => Some(Outcome::Cancelled),
        _ => None,
    };
    if value(12)?.is_some() {
        draft.tenant = format!("user {}", fields[11]).into();
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::Time;

    #[test]
    fn unknown_numbers_parts_and_the_start_in_the_header() {
        let text = "; Version: 2.2\n; UnixStartTime: 1000000000\n\n  1 10 5 100 4 -1 -1 -1 -1 -1 1 3 1 -1 1 -1 -1 -1\n\
            2 20 -1 60 -1 -1 -1 8 -1 -1 5 -1 1 -1 1 -1 -1 -1\n3 30 1 -1 4 -1 -1 4 -1 -1 -1 3 1 -1 1 -1 -1 -1\n\
            1 15 5 50 4 -1 -1 -1 -1 -1 2 3 1 -1 1 -1 -1 -1\n4 5 1 1 0 -1 -1 -1 -1 -1 1 3 1 -1 1 -1 -1 -1\n9 9\n";
        let trace = read(&mut text.as_bytes(), "x.swf", &Sides::default()).unwrap();
        let found: Vec<_> =
            trace.jobs.iter().map(|job| (job.submit, job.spec.gpus.min.0, job.outcome)).collect();
        let ended = [Some(Outcome::Finished), Some(Outcome::Cancelled)];
        assert_eq!(found, [(Time(0), 4, ended[0]), (Time(10_000), 8, ended[1])]);
        assert_eq!(
            (trace.format, trace.tenants.as_slice()),
            ("swf", &["user 3".to_owned(), "everybody".to_owned()][..])
        );
        assert_eq!(trace.anchor.as_deref(), Some("2001-09-09 01:46:50 UTC"));
        let counted = [Warning::MissingTime, Warning::JobStep, Warning::ZeroGpu, Warning::BadRow];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1; 4]);
    }
}
