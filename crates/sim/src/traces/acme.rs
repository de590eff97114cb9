//! Acme (Shanghai AI Laboratory, 2023): the logs of the clusters Seren and Kalos.
//!
//! Seren stamps its times with +08:00, Kalos with +00:00. `duration` is end - start in Seren and end - submission in
//! Kalos, whatever the documentation says: both are computed from the times.

use super::reading::{columns, read_table};
use super::{Sides, Trace, TraceEntry, helios};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "acme",
    summary: "Acme of Shanghai AI Laboratory: trace_seren.csv and trace_kalos.csv; users are tenants.",
    recognises: |opening| columns(opening, COLUMNS) && !columns(opening, &["vc"]),
    read,
};

const COLUMNS: &[&str] =
    &["job_id", "user", "gpu_num", "type", "state", "submit_time", "start_time", "end_time"];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| helios::job(row, "user"))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Outcome, Span, Work};

    #[test]
    fn kalos_counts_its_queue_into_the_duration_and_we_do_not() {
        let text = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n\
            dlc1,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n";
        let trace = read(&mut text.as_bytes(), "trace_kalos.csv", &Sides::default()).unwrap();
        let job = &trace.jobs[0];
        assert_eq!((job.spec.work, job.queued), (Some(Work::from_steps(8.0)), Some(Span::from_secs(10))));
        assert_eq!(
            (job.outcome, trace.anchor.as_deref()),
            (Some(Outcome::Failed), Some("2023-05-17 11:00:58+00:00"))
        );
    }
}
