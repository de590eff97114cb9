//! `evenhand trace generate --profile apps`: hyper-parameter searches.

use super::target::Target;
use crate::failure::wrong;
use crate::numbers::{count, plain, span};
use crate::trace_args::TraceGenerate;
use anyhow::Result;
use evenhand_sim::apps::{Apps, rehearse};
use evenhand_sim::traces::as_trace;
use evenhand_sim::{ClusterSpec, InputError, Workload};

/// What the profile is called.
pub const PROFILE: &str = "apps";

/// One line for people.
pub const SUMMARY: &str = "Hyper-parameter searches with up to 100 jobs, whose tuners end jobs early.";

/// Where it comes from.
pub const SOURCE: &str = "Mahajan et al., Themis, NSDI 2020, read off its plots";

/// The GPUs that the work is for, if nobody says.
const GPUS: u32 = 256;

/// Makes apps up and says what they come to.
pub fn run(args: &TraceGenerate) -> Result<()> {
    let target = Target::new(&args.out, None)?;
    if args.jobs.is_some() || args.days.is_some() {
        return Err(wrong("--profile", "apps are counted by --apps, and not by --jobs or --days"));
    }
    let usual = Apps::default();
    let apps = Apps {
        apps: args.apps.unwrap_or(usual.apps),
        load: args.load.unwrap_or(usual.load),
        seed: Some(args.seed),
        ..usual
    };
    // Its fields are flags here.
    apps.check().map_err(|error| InputError { field: format!("--{}", error.field), ..error })?;
    let gpus = args.gpus.unwrap_or(GPUS);
    let cluster = ClusterSpec::parse(&format!("gpu={gpus}"), None, None)
        .map_err(|error| InputError { field: "--gpus".into(), ..error })?;
    let workload = apps.generate(&cluster, args.seed);
    let trace = as_trace(&workload, &cluster);
    let seed = args.seed;
    let remarks = [
        format!("made by evenhand trace generate: profile {PROFILE}, seed {seed}"),
        format!("wanted: apps {} gpus {gpus} load {}", apps.apps, apps.load),
        format!("source: {SOURCE}"),
        "durations are up to the iteration limit; load counts what tuners leave of them".into(),
    ];
    target.write(|to| trace.write_native(&remarks, to))?;
    target.say(&summary(&workload, seed, gpus, &target.name()))
}

fn summary(workload: &Workload, seed: u64, gpus: u32, name: &str) -> String {
    let done = rehearse(workload, seed);
    let gpu_time_s: f64 =
        workload.jobs.iter().map(|job| done[&job.truth.id].steps() * f64::from(job.truth.gpus.min.0)).sum();
    let span_s = workload.span().seconds();
    let busy = gpu_time_s / span_s;
    format!(
        "{name}: {} apps with {} jobs, seed {seed}\n  \
         over       {}, {} apps an hour\n  \
         GPU-time   {} GPU-hours after tuners ended jobs early: {} GPUs busy on average, a load of {} on {gpus} GPUs",
        count(workload.apps.len() as f64),
        count(workload.jobs.len() as f64),
        span(span_s, span_s),
        plain(workload.apps.len() as f64 * 3600.0 / span_s),
        count(gpu_time_s / 3600.0),
        plain(busy),
        plain(busy / f64::from(gpus)),
    )
}
