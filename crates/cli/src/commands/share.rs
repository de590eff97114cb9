//! `evenhand share`: divides a cluster once, without jobs.

use crate::args::Share;
use crate::clock::thread_cpu_s;
use crate::division_files::NamedMarket;
use crate::failure::wrong;
use crate::{inputs, numbers, output};
use anyhow::Result;
use evenhand_policies::{Entry, POLICIES, find};
use evenhand_solve::Division;
use serde_json::json;

/// The gap up to which a division counts as the best there is.
const OPTIMAL: f64 = 1e-6;

/// Divides and says what everybody gets.
pub fn run(args: &Share) -> Result<()> {
    let choice = inputs::only(&args.policy, &args.set)?;
    let entry = find(POLICIES, "policy", &choice.name).map_err(|error| wrong("--policy", error))?;
    entry.make(&choice.parameters).map_err(|error| wrong("--set", error))?;
    let Some(divide) = entry.divide else { return Err(wrong("--policy", refusal(entry))) };
    let named = args.market.market()?;
    let before = thread_cpu_s();
    let division = divide(&named.market, &choice.parameters)?;
    let cpu_ms = (thread_cpu_s() - before) * 1e3;
    if args.json {
        return output::say_json(&as_json(entry, &named, &division, cpu_ms));
    }
    output::say(&as_text(entry, &named, &division))
}

fn refusal(entry: &Entry) -> String {
    let dividing = POLICIES.iter().filter(|entry| entry.divide.is_some()).map(|entry| entry.name);
    let names: Vec<_> = dividing.collect();
    format!(
        "policy `{}` ranks jobs and divides nothing by itself; those that do: {}",
        entry.name,
        names.join(", ")
    )
}

fn as_json(entry: &Entry, named: &NamedMarket, division: &Division, cpu_ms: f64) -> serde_json::Value {
    let throughput = division.throughputs(&named.market);
    let rows: Vec<&[f64]> = division.shares.rows().collect();
    let status = if division.gap() <= OPTIMAL { "optimal" } else { "feasible" };
    json!({
        "policy": entry.name,
        "models": named.models,
        "tenants": named.tenants,
        "shares": rows,
        "throughput": throughput,
        "total": throughput.iter().sum::<f64>(),
        "prices": division.prices,
        "quality": { "status": status, "gap": Some(division.gap()).filter(|gap| gap.is_finite()) },
        "value": division.value,
        "bound": Some(division.bound).filter(|bound| bound.is_finite()),
        "cpu_ms": cpu_ms,
    })
}

fn as_text(entry: &Entry, named: &NamedMarket, division: &Division) -> String {
    let mut table = named.table(&division.shares);
    if !division.prices.is_empty() {
        let prices = division.prices.iter().map(|price| numbers::plain(*price));
        let empty = [String::new(), String::new(), String::new()];
        table.row(std::iter::once("price of a GPU".to_owned()).chain(prices).chain(empty));
    }
    let total: f64 = division.throughputs(&named.market).iter().sum();
    let quality = match division.gap() {
        gap if gap <= OPTIMAL => "optimal, and proven so".to_owned(),
        gap if gap.is_infinite() => "by a rule that optimises nothing".to_owned(),
        gap => format!("the best division is at most {} better", numbers::percent(gap)),
    };
    let promises: Vec<_> = entry.promises.iter().map(|promise| promise.name()).collect();
    format!(
        "{}\n\ntotal throughput {}; {quality}\n{}: {}\npromised: {}",
        table.render(),
        numbers::plain(total),
        entry.name,
        entry.summary,
        promises.join(", ")
    )
}
