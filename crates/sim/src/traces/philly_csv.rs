//! Philly (Microsoft, 2017) as Pollux and Sia use it: `timestamp,duration,num_gpus,gpu_time,cluster`.
//!
//! Unsorted, in local time without a zone, without names, users or states; `cluster` is a virtual cluster. It is a biased
//! subset of the original log. Rows that are the same in everything may be one job or two: they are kept and counted.

use super::reading::{Clock, Draft, Row, columns, read_table};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::collections::BTreeSet;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "philly-csv",
    summary: "Philly as a CSV file of Pollux and Sia; virtual clusters are tenants.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] = &["timestamp", "duration", "num_gpus", "cluster"];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut seen = BTreeSet::new();
    let mut number = 0_u64;
    read_table(source, ',', COLUMNS, |row, warnings| {
        let draft = job(row, number)?;
        number += 1;
        let same = (draft.submit, draft.seconds.to_bits(), draft.gpus.to_bits(), draft.tenant.to_string());
        if !seen.insert(same) {
            warnings.add(Warning::SameRow, row.line);
        }
        Ok(draft)
    })
}

fn job<'r>(row: &'r Row<'_>, number: u64) -> Result<Draft<'r>, Warning> {
    let clock = row.text("timestamp").ok_or(Warning::MissingTime)?;
    let submit = Clock::parse(clock).ok_or(Warning::BadRow)?;
    let seconds = row.number("duration")?.ok_or(Warning::MissingTime)?;
    let mut draft = Draft::new(number.to_string(), submit.0, row.needed("num_gpus")?, seconds);
    draft.clock = Some(clock);
    draft.tenant = row.named("cluster")?.into();
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    #[test]
    fn unsorted_rows_twins_and_the_empty_end() {
        let text = "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n\
            2017-10-09 06:13:03,2951.0,1,2951.0,6214e9\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n\
            None,5,1,5,x\n2017-10-09 07:01:55,nan,1,5,x\n2017-10-09 07:01:55,5,0,0,x\n\n";
        let trace = read(&mut text.as_bytes(), "philly.csv", &Sides::default()).unwrap();
        assert_eq!((trace.jobs.len(), trace.tenants.len(), trace.format), (3, 2, "philly-csv"));
        assert_eq!(trace.anchor.as_deref(), Some("2017-10-09 06:13:03"));
        assert_eq!((trace.jobs[0].submit.0, trace.jobs[1].submit.0), (2_932_000, 0));
        let counted = [Warning::SameRow, Warning::Unsorted, Warning::MissingTime, Warning::ZeroGpu];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1, 1, 2, 1]);
    }
}
