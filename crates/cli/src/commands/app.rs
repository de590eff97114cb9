//! `evenhand app`: jobs with one goal.

use crate::client::{Client, escaped};
use crate::job_args::{App, AppList, AppNamed};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_live::api;
use evenhand_live::store::AppRow;

/// Lists them, or ends one.
pub fn run(command: &App) -> Result<()> {
    match command {
        App::List(args) => list(args),
        App::Close(args) => close(args),
    }
}

fn list(args: &AppList) -> Result<()> {
    let query = if args.all { "?all=true" } else { "" };
    let found: api::AppList = Client::new(&args.server)?.get(&format!("/v1/apps{query}"))?;
    if args.json {
        return output::say_json(&found);
    }
    if found.apps.is_empty() {
        return output::say("no apps");
    }
    let left = ["app", "name", "tenant"].map(|title| (title, Side::Left));
    let right = ["active jobs", "jobs"].map(|title| (title, Side::Right));
    let mut table = Table::new(left.into_iter().chain(right).chain([("state", Side::Left)]));
    for app in &found.apps {
        table.row([
            app.id.0.to_string(),
            app.name.clone().unwrap_or_default(),
            app.tenant.clone(),
            app.active.to_string(),
            app.jobs.to_string(),
            if app.closed_ms.is_some() { "closed" } else { "open" }.to_owned(),
        ]);
    }
    output::say(&table.render())
}

fn close(args: &AppNamed) -> Result<()> {
    let path = format!("/v1/apps/{}/close", escaped(&args.app));
    let closed: AppRow = Client::new(&args.server)?.post(&path, &(), None)?;
    let name = closed.name.map_or_else(String::new, |name| format!(" ({name})"));
    output::say(&format!(
        "app {}{name} is closed, and {} of its jobs are being ended",
        closed.id.0, closed.active
    ))
}
