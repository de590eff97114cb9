//! Alibaba PAI (2020): the task table, which has no header line:
//! `job_name, task_name, inst_num, status, start_time, end_time, plan_cpu, plan_mem, plan_gpu, gpu_type`.
//!
//! `plan_gpu` is in percent of a GPU and per instance. A task has no submission, only a start, so nobody waits in this
//! trace before we run it. Times are relative; as seconds since 1970 in UTC+8 they give the true hour and weekday. Users
//! are in another table, so there is one tenant.

use super::reading::{Draft, Gather, Lines, civil, known, milliseconds, number, split};
use super::{Opening, Sides, Trace, TraceEntry, Warning};
use crate::InputError;
use evenhand_core::Outcome;
use std::borrow::Cow;
use std::io::BufRead;

pub(crate) const ENTRY: TraceEntry = TraceEntry {
    name: "pai",
    summary: "Alibaba PAI 2020: pai_task_table.csv, with or without its header; one task is one job.",
    recognises,
    read,
};

const FIELDS: usize = 10;

fn recognises(opening: &Opening<'_>) -> bool {
    let mut lines = opening.start.lines();
    let first = lines.find(|line| !is_header(line)).unwrap_or_default();
    let fields = split(first, ',');
    let number = |at: usize| known(&fields[at]).is_none_or(|text| text.parse::<f64>().is_ok());
    let state = |text: &str| {
        text.chars().next().is_some_and(char::is_uppercase) && text.chars().all(char::is_alphabetic)
    };
    fields.len() == FIELDS && state(&fields[3]) && [2, 4, 5, 6, 7, 8].into_iter().all(number)
}

fn is_header(line: &str) -> bool {
    line.starts_with("job_name,task_name,inst_num,")
}

fn read(source: &mut dyn BufRead, _sides: &Sides) -> Result<Trace, InputError> {
    let mut lines = Lines::new(source);
    let mut gather = Gather::default();
    while lines.advance()? {
        let line = lines.number();
        let Some(text) = lines.text() else {
            gather.trace.warnings.add(Warning::BadRow, line);
            continue;
        };
        if text.trim().is_empty() || is_header(text) {
            continue;
        }
        let fields = split(text, ',');
        gather.add(line, job(&fields))?;
    }
    let first = gather.first();
    let mut trace = gather.finish();
    trace.anchor = first.map(|first| {
        format!("{}+08:00, of which only hour and weekday are true", civil(first + 8 * 3_600_000))
    });
    Ok(trace)
}

fn job<'r>(fields: &'r [Cow<'_, str>]) -> Result<Draft<'r>, Warning> {
    if fields.len() != FIELDS || fields[0].is_empty() {
        return Err(Warning::BadRow);
    }
    let percent = number(&fields[8])?.unwrap_or(0.0);
    if percent <= 0.0 {
        return Err(Warning::ZeroGpu);
    }
    let start = number(&fields[4])?.ok_or(Warning::MissingTime)?;
    let end = number(&fields[5])?.ok_or(Warning::MissingTime)?;
    let name = format!("{}/{}", fields[0], fields[1]);
    let mut draft = Draft::new(name, milliseconds(start), percent / 100.0, end - start);
    draft.instances = number(&fields[2])?.ok_or(Warning::BadRow)?;
    draft.models = known(&fields[9]).into_iter().collect();
    draft.outcome = match fields[3].as_ref() {
        "Terminated" => Some(Outcome::Finished),
        "Failed" => Some(Outcome::Failed),
        _ => None,
    };
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    const TEXT: &str = "4f05,tensorflow,1.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n\
        4f05,worker,200.0,Failed,1739160.0,1739200.0,600.0,29.3,200.0,V100\n\
        aa,ps,1.0,Terminated,1739162.0,1739200.0,600.0,29.3,,CPU\nbb,worker,1.0,Running,1739162.0,,600.0,29.3,100.0,T4\n\
        cc,worker,1.0,Waiting,,,600.0,29.3,100.0,T4\n4f05,worker,2.0,Terminated,1739161,1739171,600,1,25,V100";

    #[test]
    fn percent_of_a_gpu_per_instance() {
        let trace = read(&mut TEXT.as_bytes(), "pai_task_table.csv", &Sides::default()).unwrap();
        let sizes: Vec<_> = trace.jobs.iter().map(|job| (job.name.as_str(), job.spec.gpus.min.0)).collect();
        assert_eq!(sizes, [("4f05/tensorflow", 1), ("4f05/worker", 400), ("4f05/worker#2", 2)]);
        assert_eq!(
            (trace.format, trace.models.as_slice()),
            ("pai", &["MISC".to_owned(), "V100".to_owned()][..])
        );
        assert_eq!(trace.jobs[0].submit.0, 2000);
        assert_eq!(trace.jobs[1].outcome, Some(Outcome::Failed));
        let counted = [Warning::Fraction, Warning::ZeroGpu, Warning::MissingTime, Warning::Duplicate];
        assert_eq!(counted.map(|warning| trace.warnings.count(warning)), [2, 1, 2, 1]);
        assert!(trace.anchor.unwrap().starts_with("1970-01-21 11:06:00+08:00"));
    }

    #[test]
    fn a_header_does_no_harm() {
        let header =
            "job_name,task_name,inst_num,status,start_time,end_time,plan_cpu,plan_mem,plan_gpu,gpu_type\n";
        let trace = read(&mut format!("{header}{TEXT}").as_bytes(), "x.csv", &Sides::default()).unwrap();
        assert_eq!((trace.format, trace.jobs.len(), trace.jobs[0].line), ("pai", 3, 2));
    }
}
