//! `evenhand trace convert`: any known format to the native one.

use super::target::Target;
use crate::failure::wrong;
use crate::numbers::count;
use crate::trace_args::TraceConvert;
use crate::{inputs, output};
use anyhow::Result;
use evenhand_core::{JobSpec, MODELS_MAX, ModelFilter, ModelIndex, PerModel, Rate};
use evenhand_sim::traces::Trace;

/// Reads a trace and writes it again.
pub fn run(args: &TraceConvert) -> Result<()> {
    let target = Target::new(&args.out, Some(&args.file))?;
    let mut trace = super::read(&args.file, args.throughputs.as_deref())?;
    inputs::tell_warnings(&args.file, &trace.warnings);
    trace.jobs.sort_by_key(|job| job.submit);
    if !args.cluster_models.is_empty() {
        restrict(&mut trace, &args.cluster_models)?;
    }
    let source = args.file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let mut remarks = vec![format!("from {source}, format {}", trace.format)];
    remarks.extend(trace.anchor.as_ref().map(|anchor| format!("time 0 is {anchor}")));
    let left_out = target.write(|to| trace.write_native(&remarks, to))?;
    tell_losses(&trace);
    let written = trace.jobs.len() as u64 - left_out;
    target.say(&format!(
        "{}: {} jobs from {} ({})",
        target.name(),
        count(written as f64),
        args.file.display(),
        trace.format
    ))
}

/// Keeps these GPU models only; durations are then on the first of them.
fn restrict(trace: &mut Trace, names: &[String]) -> Result<()> {
    let mut places = Vec::new();
    for name in names {
        let Some(place) = trace.models.iter().position(|model| model == name) else {
            let known = trace.models.join(", ");
            let what = if known.is_empty() { "it names none".into() } else { format!("it names {known}") };
            return Err(wrong("--cluster-models", format!("the trace has no GPU model `{name}`; {what}")));
        };
        if places.contains(&place) {
            return Err(wrong("--cluster-models", format!("{name} is given twice")));
        }
        places.push(place);
    }
    let before = trace.jobs.len();
    trace.jobs.retain_mut(|job| narrow(&mut job.spec, &places));
    let gone = before - trace.jobs.len();
    if gone > 0 {
        output::note(&format!("{gone} jobs run on none of {}: left out", names.join(", ")));
    }
    trace.models = names.to_vec();
    if trace.jobs.is_empty() {
        return Err(wrong("--cluster-models", format!("no job runs on {}", names.join(", "))));
    }
    Ok(())
}

/// The job on these GPU models alone; whether it runs on any.
fn narrow(spec: &mut JobSpec, places: &[usize]) -> bool {
    let kept: Vec<Rate> = places.iter().map(|place| spec.speed(ModelIndex(*place as u16))).collect();
    let Some(reference) = kept.iter().copied().find(|speed| *speed > Rate::ZERO) else { return false };
    if spec.speeds.is_some() {
        let mut row = PerModel::all(reference);
        row.0[..kept.len()].copy_from_slice(&kept);
        debug_assert!(kept.len() < MODELS_MAX, "a trace names fewer GPU models than a row has places");
        spec.speeds = Some(row);
    }
    if spec.models != ModelFilter::ANY {
        let allowed = (0..places.len()).filter(|at| kept[*at] > Rate::ZERO).map(|at| ModelIndex(at as u16));
        spec.models = ModelFilter::only(allowed);
    }
    true
}

/// Says what the native format has no column for.
fn tell_losses(trace: &Trace) {
    let jobs = || trace.jobs.iter();
    for (what, lost) in [
        ("outcomes", jobs().filter(|job| job.outcome.is_some()).count()),
        ("waiting times", jobs().filter(|job| job.queued.is_some()).count()),
        ("changing batch sizes", jobs().filter(|job| !job.spec.regimes.is_empty()).count()),
        ("speeds by number of GPUs", jobs().filter(|job| !job.spec.scaling.by_count.is_empty()).count()),
    ] {
        if lost > 0 {
            output::note(&format!("note: {what} of {lost} jobs are not in the native format"));
        }
    }
}
