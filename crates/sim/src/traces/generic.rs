//! The smallest trace there is: `job_id,arrival_s,service_sec,gpu_count`, as public conversions of the Helios (Venus) and
//! Alibaba PAI traces have it. The words vary, so each column is known by several names.
//!
//! These conversions cut durations at 48 hours, and Venus begins with an almost empty fortnight; both are counted, not
//! changed.

use super::reading::{Draft, Row, columns, milliseconds, read_table};
use super::{Opening, Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use evenhand_core::{Time, Work};
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "generic",
    summary: "job_id, arrival_s, service_sec, gpu_count: Venus of Helios and Alibaba PAI as others have converted them.",
    recognises,
    read,
};

const ARRIVAL: &[&str] = &["arrival_s", "arrival"];
const SERVICE: &[&str] = &["service_sec", "service_s", "service"];
const GPUS: &[&str] = &["gpu_count", "gpus"];

/// Where the conversions cut durations off.
const CLAMP_S: f64 = 172_800.0;
const FORTNIGHT: Time = Time(14 * 86_400_000);

fn recognises(opening: &Opening<'_>) -> bool {
    let any = |names: &[&str]| names.iter().any(|name| columns(opening, &[name]));
    columns(opening, &["job_id"]) && any(ARRIVAL) && any(SERVICE) && any(GPUS)
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut trace = read_table(source, ',', &["job_id"], |row, _| job(row))?;
    for job in &trace.jobs {
        if job.spec.work == Some(Work::from_steps(CLAMP_S)) {
            trace.warnings.add(Warning::Clamped, job.line);
        }
    }
    note_sparse(&mut trace);
    Ok(trace)
}

fn job<'r>(row: &'r Row<'_>) -> Result<Draft<'r>, Warning> {
    let value = |names: &[&str]| names.iter().find_map(|name| row.number(name).transpose()).transpose();
    let arrival = value(ARRIVAL)?.ok_or(Warning::MissingTime)?;
    let service = value(SERVICE)?.ok_or(Warning::MissingTime)?;
    let gpus = value(GPUS)?.ok_or(Warning::BadRow)?;
    Ok(Draft::new(row.named("job_id")?, milliseconds(arrival), gpus, service))
}

/// Counts the jobs of the first fortnight if it is much thinner than the rest.
fn note_sparse(trace: &mut Trace) {
    let last = trace.jobs.iter().map(|job| job.submit).max().unwrap_or_default();
    let early: Vec<u64> =
        trace.jobs.iter().filter(|job| job.submit < FORTNIGHT).map(|job| job.line).collect();
    let share = early.len() as f64 / trace.jobs.len().max(1) as f64;
    // A tenth of what an even flow would bring. Venus brings a 60th.
    if last.seconds() > 2.0 * FORTNIGHT.seconds() && share < 0.1 * FORTNIGHT.seconds() / last.seconds() {
        for line in early {
            trace.warnings.add(Warning::Sparse, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use Warning::{
        BadRow, Clamped, Duplicate, Fraction, MissingTime, NoDuration, OddSize, Unsorted, ZeroGpu,
    };

    #[test]
    fn the_traps_of_the_conversions() {
        let text = "job_id,arrival_s,service_sec,gpu_count\r\n363167#0,0.0,172800.0,32\r\n7#1,5.5,1,400\r\n7#1,2,1e9,0.5\r\n\
            z,0,5,0\r\nm,,5,1\r\nn,0,,1\r\nb,x,5,1\r\nd,0,0,1\r\n\r\n";
        let trace = read(&mut text.as_bytes(), "venus.csv", &Sides::default()).unwrap();
        let found: Vec<_> =
            trace.jobs.iter().map(|job| (job.name.as_str(), job.submit.0, job.spec.gpus.min.0)).collect();
        assert_eq!(found, [("363167#0", 0, 32), ("7#1", 5500, 400), ("7#1#2", 2000, 1)]);
        let ones = [Clamped, Duplicate, Fraction, OddSize, Unsorted, ZeroGpu, BadRow, NoDuration];
        assert_eq!(ones.map(|warning| trace.warnings.count(warning)), [1; 8]);
        assert_eq!((trace.warnings.count(MissingTime), trace.format), (2, "generic"));
    }

    #[test]
    fn a_thin_start_is_counted_and_kept() {
        let rows: Vec<_> = (0..1000)
            .map(|at| {
                format!(
                    "{at},{},60,1
",
                    2_000_000 + at * 5000
                )
            })
            .collect();
        let text = format!(
            "job_id,arrival,service,gpus
first,0,60,1
{}",
            rows.concat()
        );
        let trace = read(&mut text.as_bytes(), "x.csv", &Sides::default()).unwrap();
        assert_eq!((trace.jobs.len(), trace.warnings.count(Warning::Sparse)), (1001, 1));
    }
}
