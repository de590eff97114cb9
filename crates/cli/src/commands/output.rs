//! `evenhand output`: what a job printed, as it prints it if wanted.

use crate::client::{Client, escaped};
use crate::job_args::Output;
use crate::output;
use anyhow::Result;
use evenhand_live::store::JobRow;
use std::thread;
use std::time::Duration;

/// Between two looks at the output of a job that runs.
const PAUSE: Duration = Duration::from_millis(300);

/// Prints the last of it, and what follows.
pub fn run(args: &Output) -> Result<()> {
    let client = Client::new(&args.server)?;
    // A name may come to mean a younger job while this one is followed.
    let job: JobRow = client.get(&format!("/v1/jobs/{}", escaped(&args.job)))?;
    let job = job.id.0.to_string();
    let (next, text) = client.output(&format!("/v1/jobs/{job}/output?bytes={}", args.bytes))?;
    output::say_bytes(&text)?;
    if args.follow { follow(&client, &job, next) } else { Ok(()) }
}

/// Prints what comes from somewhere on, until the job has ended.
fn follow(client: &Client, job: &str, mut next: u64) -> Result<()> {
    loop {
        // Whether it has ended is asked before what it printed: the last of that comes before the end.
        let has_ended = client.get::<JobRow>(&format!("/v1/jobs/{job}"))?.phase.is_end();
        loop {
            let (end, text) = client.output(&format!("/v1/jobs/{job}/output?from={next}"))?;
            next = end;
            if text.is_empty() {
                break;
            }
            output::say_bytes(&text)?;
        }
        if has_ended {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
}
