//! `evenhand hold` and `evenhand release`: keeps jobs from running, and lets them go on.

use crate::client::{Client, escaped};
use crate::ops_args::Jobs;
use crate::output;
use anyhow::Result;
use evenhand_live::api::Accepted;

/// Holds each; stops at the first that cannot be.
pub fn hold(args: &Jobs) -> Result<()> {
    ask(args, "hold", ("is held", "are held"))
}

/// Releases each; stops at the first that cannot be.
pub fn release(args: &Jobs) -> Result<()> {
    ask(args, "release", ("may run", "may run"))
}

fn ask(args: &Jobs, verb: &str, (one, several): (&str, &str)) -> Result<()> {
    let client = Client::new(&args.server)?;
    for job in &args.jobs {
        let found: Accepted = client.post(&format!("/v1/jobs/{}/{verb}", escaped(job)), &(), None)?;
        output::say(&match &found.jobs {
            None => format!("job {} {one}", found.job.0),
            Some(jobs) => format!("array {}: {} jobs {several}", found.job.0, jobs.len()),
        })?;
    }
    Ok(())
}
