//! Muri (SIGCOMM 2022): Philly's virtual clusters in the columns of Tiresias, in milliseconds, with the times of the
//! stages of an iteration. The stages are not named, so they are not used.

use super::reading::{columns, read_table};
use super::tiresias::{COLUMNS, is_family, job};
use super::{Sides, Trace, TraceEntry};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "muri",
    summary: "Muri: trace1.csv to trace4.csv and cluster_trace.csv, in milliseconds.",
    recognises: |opening| is_family(opening) && columns(opening, &["iteration_time", "resource_time_0"]),
    read,
};

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| job(row, 1e-3))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Time, Work};

    #[test]
    fn milliseconds_are_not_seconds() {
        let text = "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\r\n\
            0,8,0,10956,gpt2,4,5095000,91000,437,0.6,419,49,0\r\n1,8,1534000,1463,vgg16,16,281000,28000,214,82,75,66,1\r\n";
        let trace = read(&mut text.as_bytes(), "cluster_trace.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs[1].submit), ("muri", Time(1_534_000)));
        assert_eq!(trace.jobs[0].spec.work, Some(Work::from_steps(5095.0)));
    }
}
