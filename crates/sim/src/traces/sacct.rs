//! Slurm's own history: `sacct --parsable2` (or `--parsable`), columns by their header in any order.
//!
//! A row with a dot in its name (`12.batch`) is a step of a job, not a job. `AllocTRES` says what a job held in all,
//! `gres/gpu=4` and again by model, `gres/gpu:a100=4`; `ReqGRES` of older versions counts per node.

use super::reading::{Clock, Draft, Gather, Row, Table, known, outcome, split};
use super::{Opening, Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "sacct",
    summary: "Slurm's history: sacct --allusers --parsable2 --format=JobID,Account,Submit,Start,End,State,ElapsedRaw,AllocTRES.",
    recognises,
    read,
};

const COMMAND: &str =
    "sacct --allusers --parsable2 --format=JobID,Account,Submit,Start,End,State,ElapsedRaw,AllocTRES";

/// Columns that say how many GPUs, the best first, and whether the number is per node.
const SIZES: &[(&str, bool)] =
    &[("AllocTRES", false), ("AllocGRES", false), ("ReqTRES", false), ("ReqGRES", true)];

fn recognises(opening: &Opening<'_>) -> bool {
    let header = split(opening.first_line(), '|');
    let has = |name: &str| header.iter().any(|column| column == name);
    (has("JobID") || has("JobIDRaw")) && has("Submit")
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut table = Table::open(source, '|', &["Submit"])?;
    let lacks = |what: &str| InputError {
        line: 1,
        allowed: format!("the header has no column for {what}; ask Slurm with `{COMMAND}`"),
        ..InputError::default()
    };
    if !SIZES.iter().any(|(column, _)| table.has(column)) {
        return Err(lacks("the GPUs, such as AllocTRES"));
    }
    if !(table.has("ElapsedRaw") || table.has("Elapsed") || (table.has("Start") && table.has("End"))) {
        return Err(lacks("the duration, such as ElapsedRaw"));
    }
    let mut gather = Gather::default();
    while let Some(row) = table.next()? {
        match row {
            Ok(row) => gather.add(row.line, job(&row))?,
            Err(line) => gather.trace.warnings.add(Warning::BadRow, line),
        }
    }
    Ok(gather.finish())
}

fn job<'r>(row: &'r Row<'_>) -> Result<Draft<'r>, Warning> {
    let name = row.text("JobID").or(row.text("JobIDRaw")).ok_or(Warning::BadRow)?;
    if name.contains('.') {
        return Err(Warning::JobStep);
    }
    let (gpus, models) = size(row)?;
    if gpus <= 0.0 {
        return Err(Warning::ZeroGpu);
    }
    let state = row.text("State").unwrap_or_default();
    let submit = row.clock("Submit")?.ok_or(Warning::MissingTime)?;
    let (start, end) = (row.clock("Start")?, row.clock("End")?);
    let open = ["PENDING", "RUNNING", "SUSPENDED", "REQUEUED"].iter().any(|word| state.starts_with(word));
    let mut draft = Draft::new(name, submit.0, gpus, seconds(row, start, end)?.ok_or(Warning::MissingTime)?);
    // A job that was never started ends when it is cancelled, after nothing.
    let missing = |column, time: Option<Clock>| time.is_none() && row.has(column);
    if open || missing("Start", start) || missing("End", end) {
        return Err(Warning::MissingTime);
    }
    draft.clock = row.text("Submit");
    draft.tenant = row.text("Account").or(row.text("User")).unwrap_or("everybody").into();
    draft.models = models;
    draft.outcome = outcome(state);
    draft.queued = start.map(|start| start.seconds_since(submit));
    Ok(draft)
}

/// How long it ran: suspended time is not in `Elapsed`, so that is better than end - start.
fn seconds(row: &Row<'_>, start: Option<Clock>, end: Option<Clock>) -> Result<Option<f64>, Warning> {
    if let Some(seconds) = row.number("ElapsedRaw")? {
        return Ok(Some(seconds));
    }
    if let Some(text) = row.text("Elapsed") {
        return elapsed(text).map(Some).ok_or(Warning::BadRow);
    }
    Ok(start.zip(end).map(|(start, end)| end.seconds_since(start)))
}

/// Seconds of `[days-[hours:]]minutes:seconds`.
fn elapsed(text: &str) -> Option<f64> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let mut seconds = 0.0;
    for part in rest.split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok().filter(|part| (0.0..=1e6).contains(part))?;
    }
    let days = f64::from(days.parse::<u32>().ok()?);
    (rest.split(':').count() <= 3).then_some(days * 86_400.0 + seconds)
}

/// GPUs and their models, from the first column that knows of any.
fn size<'r>(row: &'r Row<'_>) -> Result<(f64, Vec<&'r str>), Warning> {
    for (column, per_node) in SIZES {
        let Some(text) = row.text(column) else { continue };
        let (gpus, models) = gpus(text)?;
        if gpus > 0.0 {
            let nodes = if *per_node { row.number("NNodes")?.unwrap_or(1.0) } else { 1.0 };
            return Ok((gpus * nodes, models));
        }
    }
    Ok((0.0, Vec::new()))
}

/// Reads `billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2`, or the older `gpu:a100:2,gpu:2`.
fn gpus(text: &str) -> Result<(f64, Vec<&str>), Warning> {
    let (mut total, mut by_model, mut models) = (None, 0.0, Vec::new());
    for part in text.split(',').map(str::trim) {
        let part = part.strip_prefix("gres/").or(part.strip_prefix("gres:")).unwrap_or(part);
        // `gpu`, `gpu:2`, `gpu=2`, `gpu:a100=2`, `gpu:a100:2`, and sockets in brackets behind it.
        let part = part.split('(').next().unwrap_or_default();
        let rest = part.strip_prefix("gpu").filter(|rest| rest.is_empty() || rest.starts_with(['=', ':']));
        let Some(rest) = rest else { continue };
        let (model, count) = match rest.rsplit_once(['=', ':']) {
            Some((model, count)) => (model.trim_matches(':'), count),
            None => ("", "1"),
        };
        // `gpu:a100` without a number is one.
        let (model, count) =
            if count.starts_with(|c: char| c.is_ascii_digit()) { (model, count) } else { (count, "1") };
        let count: f64 = count.parse::<u32>().map_err(|_| Warning::BadRow)?.into();
        if known(model).is_none() {
            total = Some(total.unwrap_or(0.0) + count);
        } else if !model.contains('/') {
            by_model += count;
            models.push(model);
        }
    }
    Ok((total.unwrap_or(by_model), models))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Outcome, Span, Work};

    #[test]
    fn columns_in_any_order_steps_arrays_and_unknown_times() {
        let text = "State|JobID|User|Account|Submit|Start|End|Elapsed|AllocTRES|ReqTRES\n\
            COMPLETED|12|ann|lab|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-02T00:01:30|1-00:00:30|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1|\n\
            COMPLETED|12.batch|||2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-02T00:01:30|1-00:00:30|cpu=8,gres/gpu=2|\n\
            CANCELLED by 1000|12_3|bob||2024-01-01T00:00:10|2024-01-01T00:01:00|2024-01-01T00:01:59|00:59|cpu=1,gres/gpu:h100=4|\n\
            RUNNING|13|bob||2024-01-01T00:00:10|2024-01-01T00:01:00|Unknown|00:59|gres/gpu=4|\n\
            PENDING|14_[1-9]|bob||2024-01-01T00:00:10|Unknown|Unknown|00:00|| cpu=1,gres/gpu=4\n\
            COMPLETED|15|bob||2024-01-01T00:00:10|2024-01-01T00:01:00|2024-01-01T00:01:59|00:59|cpu=1|cpu=1\n";
        let trace = read(&mut text.as_bytes(), "history.txt", &Sides::default()).unwrap();
        let found: Vec<_> = trace
            .jobs
            .iter()
            .map(|job| (job.name.as_str(), job.spec.gpus.min.0, job.spec.work, job.outcome))
            .collect();
        let expected = [
            ("12", 2, Some(Work::from_steps(86_430.0)), Some(Outcome::Finished)),
            ("12_3", 4, Some(Work::from_steps(59.0)), Some(Outcome::Cancelled)),
        ];
        assert_eq!((found.as_slice(), trace.format), (&expected[..], "sacct"));
        assert_eq!(
            (trace.tenants.as_slice(), trace.models.as_slice()),
            (&["lab".to_owned(), "bob".into()][..], &["a100".to_owned(), "h100".into()][..])
        );
        assert_eq!(trace.jobs[0].queued, Some(Span::from_secs(60)));
        let counted = [Warning::JobStep, Warning::MissingTime, Warning::ZeroGpu];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1, 2, 1]);
    }

    #[test]
    fn gpus_are_written_in_many_ways() {
        let count = |text| gpus(text).map(|(count, models)| (count as u32, models));
        assert_eq!(count("gres/gpu:a100=2,gres/gpu:v100=1"), Ok((3, vec!["a100", "v100"])));
        assert_eq!(count("gpu:a100:4(S:0-1)"), Ok((4, vec!["a100"])));
        assert_eq!(
            (count("gpu:4"), count("gpu"), count("cpu=4,gres/gpumem=8G")),
            (Ok((4, vec![])), Ok((1, vec![])), Ok((0, vec![])))
        );
        assert_eq!(count("gres/gpu=99999999999"), Err(Warning::BadRow));
    }

    #[test]
    fn a_table_without_gpus_says_how_to_ask_for_them() {
        let error = read(&mut &b"JobID|Submit|ElapsedRaw|\n"[..], "x", &Sides::default()).unwrap_err();
        assert!(error.to_string().contains("--format=JobID,Account"), "{error}");
    }
}
