//! `evenhand cancel`: ends jobs of the service.

use crate::client::{Client, escaped};
use crate::job_args::Cancel;
use crate::output;
use anyhow::Result;
use evenhand_live::api::Accepted;

/// Cancels each; stops at the first that cannot be.
pub fn run(args: &Cancel) -> Result<()> {
    let client = Client::new(&args.server)?;
    for job in &args.jobs {
        let done: Accepted = client.post(&format!("/v1/jobs/{}/cancel", escaped(job)), &(), None)?;
        output::say(&match &done.jobs {
            None => format!("job {} is being ended", done.job.0),
            Some(jobs) => format!("array {}: {} jobs are being ended", done.job.0, jobs.len()),
        })?;
    }
    Ok(())
}
