//! `evenhand queue`: the jobs of the service.

use crate::client::{Client, escaped};
use crate::job_args::Queue;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_live::store::{JobRow, Page};

/// Phases of jobs that have not ended.
const ACTIVE: &str = "queued,held,starting,running,stopping";

/// Lists them.
pub fn run(args: &Queue) -> Result<()> {
    let mut query = vec![format!("limit={}", args.limit)];
    let phase = args.phase.as_deref().or((!args.all).then_some(ACTIVE));
    query.extend(phase.map(|phase| format!("phase={}", escaped(phase))));
    query.extend(args.tenant.as_ref().map(|tenant| format!("tenant={}", escaped(tenant))));
    query.extend(args.array.as_ref().map(|array| format!("array={}", escaped(array))));
    query.extend(args.app.as_ref().map(|app| format!("app={}", escaped(app))));
    query.extend(args.after.map(|after| format!("after={after}")));
    let page: Page = Client::new(&args.server)?.get(&format!("/v1/jobs?{}", query.join("&")))?;
    if args.json {
        return output::say_json(&page);
    }
    if page.jobs.is_empty() {
        return output::say("no jobs");
    }
    output::say(&table(&page.jobs).render())?;
    match page.next_after {
        Some(last) => output::say(&format!("and more: --after {}", last.0)),
        None => Ok(()),
    }
}

fn table(jobs: &[JobRow]) -> Table {
    let left = ["job", "name", "tenant"].map(|title| (title, Side::Left));
    let right = ["GPUs", "starts", "steps"].map(|title| (title, Side::Right));
    let last = ["phase", "why"].map(|title| (title, Side::Left));
    let mut table = Table::new(left.into_iter().chain(right).chain(last));
    for job in jobs {
        table.row([
            job.id.0.to_string(),
            called(job),
            job.tenant.clone(),
            job.gpus.to_string(),
            job.starts.to_string(),
            format!("{:.0}", job.steps),
            job.phase.name().to_owned(),
            job.why.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// Its name; a job of an array that has none is called by array and index.
fn called(job: &JobRow) -> String {
    let member = || Some(format!("{}_{}", job.array?.0, job.array_index?));
    job.name.clone().or_else(member).unwrap_or_default()
}
