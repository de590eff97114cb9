//! What each way of dividing makes of a cluster in total, against OEF cooperative.

use crate::bench_args::BenchShare;
use crate::numbers::percent;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::{Parameters, Random};
use evenhand_fairness::division::PROPERTIES;
use evenhand_policies::{Divide, Entry, POLICIES};
use evenhand_solve::instances::{FAMILIES, market};
use evenhand_solve::{Division, Market};
use serde::Serialize;

/// What everything is measured against.
const YARDSTICK: &str = "oef-cooperative";

/// One policy over many markets.
#[derive(Serialize)]
pub struct Totals {
    policy: &'static str,
    /// Its total throughput over that of the yardstick: the mean, the least and the most.
    mean: f64,
    least: f64,
    most: f64,
    /// The part of the markets in which its total is the larger one.
    larger: f64,
    /// The part of the markets in which each property of a fair division holds, in the order of their register.
    holds: Vec<(&'static str, f64)>,
}

/// Divides clusters of 8 GPUs of each of three models among two to eight tenants.
pub fn measure(args: &BenchShare) -> Result<Vec<Totals>> {
    let mut random = Random::stream(args.seed, "bench share, totals");
    let markets: Vec<Market> = (0..args.markets)
        .map(|at| {
            let tenants = 2 + random.below(7) as usize;
            let rows = market(FAMILIES[at % FAMILIES.len()], tenants, 3, &mut random);
            Market { capacity: vec![8.0; 3], ..rows }
        })
        .collect();
    let dividing: Vec<(&Entry, Divide)> =
        POLICIES.iter().filter_map(|entry| Some((entry, entry.divide?))).collect();
    let Some((_, yardstick)) = dividing.iter().find(|(entry, _)| entry.name == YARDSTICK) else {
        return Ok(Vec::new());
    };
    let yards: Vec<f64> =
        markets.iter().map(|market| Ok(total(market, &solve(*yardstick, market)?))).collect::<Result<_>>()?;
    dividing.iter().map(|(entry, divide)| one(entry, *divide, &markets, &yards)).collect()
}

fn one(entry: &Entry, divide: Divide, markets: &[Market], yards: &[f64]) -> Result<Totals> {
    let mut ratios = Vec::with_capacity(markets.len());
    let mut held = vec![0_usize; PROPERTIES.len()];
    for (market, yard) in markets.iter().zip(yards) {
        let division = solve(divide, market)?;
        ratios.push(total(market, &division) / yard);
        for (held, property) in held.iter_mut().zip(PROPERTIES) {
            *held += usize::from((property.check)(market, &division.shares)?.holds);
        }
    }
    let count = markets.len().max(1) as f64;
    let larger = ratios.iter().filter(|ratio| **ratio > 1.0 + 1e-6).count();
    let holds = PROPERTIES.iter().zip(held).map(|(property, held)| (property.name, held as f64 / count));
    Ok(Totals {
        policy: entry.name,
        mean: ratios.iter().sum::<f64>() / count,
        least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        most: ratios.iter().copied().fold(0.0, f64::max),
        larger: larger as f64 / count,
        holds: holds.collect(),
    })
}

fn solve(divide: Divide, market: &Market) -> Result<Division> {
    Ok(divide(market, &Parameters::default())?)
}

fn total(market: &Market, division: &Division) -> f64 {
    division.throughputs(market).iter().sum()
}

/// For people.
pub fn table(totals: &[Totals]) -> String {
    let numbers = ["mean", "least", "most", "larger in"].map(|title| (title.to_owned(), Side::Right));
    let properties = PROPERTIES.iter().map(|property| (format!("{}\nholds in", property.title), Side::Right));
    let name = [("total throughput against\noef-cooperative".to_owned(), Side::Left)];
    let mut table = Table::new(name.into_iter().chain(numbers).chain(properties));
    for row in totals {
        let numbers = [row.mean, row.least, row.most, row.larger].map(percent);
        let holds = row.holds.iter().map(|(_, part)| percent(*part));
        table.row(std::iter::once(row.policy.to_owned()).chain(numbers).chain(holds));
    }
    table.render()
}
