//! Alibaba openb (2023): pods of a cluster with many GPU models, `name,...,num_gpu,gpu_milli,gpu_spec,...`.
//!
//! `gpu_milli` matters only where one GPU is asked for. A phase is no outcome: "Running" means that the pod was deleted.
//! Pending pods have no start. Few pods fill the first 115 days; they are kept and counted.

use super::reading::{Draft, Row, columns, milliseconds, read_table};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::collections::BTreeSet;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "openb",
    summary: "Alibaba openb 2023: lists of pods; gpu_spec says which GPU models will do.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] =
    &["name", "num_gpu", "gpu_milli", "gpu_spec", "creation_time", "deletion_time", "scheduled_time"];

/// Before this the trace is nearly empty.
const SPARSE_UNTIL_S: f64 = 1.0e7;

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut early = BTreeSet::new();
    let mut trace = read_table(source, ',', COLUMNS, |row, _| {
        let draft = job(row)?;
        if (draft.submit as f64) < SPARSE_UNTIL_S * 1e3 {
            early.insert(row.line);
        }
        Ok(draft)
    })?;
    let sparse: Vec<u64> =
        trace.jobs.iter().map(|job| job.line).filter(|line| early.contains(line)).collect();
    // Without a dense part there is no thin one.
    if sparse.len() < trace.jobs.len() {
        for line in sparse {
            trace.warnings.add(Warning::Sparse, line);
        }
    }
    Ok(trace)
}

fn job<'r>(row: &'r Row<'_>) -> Result<Draft<'r>, Warning> {
    let mut gpus = row.needed("num_gpu")?;
    if gpus <= 0.0 {
        return Err(Warning::ZeroGpu);
    }
    if gpus <= 1.0 {
        gpus = row.number("gpu_milli")?.map_or(gpus, |milli| milli / 1000.0);
    }
    let time = |column| row.number(column)?.ok_or(Warning::MissingTime);
    let (created, started, deleted) =
        (time("creation_time")?, time("scheduled_time")?, time("deletion_time")?);
    let mut draft = Draft::new(row.named("name")?, milliseconds(created), gpus, deleted - started);
    draft.queued = Some(started - created);
    if let Some(models) = row.text("gpu_spec") {
        draft.models = models.split('|').map(str::trim).filter(|model| !model.is_empty()).collect();
    }
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use evenhand_core::{ModelFilter, Span};

    #[test]
    fn shares_models_and_pods_that_never_ran() {
        let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n\
            a,1,1,1,460,,LS,Running,427061,12902960,427071\nb,1,1,8,1000,V100M16|V100M32|V100M32,LS,Failed,10000001,10000101,10000001\n\
            c,1,1,1,1000,T4,BE,Pending,10000002,12902960,\nd,1,1,0,0,,BE,Running,10000002,10000003,10000002\n";
        let trace = read(&mut text.as_bytes(), "openb_pod_list_gpuspec33.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs.len(), trace.models.len()), ("openb", 2, 2));
        assert_eq!(
            (trace.jobs[0].spec.models, trace.jobs[1].spec.models),
            (ModelFilter::ANY, ModelFilter(0b11))
        );
        assert_eq!((trace.jobs[0].queued, trace.jobs[1].outcome), (Some(Span::from_secs(10)), None));
        let counted = [Warning::Fraction, Warning::MissingTime, Warning::ZeroGpu, Warning::Sparse];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [1; 4]);
    }
}
