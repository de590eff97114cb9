//! `evenhand nodes`: the machines of the service.

use crate::client::Client;
use crate::ops_args::{Live, NodeAction, Nodes, OneNode};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::Health;
use evenhand_live::api::{NodeList, NodeRow};

/// Lists them, or opens or closes one.
pub fn run(args: &Nodes) -> Result<()> {
    match &args.action {
        None => list(&args.listing),
        Some(NodeAction::Drain(one)) => change(one, "drain", "takes no new jobs"),
        Some(NodeAction::Return(one)) => change(one, "return", "takes jobs again"),
    }
}

fn list(live: &Live) -> Result<()> {
    let found: NodeList = Client::new(&live.server)?.get("/v1/nodes")?;
    if live.json {
        return output::say_json(&found);
    }
    output::say(&table(&found.nodes).render())
}

fn change(one: &OneNode, verb: &str, done: &str) -> Result<()> {
    let path = format!("/v1/nodes/{}/{verb}", one.node);
    let row: NodeRow = Client::new(&one.live.server)?.post(&path, &(), None)?;
    if one.live.json {
        return output::say_json(&row);
    }
    let jobs = match row.jobs.len() {
        0 => String::new(),
        1 => "; 1 job is on it".to_owned(),
        jobs => format!("; {jobs} jobs are on it"),
    };
    output::say(&format!("node {} {done}{jobs}", one.node))
}

/// A table with a row for each.
pub fn table(nodes: &[NodeRow]) -> Table {
    let left = ["node", "model", "health"].map(|title| (title, Side::Left));
    let right = ["GPUs", "held", "free"].map(|title| (title, Side::Right));
    let mut table = Table::new(left.into_iter().chain(right).chain([("jobs", Side::Left)]));
    for row in nodes {
        let jobs: Vec<String> = row.jobs.iter().map(|job| job.0.to_string()).collect();
        table.row([
            row.name.as_ref().map_or_else(|| row.node.0.to_string(), |name| format!("{} {name}", row.node.0)),
            row.model.clone(),
            health(row.health).to_owned(),
            row.gpus.to_string(),
            row.held.to_string(),
            row.free.to_string(),
            jobs.join(" "),
        ]);
    }
    table
}

/// In a word.
pub fn health(health: Health) -> &'static str {
    match health {
        Health::Up => "up",
        Health::Draining => "draining",
        Health::Suspect => "suspect",
        Health::Down => "down",
    }
}
