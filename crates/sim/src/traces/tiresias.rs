//! Tiresias (NSDI 2019): `job_id,num_gpu,submit_time,iterations,model_name,duration,interval`, in seconds.
//! Muri and Chronus have the same columns with more beside them, in other units: see their files.

use super::reading::{Draft, Row, columns, milliseconds, read_table};
use super::{Opening, Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "tiresias",
    summary: "Tiresias: 60_job.csv, in seconds.",
    recognises: |opening| {
        is_family(opening)
            && !columns(opening, &["expect_time_list"])
            && !columns(opening, &["iteration_time"])
    },
    read,
};

pub(super) const COLUMNS: &[&str] =
    &["job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration"];

/// Whether the columns that the three have in common are there.
pub(super) fn is_family(opening: &Opening<'_>) -> bool {
    columns(opening, COLUMNS)
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| job(row, 1.0))
}

/// A row whose times are in units of so many seconds.
pub(super) fn job<'r>(row: &'r Row<'_>, unit: f64) -> Result<Draft<'r>, Warning> {
    let submit = row.number("submit_time")?.ok_or(Warning::MissingTime)?;
    let duration = row.number("duration")?.ok_or(Warning::MissingTime)?;
    Ok(Draft::new(row.named("job_id")?, milliseconds(submit * unit), row.needed("num_gpu")?, duration * unit))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Time, Work};

    #[test]
    fn seconds_are_seconds() {
        let text = "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\r\n0,1,0,606,vgg19,164,30\r\n1,8,30,133,vgg11,147,23\r\n";
        let trace = read(&mut text.as_bytes(), "60_job.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs[1].submit), ("tiresias", Time(30_000)));
        assert_eq!(trace.jobs[0].spec.work, Some(Work::from_steps(164.0)));
    }
}
