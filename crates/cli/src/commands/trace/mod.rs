//! `evenhand trace`: looks at traces, converts them, makes them up.

mod convert;
mod generate;
mod generate_apps;
mod inspect;
mod plots;
mod profiles;
mod target;

use crate::inputs;
use crate::progress::Waiting;
use crate::trace_args::Trace;
use anyhow::Result;
use evenhand_sim::{InputError, traces};
use std::path::Path;

/// Does what was asked for.
pub fn run(command: &Trace) -> Result<()> {
    match command {
        Trace::Inspect(args) => inspect::run(args),
        Trace::Convert(args) => convert::run(args),
        Trace::Generate(args) => generate::run(args),
        Trace::Profiles(args) => profiles::run(args),
    }
}

/// Reads a trace that has jobs.
fn read(file: &Path, throughputs: Option<&Path>) -> Result<traces::Trace> {
    let sides = inputs::sides(throughputs)?;
    let waiting = Waiting::for_work(format!("reading {}", file.display()));
    let trace = traces::open_trace(file, &sides);
    drop(waiting);
    let trace = trace?;
    if trace.jobs.is_empty() {
        inputs::tell_warnings(file, &trace.warnings);
        return Err(InputError::whole(&file.display().to_string(), "the trace has no jobs").into());
    }
    Ok(trace)
}
