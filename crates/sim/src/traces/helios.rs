//! Helios (SenseTime, 2020): `cluster_log.csv`, a log of Slurm with one row per job, in local time without a zone.
//!
//! Half of its jobs ask for no GPU. Durations and waits are computed from the times, not taken from the columns.

use super::reading::{Draft, Row, columns, outcome, read_table};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "helios",
    summary: "Helios of SenseTime: cluster_log.csv; virtual clusters are tenants.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] = &["job_id", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time"];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| job(row, "vc"))
}

/// A row of a log with submission, start and end; `tenant` is the column that names the tenant.
pub(super) fn job<'r>(row: &'r Row<'_>, tenant: &str) -> Result<Draft<'r>, Warning> {
    let gpus = row.needed("gpu_num")?;
    if gpus <= 0.0 {
        return Err(Warning::ZeroGpu);
    }
    let time = |column| row.clock(column)?.ok_or(Warning::MissingTime);
    let (submit, start, end) = (time("submit_time")?, time("start_time")?, time("end_time")?);
    let mut draft = Draft::new(row.named("job_id")?, submit.0, gpus, end.seconds_since(start));
    draft.clock = row.text("submit_time");
    draft.tenant = row.text(tenant).unwrap_or("unknown").into();
    draft.outcome = outcome(row.text("state").unwrap_or_default());
    draft.queued = Some(start.seconds_since(submit));
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{Outcome, Span, Work};

    #[test]
    fn times_states_and_missing_ends() {
        let head =
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue";
        let row = |id, gpus, state, end| {
            format!("\n{id},u,vcA,{gpus},1,1,{state},2020-06-09 18:41:01,2020-06-09 18:41:11,{end},99,0")
        };
        let text = [
            head.to_owned(),
            row(1, 1, "COMPLETED", "2020-06-10 04:55:09"),
            row(2, 4, "NODE_FAIL", "2020-11-01 18:41:11"),
            row(3, 1, "RUNNING", ""),
            row(4, 0, "COMPLETED", "2020-06-10 04:55:09"),
            row(5, 8, "CANCELLED", "2020-06-09 18:41:11"),
            row(6, 8, "TIMEOUT", "2020-06-09 18:41:12"),
        ];
        let trace = read(&mut text.concat().as_bytes(), "cluster_log.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.tenants.as_slice()), ("helios", &["vcA".to_owned()][..]));
        let found: Vec<_> = trace.jobs.iter().map(|job| (job.spec.work, job.outcome)).collect();
        let work = |seconds| Some(Work::from_steps(seconds));
        let [done, failed] = [Some(Outcome::Finished), Some(Outcome::Failed)];
        // 145 days, and a single second.
        assert_eq!(found, [(work(36_838.0), done), (work(12_528_000.0), failed), (work(1.0), failed)]);
        assert_eq!(trace.jobs[0].queued, Some(Span::from_secs(10)));
        let counted = [Warning::MissingTime, Warning::ZeroGpu, Warning::NoDuration];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1; 3]);
    }
}
