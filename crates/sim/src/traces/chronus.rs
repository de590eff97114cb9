//! Chronus (SoCC 2021): Philly in the columns of Tiresias, with deadlines. Times are in minutes: submissions end below
//! 20,160 (14 days) and durations below 4,320 (3 days), and the simulator counts 60 to the hour.
//!
//! `expect_time_list` counts from the submission, `159-189-229-289` with falling values; the first is the deadline. Jobs
//! of type `best` have none. The "user" is a virtual cluster.

use super::reading::{Draft, Row, columns, read_table};
use super::tiresias::{self, COLUMNS, is_family};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "chronus",
    summary: "Chronus: Philly with deadlines, in minutes; virtual clusters are tenants.",
    recognises: |opening| is_family(opening) && columns(opening, &["user", "expect_time_list", "job_type"]),
    read,
};

const MINUTE_S: f64 = 60.0;

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| job(row))
}

fn job<'r>(row: &'r Row<'_>) -> Result<Draft<'r>, Warning> {
    let mut draft = tiresias::job(row, MINUTE_S)?;
    draft.tenant = row.named("user")?.into();
    if row.text("job_type") != Some("best") {
        let first = row.text("expect_time_list").and_then(|list| list.split('-').next());
        let minutes = first.and_then(|first| first.parse::<u32>().ok());
        draft.deadline = minutes.map(|minutes| f64::from(minutes) * MINUTE_S);
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Time, Work};

    #[test]
    fn minutes_deadlines_and_jobs_without_a_gpu() {
        let text = "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type\n\
            0,vc_ed69ec,1,5601,5530,mobilenet_v2,96,5,159-189-229-289,10-8-5-2,0,soft\n1,vc_6214e9,0,7505,760,alexnet,106,6,235,10,0,strict\n\
            10,vc_ed69ec,1,918,6832,vgg16,146,10,918,10,1,best\n";
        let trace = read(&mut text.as_bytes(), "trace_job_Philly_MIX2.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs.len(), trace.tenants.len()), ("chronus", 2, 1));
        let submit = (5601 - 918) * 60_000;
        assert_eq!((trace.jobs[0].submit, trace.jobs[1].submit), (Time(submit), Time(0)));
        assert_eq!(trace.jobs[0].spec.deadline, Some(Time(submit + 159 * 60_000)));
        assert_eq!(
            (trace.jobs[0].spec.work, trace.jobs[1].spec.deadline),
            (Some(Work::from_steps(5760.0)), None)
        );
        assert_eq!((trace.warnings.count(Warning::ZeroGpu), trace.warnings.count(Warning::Unsorted)), (1, 1));
    }
}
