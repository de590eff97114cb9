//! `evenhand top`: the service at a glance, as it changes.

use super::{nodes, policy};
use crate::client::Client;
use crate::ops_args::Top;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_live::api::{Health, NodeList, NodeRow, PolicyList, TenantList, TenantRow};
use evenhand_live::store::{JobRow, Page, Phase};
use std::io::BufRead;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// At least so long between two pictures, so that a busy service can be read.
const PICTURE_TIME_MIN: Duration = Duration::from_millis(300);

/// At most so long, so that a picture is never old.
const PICTURE_TIME_MAX: Duration = Duration::from_secs(10);

/// Home, and everything below it wiped: the picture is redrawn in place.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Shows pictures until it is interrupted, or one.
pub fn run(args: &Top) -> Result<()> {
    let client = Client::new(&args.server)?;
    if args.once {
        return output::say(&picture(&client, args.jobs)?);
    }
    let news = watch(&client)?;
    loop {
        let picture = picture(&client, args.jobs)?;
        output::say(&format!("{CLEAR}{picture}"))?;
        thread::sleep(PICTURE_TIME_MIN);
        match news.recv_timeout(PICTURE_TIME_MAX) {
            // Whatever else came in the meantime is in the next picture too.
            Ok(()) => while news.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the service has gone away"),
        }
    }
}

/// Hears of every record.
fn watch(client: &Client) -> Result<Receiver<()>> {
    let lines = client.lines("/v1/events")?;
    let (tell, news) = channel();
    thread::spawn(move || {
        let records = lines.lines().map_while(Result::ok).filter(|line| line.starts_with("data:"));
        for _ in records {
            if tell.send(()).is_err() {
                return;
            }
        }
    });
    Ok(news)
}

fn picture(client: &Client, jobs_max: u32) -> Result<String> {
    let health: Health = client.get("/v1/health")?;
    let NodeList { nodes } = client.get("/v1/nodes")?;
    let policies: PolicyList = client.get("/v1/policies")?;
    let TenantList { tenants } = client.get("/v1/tenants")?;
    let page = |phases: &str| -> Result<Page> {
        client.get(&format!("/v1/jobs?phase={phases}&limit={}", jobs_max.min(1000)))
    };
    let (running, waiting) = (page("starting,running,stopping")?, page("queued,held")?);
    let count = |phases: &[&str]| phases.iter().filter_map(|phase| health.jobs.get(*phase)).sum::<u64>();
    let (runs, waits) = (count(&["starting", "running", "stopping"]), count(&["queued", "held"]));
    let (gpus, held): (u32, u32) = (sum(&nodes, |node| node.gpus), sum(&nodes, |node| node.held));
    let free = sum(&nodes, |node| node.free);
    let mending = if health.status == "ok" { "" } else { "  NOTHING CAN BE RECORDED" };
    let decides = policy::told(&policies.current);
    let mut parts = vec![
        format!("{held} of {gpus} GPUs held  {runs} running, {waits} waiting  {decides} decides{mending}"),
        machines(&nodes),
    ];
    if !tenants.is_empty() {
        parts.push(shares(&tenants, gpus).render());
    }
    for (title, page, all) in [("runs", running, runs), ("waits", waiting, waits)] {
        if !page.jobs.is_empty() {
            let more = all.saturating_sub(page.jobs.len() as u64);
            let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
            parts.push(format!("{}{more}", jobs(title, &page.jobs, free == 0).render()));
        }
    }
    Ok(parts.join("\n\n"))
}

fn sum(nodes: &[NodeRow], of: impl Fn(&NodeRow) -> u32) -> u32 {
    nodes.iter().map(of).sum()
}

/// A mark for each GPU: held, free, or closed.
fn machines(nodes: &[NodeRow]) -> String {
    let line = |row: &NodeRow| {
        let closed = row.gpus - row.held - row.free;
        let marks = [("#", row.held), (".", row.free), ("x", closed)];
        let marks: String = marks.iter().map(|(mark, count)| mark.repeat(*count as usize)).collect();
        let health = nodes::health(row.health);
        let health = if health == "up" { String::new() } else { format!("  {health}") };
        format!("node {:<4} {:<10} {marks}{health}", row.node.0, row.model)
    };
    nodes.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What each tenant holds against its share.
fn shares(tenants: &[TenantRow], gpus: u32) -> Table {
    let right = ["holds", "share", "waiting GPUs"].map(|title| (title, Side::Right));
    let mut table = Table::new([("tenant", Side::Left)].into_iter().chain(right));
    for row in tenants.iter().filter(|row| row.running + row.waiting > 0) {
        let held: u32 = row.held.values().sum();
        let share = row.share * f64::from(gpus);
        table.row([row.name.clone(), held.to_string(), format!("{share:.1}"), row.waiting_gpus.to_string()]);
    }
    table
}

fn jobs(title: &str, jobs: &[JobRow], full: bool) -> Table {
    let left = [title, "name", "tenant"].map(|title| (title, Side::Left));
    let last = [("GPUs", Side::Right), ("phase", Side::Left), ("why", Side::Left)];
    let mut table = Table::new(left.into_iter().chain(last));
    for job in jobs {
        table.row([
            job.id.0.to_string(),
            job.name.clone().unwrap_or_default(),
            job.tenant.clone(),
            job.gpus.to_string(),
            job.phase.name().to_owned(),
            job.why.clone().unwrap_or_else(|| unsaid(job, full).to_owned()),
        ]);
    }
    table
}

/// A policy need not say why somebody waits where that is plain.
fn unsaid(job: &JobRow, full: bool) -> &'static str {
    match job.phase {
        Phase::Queued if full => "no GPU is free",
        Phase::Held => "it is held, or waits for another job",
        _ => "",
    }
}
