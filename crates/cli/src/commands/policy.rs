//! `evenhand policy use`: another policy decides for the service, or what it would change.

use crate::client::{Client, escaped};
use crate::failure::wrong;
use crate::live_args::Server;
use crate::ops_args::{Live, Policies, Policy, UsePolicy};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::{Choice, GpuSet, Parameters};
use evenhand_live::api::{Change, DryRun, PolicyList, PolicySettings};
use std::collections::BTreeMap;

/// Does what was asked for.
pub fn run(args: &Policy) -> Result<()> {
    let Policy::Use(args) = args;
    let settings = settings(args)?;
    if args.dry_run { rehearse(args, &settings) } else { switch(args, &settings) }
}

fn settings(args: &UsePolicy) -> Result<PolicySettings> {
    let mut parameters = BTreeMap::new();
    for (key, value) in &args.set {
        if parameters.insert(key.clone(), value.clone()).is_some() {
            return Err(wrong("--set", format!("{key} is given twice")));
        }
    }
    Ok(PolicySettings { parameters: Parameters(parameters) })
}

fn switch(args: &UsePolicy, settings: &PolicySettings) -> Result<()> {
    let path = format!("/v1/policies/{}/use", escaped(&args.name));
    let choice: Choice = Client::new(&args.live.server)?.post(&path, settings, None)?;
    if args.live.json {
        return output::say_json(&choice);
    }
    output::say(&format!("{} decides from now on", told(&choice)))
}

fn rehearse(args: &UsePolicy, settings: &PolicySettings) -> Result<()> {
    let path = format!("/v1/policies/{}/dry-run", escaped(&args.name));
    let found: DryRun = Client::new(&args.live.server)?.post(&path, settings, None)?;
    if args.live.json {
        return output::say_json(&found);
    }
    for trouble in &found.troubles {
        output::note(&format!("warning: {trouble}"));
    }
    let (starts, stops, moves) = (found.starts.len(), found.stops.len(), found.moves.len());
    output::say(&format!(
        "{} would start {starts}, stop {stops} and move {moves}, and leave {} alone; nothing is changed",
        told(&found.policy),
        found.kept
    ))?;
    if starts + stops + moves > 0 {
        output::say(&table(&found).render())?;
    }
    Ok(())
}

fn table(found: &DryRun) -> Table {
    let left = ["would", "job", "name", "tenant"].map(|title| (title, Side::Left));
    let last = [("GPUs", Side::Right), ("on nodes", Side::Left), ("why", Side::Left)];
    let mut table = Table::new(left.into_iter().chain(last));
    let kinds = [("start", &found.starts), ("stop", &found.stops), ("move", &found.moves)];
    for (kind, change) in kinds.iter().flat_map(|(kind, list)| list.iter().map(move |change| (kind, change)))
    {
        let Change { job, name, tenant, gpus, why } = change;
        let name = name.clone().unwrap_or_default();
        let count = gpus.count().0.to_string();
        table.row([
            (*kind).to_owned(),
            job.0.to_string(),
            name,
            tenant.clone(),
            count,
            nodes(gpus),
            why.clone(),
        ]);
    }
    table
}

fn nodes(gpus: &GpuSet) -> String {
    let nodes: Vec<String> = gpus.seats().iter().map(|seat| seat.node.0.to_string()).collect();
    nodes.join(" ")
}

/// A policy with what was set of it.
pub fn told(choice: &Choice) -> String {
    let set: Vec<String> =
        choice.parameters.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if set.is_empty() { choice.name.clone() } else { format!("{} ({})", choice.name, set.join(", ")) }
}

/// What the service could use, and what it uses now.
pub fn list(args: &Policies) -> Result<()> {
    let server = Server { server: args.server.clone(), token: args.token.clone(), ca: args.ca.clone() };
    let live = Live { server, json: args.json };
    let found: PolicyList = Client::new(&live.server)?.get("/v1/policies")?;
    if live.json {
        return output::say_json(&found);
    }
    let mut table = Table::new(["policy", "decides", "what it does"].map(|title| (title, Side::Left)));
    for row in &found.policies {
        let decides = if row.name == found.current.name { "now" } else { "" };
        table.row([row.name.as_str(), decides, row.summary.as_str()]);
    }
    output::say(&format!("{} decides\n\n{}", told(&found.current), table.render()))
}
