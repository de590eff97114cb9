//! `evenhand tenants`: whom fairness is between, and what each holds.

use crate::client::{Client, escaped};
use crate::failure::wrong;
use crate::ops_args::{Live, SetTenant, TenantAction, Tenants};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_live::api::{Quota, TenantChange, TenantList, TenantRow};

/// Lists them, or changes one.
pub fn run(args: &Tenants) -> Result<()> {
    match &args.action {
        None => list(&args.listing),
        Some(TenantAction::Set(set)) => change(set),
    }
}

fn list(live: &Live) -> Result<()> {
    let found: TenantList = Client::new(&live.server)?.get("/v1/tenants")?;
    if live.json {
        return output::say_json(&found);
    }
    if found.tenants.is_empty() {
        return output::say("no tenants yet: the first job of one makes it, or `evenhand tenants set NAME`");
    }
    output::say(&table(&found.tenants).render())
}

fn change(set: &SetTenant) -> Result<()> {
    if set.weight.is_some_and(|weight| !weight.is_finite()) {
        return Err(wrong("--weight", "a number is expected"));
    }
    let change = TenantChange {
        weight: set.weight,
        group: set.group.clone().map(Some).or(set.no_group.then_some(None)),
        limit: quota("--limit", set.limit.as_deref(), set.no_limit)?,
        guaranteed: quota("--guarantee", set.guarantee.as_deref(), set.no_guarantee)?,
    };
    let path = format!("/v1/tenants/{}", escaped(&set.name));
    let row: TenantRow = Client::new(&set.live.server)?.post(&path, &change, None)?;
    if set.live.json {
        return output::say_json(&row);
    }
    output::say(&table(&[row]).render())
}

/// GPUs by model as they are typed: `v100=4,p100=2`.
#[expect(clippy::option_option, reason = "left out, taken away and set are three things")]
fn quota(flag: &str, text: Option<&str>, none: bool) -> Result<Option<Option<Quota>>> {
    let Some(text) = text else { return Ok(none.then_some(None)) };
    let mut quota = Quota::new();
    for part in text.split(',') {
        let read = part.split_once('=').and_then(|(model, count)| Some((model, count.parse().ok()?)));
        let (model, count) = read.filter(|(model, _)| !model.is_empty()).ok_or_else(|| {
            wrong(flag, format!("`{part}` is not MODEL=COUNT with a whole number of GPUs, such as v100=4"))
        })?;
        if quota.insert(model.to_owned(), count).is_some() {
            return Err(wrong(flag, format!("{model} is given twice")));
        }
    }
    Ok(Some(Some(quota)))
}

/// A table with a row for each.
pub fn table(tenants: &[TenantRow]) -> Table {
    let left = ["tenant", "group"].map(|title| (title, Side::Left));
    let right = ["weight", "share", "holds", "running", "waiting", "ended", "GPU-hours"];
    let last = ["limit", "guarantee"].map(|title| (title, Side::Left));
    let right = right.map(|title| (title, Side::Right));
    let mut table = Table::new(left.into_iter().chain(right).chain(last));
    for row in tenants {
        table.row([
            row.name.clone(),
            row.group.clone().unwrap_or_default(),
            row.weight.to_string(),
            format!("{:.0} %", row.share * 100.0),
            told(&row.held, "0"),
            row.running.to_string(),
            row.waiting.to_string(),
            row.ended.to_string(),
            format!("{:.1}", row.gpu_hours),
            told(&row.limit, ""),
            told(&row.guaranteed, ""),
        ]);
    }
    table
}

/// As it is typed.
fn told(quota: &Quota, none: &str) -> String {
    let parts: Vec<String> = quota.iter().map(|(model, count)| format!("{model}={count}")).collect();
    if parts.is_empty() { none.to_owned() } else { parts.join(",") }
}
