//! `evenhand trace generate`: a trace from published statistics.

use super::generate_apps;
use super::target::Target;
use crate::failure::wrong;
use crate::numbers::{count, percent, plain, span};
use crate::output;
use crate::progress::Progress;
use crate::trace_args::TraceGenerate;
use anyhow::Result;
use evenhand_sim::InputError;
use evenhand_sim::profiles::{self, PROFILES, Plan, Profile, Wanted};
use evenhand_sim::traces::TraceJob;
use std::collections::BTreeMap;

/// How many jobs, if nobody says.
const JOBS: u64 = 10_000;

/// How often the bar is told.
const STEP: u64 = 1000;

/// Makes a trace up and says what it comes to.
pub fn run(args: &TraceGenerate) -> Result<()> {
    if args.profile == generate_apps::PROFILE {
        return generate_apps::run(args);
    }
    let profile = profile(&args.profile)?;
    if args.apps.is_some() {
        return Err(wrong("--apps", format!("{} has no apps: that is --profile apps", args.profile)));
    }
    let target = Target::new(&args.out, None)?;
    let wanted = Wanted {
        seed: args.seed,
        jobs: args.jobs.or(args.days.is_none().then_some(JOBS)),
        days: args.days,
        gpus: args.gpus,
        load: args.load,
    };
    // Its fields are flags here.
    let plan = Plan::new(profile, wanted)
        .map_err(|error| InputError { field: format!("--{}", error.field), ..error })?;
    let expected = plan
        .wanted
        .jobs
        .unwrap_or_else(|| (plan.jobs_per_hour * 24.0 * plan.wanted.days.unwrap_or(0.0)) as u64);
    let progress = Progress::new(1, expected as usize);
    let mut made = Made::default();
    let shell = plan.shell();
    let columns: &[&str] =
        if shell.tenants.len() > 1 { &["tenant", "speed:<model>"] } else { &["speed:<model>"] };
    target.write(|to| {
        let mut writer = shell.native_writer(&plan.remarks(), columns, to)?;
        for job in plan.jobs() {
            made.take(&job);
            if made.jobs.is_multiple_of(STEP) {
                progress.tell(0, made.jobs);
            }
            writer.job(&job)?;
        }
        writer.finish()
    })?;
    drop(progress);
    target.say(&made.summary(&plan, &target.name()))?;
    if profile.dynamic > 0.0 {
        output::note(
            "note: the native format has no column for changing batch sizes: durations are right, speeds are means",
        );
    }
    Ok(())
}

fn profile(name: &str) -> Result<&'static Profile> {
    profiles::find(name).ok_or_else(|| {
        let known = PROFILES.iter().map(|profile| profile.name);
        let names: Vec<&'static str> = known.chain([generate_apps::PROFILE]).collect();
        let hint = evenhand_core::nearest(name, &names)
            .map_or_else(|| format!("known: {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
        wrong("--profile", format!("unknown profile `{name}`; {hint}"))
    })
}

/// What was made, in a few numbers.
#[derive(Default)]
struct Made {
    jobs: u64,
    first_s: f64,
    last_s: f64,
    gpu_time_s: f64,
    durations: Vec<f64>,
    sizes: BTreeMap<u32, u64>,
}

impl Made {
    fn take(&mut self, job: &TraceJob) {
        let duration_s = job.duration_s().unwrap_or(0.0);
        self.last_s = job.submit.seconds();
        if self.jobs == 0 {
            self.first_s = self.last_s;
        }
        self.jobs += 1;
        self.gpu_time_s += f64::from(job.spec.gpus.min.0) * duration_s;
        self.durations.push(duration_s);
        *self.sizes.entry(job.spec.gpus.min.0).or_default() += 1;
    }

    fn summary(mut self, plan: &Plan, name: &str) -> String {
        let span_s = self.last_s - self.first_s;
        let busy = self.gpu_time_s / span_s;
        self.durations.sort_by(f64::total_cmp);
        let at = |fraction: f64| {
            let place = (fraction * self.durations.len().saturating_sub(1) as f64) as usize;
            self.durations.get(place).map_or_else(|| "-".into(), |seconds| span(*seconds, *seconds))
        };
        let mut sizes: Vec<_> = self.sizes.iter().collect();
        sizes.sort_by_key(|(_, jobs)| std::cmp::Reverse(**jobs));
        let part = |jobs: u64| percent(jobs as f64 / self.jobs as f64);
        let sizes: Vec<_> =
            sizes.iter().take(4).map(|(gpus, jobs)| format!("{gpus}: {}", part(**jobs))).collect();
        let load = plan.wanted.gpus.map_or_else(String::new, |gpus| {
            format!(", a load of {} on {gpus} GPUs", plain(busy / f64::from(gpus)))
        });
        format!(
            "{name}: {} jobs like {}, seed {}\n  \
             over       {}, {} jobs an hour\n  \
             GPU-time   {} GPU-hours: {} GPUs busy on average{load}\n  \
             durations  median {}, p90 {}, p99 {}\n  \
             GPUs       {}",
            count(self.jobs as f64),
            plan.profile.name,
            plan.wanted.seed,
            span(span_s, span_s),
            plain(self.jobs as f64 * 3600.0 / span_s),
            count(self.gpu_time_s / 3600.0),
            plain(busy),
            at(0.5),
            at(0.9),
            at(0.99),
            sizes.join(", ")
        )
    }
}
