//! One hand-made sample per format, with every trap that the format is known for, and what must become of it.
//!
//! `<sample>.expected` says it in words; `./test --update-golden` does not write these, on purpose: they were checked by
//! hand. `EVENHAND_PRINT_SAMPLES=1` prints what the readers make of the samples.

use crate::{folder, sides};
use evenhand_core::ModelIndex;
use evenhand_sim::traces::{Opening, Sides, TRACES, Trace, TraceJob, open_trace, read};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// Format, and its sample.
pub const SAMPLES: &[(&str, &str)] = &[
    ("native", "native.csv"),
    ("generic", "generic.csv"),
    ("philly-csv", "philly.csv"),
    ("philly-vc", "trace_0e4a51.csv"),
    ("philly-json", "philly_cluster_job_log.json"),
    ("helios", "cluster_log.csv"),
    ("acme", "trace_kalos.csv"),
    ("pai", "pai_task_table.csv"),
    ("openb", "openb_pod_list_gpuspec33.csv"),
    ("elasticflow", "elasticflow.csv"),
    ("gavel", "shockwave.trace"),
    ("pollux", "workload-1.csv"),
    ("tiresias", "60_job.csv"),
    ("muri", "muri.csv"),
    ("chronus", "chronus.csv"),
    ("sacct", "history.txt"),
    ("swf", "small.swf"),
];

pub fn sample(name: &str) -> PathBuf {
    folder("tests/readers/samples").join(name)
}

/// The table that the samples of a format need.
pub fn sides_of(format: &str) -> Sides {
    match format {
        "gavel" => sides(&sample("throughputs.json")),
        "pollux" => sides(&sample("applications")),
        _ => Sides::default(),
    }
}

/// A trace in words: a line about all, a line per warning, a line per job.
fn words(trace: &Trace) -> String {
    let anchor = trace.anchor.as_deref().unwrap_or("unknown");
    let mut text = format!("{}; time 0 is {anchor}; GPU models {:?}\n", trace.format, trace.models);
    for (warning, count, line) in trace.warnings.iter() {
        writeln!(text, "{count} x {warning:?}, first in line {line}").unwrap();
    }
    for job in &trace.jobs {
        writeln!(text, "{}", job_words(job, trace)).unwrap();
    }
    text
}

fn job_words(job: &TraceJob, trace: &Trace) -> String {
    let spec = &job.spec;
    // On the reference model, whether the job may run there or not.
    let speed = spec.speeds.map_or(1.0, |speeds| speeds[ModelIndex(0)].get());
    let seconds = spec.work.unwrap().steps() / speed;
    let mut text = format!(
        "line {}: {} of {} at {} ms: {} GPUs for {seconds:.3} s",
        job.line,
        job.name,
        trace.tenants[spec.tenant.index()],
        job.submit.0,
        spec.gpus.min.0
    );
    let allowed: Vec<_> =
        (0..trace.models.len()).filter(|at| spec.models.allows(ModelIndex(*at as u16))).collect();
    if allowed.len() < trace.models.len() {
        write!(text, ", on {:?}", allowed.iter().map(|at| &trace.models[*at]).collect::<Vec<_>>()).unwrap();
    }
    if let Some(outcome) = job.outcome {
        write!(text, ", {outcome:?}").unwrap();
    }
    if let Some(queued) = job.queued {
        write!(text, ", waited {} ms", queued.0).unwrap();
    }
    if let Some(deadline) = spec.deadline {
        write!(text, ", wanted at {} ms", deadline.0).unwrap();
    }
    text
}

#[test]
#[expect(clippy::print_stderr, reason = "for whoever writes a new sample")]
fn every_sample_becomes_what_it_should() {
    for (format, name) in SAMPLES {
        let trace = open_trace(&sample(name), &sides_of(format)).unwrap();
        assert_eq!(trace.format, *format, "{name}");
        let found = words(&trace);
        if std::env::var_os("EVENHAND_PRINT_SAMPLES").is_some() {
            eprintln!("== {name}.expected\n{found}");
            continue;
        }
        let expected = fs::read_to_string(sample(&format!("{name}.expected"))).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn every_format_has_a_sample() {
    let names: Vec<_> = TRACES.iter().map(|entry| entry.name).collect();
    assert_eq!(SAMPLES.iter().map(|(format, _)| *format).collect::<Vec<_>>(), names);
}

#[test]
fn no_sample_is_recognised_by_two_formats() {
    for (format, name) in SAMPLES {
        let start = fs::read_to_string(sample(name)).unwrap();
        // The name of the file must not be needed: users rename files.
        for name in [*name, "jobs.txt"] {
            let opening = Opening { name, start: &start };
            let by: Vec<_> =
                TRACES.iter().filter(|entry| (entry.recognises)(&opening)).map(|entry| entry.name).collect();
            assert_eq!(by, [*format], "{name}");
        }
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_change_nothing() {
    for (format, name) in SAMPLES {
        let text = fs::read_to_string(sample(name)).unwrap().replace("\r\n", "\n");
        let sides = sides_of(format);
        let plain = words(&read(&mut text.as_bytes(), name, &sides).unwrap());
        let windows = text.replace('\n', "\r\n");
        assert_eq!(words(&read(&mut windows.as_bytes(), name, &sides).unwrap()), plain, "{name}");
        let doubled = format!("{}\n\n", text.trim_end_matches('\n'));
        let bare = text.trim_end_matches('\n');
        let ends =
            [doubled.as_str(), bare].map(|text| words(&read(&mut text.as_bytes(), name, &sides).unwrap()));
        assert_eq!(ends, [plain.clone(), plain.clone()], "{name}");
        let marked = format!("\u{feff}{text}");
        assert_eq!(words(&read(&mut marked.as_bytes(), name, &sides).unwrap()), plain, "{name}");
    }
}

#[test]
fn samples_run_on_a_cluster() {
    for (format, name) in SAMPLES {
        let trace = open_trace(&sample(name), &sides_of(format)).unwrap();
        let models = if trace.models.is_empty() { vec!["v100".to_owned()] } else { trace.models.clone() };
        let cluster = models.iter().map(|model| format!("{model}=512")).collect::<Vec<_>>().join(",");
        let cluster = evenhand_sim::ClusterSpec::parse(&cluster, None, None).unwrap();
        let count = trace.jobs.len();
        let workload = trace.bind(&cluster).unwrap();
        assert_eq!(workload.jobs.len(), count, "{name}");
        assert!(workload.jobs.is_sorted_by_key(|job| job.submit), "{name}");
    }
}
