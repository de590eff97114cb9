//! Workloads of Pollux (OSDI 2021): `name,time,application,num_replicas,batch_size`, seconds.
//!
//! They say what is trained, not how long that takes. That follows from the measured steps of each application, which
//! lie in the folder `traces` beside the workloads and are given by `--throughputs`.

use super::reading::{Applications, Draft, Row, columns, milliseconds, read_table};
use super::{Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "pollux",
    summary: "Workloads of Pollux; durations from the folder of its applications, given by --throughputs.",
    recognises: |opening| columns(opening, COLUMNS),
    read,
};

const COLUMNS: &[&str] = &["name", "time", "application", "num_replicas", "batch_size"];

fn read(source: &mut dyn BufRead, sides: &Sides) -> Result<Trace, InputError> {
    let applications = sides.throughputs.as_ref().map(|table| table.applications());
    let Some(applications) = applications.filter(|applications| !applications.is_empty()) else {
        let allowed = "this trace names applications but no durations: give the folder with \
            <application>/placements.csv (`traces` of Pollux) by --throughputs";
        return Err(InputError { line: 1, allowed: allowed.into(), ..InputError::default() });
    };
    read_table(source, ',', COLUMNS, |row, _| job(row, applications))
}

fn job<'r>(row: &'r Row<'_>, applications: &Applications) -> Result<Draft<'r>, Warning> {
    let submit = row.number("time")?.ok_or(Warning::MissingTime)?;
    let whole = |column| row.named(column)?.parse::<u32>().map_err(|_| Warning::BadRow);
    let (replicas, batch) = (whole("num_replicas")?, whole("batch_size")?);
    if replicas == 0 {
        return Err(Warning::ZeroGpu);
    }
    let seconds = applications.seconds(row.named("application")?, replicas, batch);
    let seconds = seconds.ok_or(Warning::UnknownKind)?;
    Ok(Draft::new(row.named("name")?, milliseconds(submit), f64::from(replicas), seconds))
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::traces::Throughputs;
    use evenhand_core::{Time, Work};
    use std::sync::Arc;

    const TEXT: &str = "name,time,application,num_replicas,batch_size\nbert-0,259,bert,1,8\nx-1,300,x,1,8\nbert-2,400,bert,0,8\nbert-3,400,bert,24,96\n";

    #[test]
    fn durations_come_from_the_tables() {
        let table = Throughputs::of_applications(Applications::example());
        let trace =
            read(&mut TEXT.as_bytes(), "workload-1.csv", &Sides { throughputs: Some(Arc::new(table)) })
                .unwrap();
        assert_eq!((trace.format, trace.jobs.len(), trace.jobs[0].submit), ("pollux", 1, Time(0)));
        assert_eq!(trace.jobs[0].spec.work, Some(Work::from_steps(150.0)));
        assert_eq!(
            (trace.warnings.count(Warning::UnknownKind), trace.warnings.count(Warning::ZeroGpu)),
            (2, 1)
        );
    }

    #[test]
    fn without_tables_it_says_what_is_needed() {
        for sides in [Sides::default(), Sides { throughputs: Some(Arc::default()) }] {
            let error = read(&mut TEXT.as_bytes(), "workload-1.csv", &sides).unwrap_err();
            assert!(error.to_string().contains("placements.csv"), "{error}");
        }
    }
}
