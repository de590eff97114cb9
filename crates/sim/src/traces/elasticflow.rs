//! ElasticFlow (Microsoft ITP, 2021): `job_id,submission_time,duration,num_gpu`, in seconds. The generated variant has
//! deadlines on the same clock, which may be infeasible by design, and models, which were assigned and decide nothing.

use super::reading::{Draft, Row, columns, milliseconds, read_table};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "elasticflow",
    summary: "ElasticFlow of Microsoft ITP, ten clusters; with deadlines in the generated variant.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] = &["job_id", "submission_time", "duration", "num_gpu"];

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    read_table(source, ',', COLUMNS, |row, _| job(row))
}

fn job<'r>(row: &'r Row<'_>) -> Result<Draft<'r>, Warning> {
    let submit = row.number("submission_time")?.ok_or(Warning::MissingTime)?;
    let seconds = row.number("duration")?.ok_or(Warning::MissingTime)?;
    let mut draft = Draft::new(row.named("job_id")?, milliseconds(submit), row.needed("num_gpu")?, seconds);
    draft.deadline = row.number("deadline")?.map(|deadline| deadline - submit);
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::Time;

    #[test]
    fn both_variants_and_no_final_newline() {
        let plain = "job_id,submission_time,duration,num_gpu\n6b2d,100,3890,4\n6b2e,160,600,64";
        let trace = read(&mut plain.as_bytes(), "cluster_1.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs.len(), trace.jobs[1].submit), ("elasticflow", 2, Time(60_000)));
        let generated = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n\
            6b2d,16566,40285,bert,21347,64,4,3890\n6b2e,16566,1,bert,16000,64,4,3890\n";
        let trace = read(&mut generated.as_bytes(), "x.csv", &Sides::default()).unwrap();
        assert_eq!(trace.jobs[0].spec.deadline, Some(Time(4_781_000)));
        assert_eq!(
            trace.jobs[1].spec.deadline,
            Some(Time(0)),
            "a deadline before the submission stays infeasible"
        );
        assert!(trace.models.is_empty());
    }
}
