//! How fast whole GPUs are auctioned, payments and all: against as many separate problems as there are, in the same run.

use super::bids::{Gangs, bids};
use crate::bench_args::BenchAuction;
use crate::clock::thread_cpu_s;
use crate::numbers::percent;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::Random;
use evenhand_solve::{Auction, AuctionEffort, auction, auction_separately};
use serde::Serialize;
use serde_json::json;
use std::hint::black_box;

/// Short things are done until they have taken this long, and divided.
const ENOUGH_S: f64 = 0.2;

/// GPUs, apps that bid, and whether separate problems can be waited for.
const SIZES: [(u32, usize, bool); 2] = [(256, 100, true), (5_000, 500, false)];

const KINDS: [(&str, Gangs); 3] = [
    ("gangs that may be split", Gangs::Split),
    ("gangs of one size per app", Gangs::OneSize),
    ("gangs of any size", Gangs::Mixed),
];

/// One auction.
#[derive(Serialize)]
struct Line {
    bids: &'static str,
    gpus: u32,
    bidders: usize,
    capacities: usize,
    /// Whether no choice is better.
    exact: bool,
    cpu_ms: f64,
    /// On the geometric mean of the valuations.
    gap: f64,
    winners: usize,
    /// Of what the winners keep.
    kept_mean: f64,
    kept_least: f64,
    /// How much lower what a winner keeps might be if every problem without a bidder were solved to its bound, on average.
    kept_unsure: f64,
    separate_ms: Option<f64>,
    ratio: Option<f64>,
}

/// Measures and prints.
pub fn run(args: &BenchAuction) -> Result<()> {
    let mut lines = Vec::new();
    for (gpus, apps, wait) in SIZES {
        output::note(&format!("auctioning {gpus} GPUs among {apps} bidders ..."));
        for (name, gangs) in KINDS {
            let held = bids(gpus, apps, gangs, &mut Random::stream(args.seed, "bench auction"));
            lines.push(measure(name, gpus, &held, wait)?);
        }
    }
    if args.json {
        return output::say_json(&json!({ "seed": args.seed, "auctions": lines }));
    }
    output::say(&table(&lines))
}

fn measure(bids: &'static str, gpus: u32, held: &Auction, wait: bool) -> Result<Line> {
    let effort = AuctionEffort::default();
    let outcome = auction(held, &effort)?;
    let cpu_ms = cpu_ms(|| Ok(auction(black_box(held), &effort).map(drop)?))?;
    let separate = || {
        let before = thread_cpu_s();
        black_box(auction_separately(black_box(held), &effort)?);
        Ok::<f64, anyhow::Error>((thread_cpu_s() - before) * 1e3)
    };
    let separate_ms = wait.then(separate).transpose()?;
    let winners: Vec<usize> = (0..held.bidders.len()).filter(|bidder| outcome.chosen[*bidder] > 0).collect();
    let mean =
        |values: &[f64]| winners.iter().map(|at| values[*at]).sum::<f64>() / winners.len().max(1) as f64;
    Ok(Line {
        bids,
        gpus,
        bidders: held.bidders.len(),
        capacities: held.capacity.len(),
        exact: outcome.is_exact(),
        cpu_ms,
        gap: outcome.gap(),
        winners: winners.len(),
        kept_mean: mean(&outcome.kept),
        kept_least: winners.iter().map(|at| outcome.kept[*at]).fold(1.0, f64::min),
        kept_unsure: mean(&outcome.kept) - mean(&outcome.kept_least),
        separate_ms,
        ratio: separate_ms.map(|separate| separate / cpu_ms),
    })
}

fn cpu_ms(once: impl Fn() -> Result<()>) -> Result<f64> {
    let (before, mut times) = (thread_cpu_s(), 0);
    while times == 0 || thread_cpu_s() - before < ENOUGH_S {
        once()?;
        times += 1;
    }
    Ok((thread_cpu_s() - before) / f64::from(times) * 1e3)
}

/// For people.
fn table(lines: &[Line]) -> String {
    let titles = [
        "GPUs",
        "bidders",
        "capacities",
        "choice",
        "CPU ms",
        "gap",
        "winners",
        "kept\nmean",
        "\nleast",
        "\nunsure",
        "separately,\nCPU ms",
        "times\nfaster",
    ];
    let numbers = titles.map(|title| (title, Side::Right));
    let mut table = Table::new([("bids", Side::Left)].into_iter().chain(numbers));
    for line in lines {
        let optional =
            |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
        table.row([
            line.bids.to_owned(),
            line.gpus.to_string(),
            line.bidders.to_string(),
            line.capacities.to_string(),
            if line.exact { "exact" } else { "bounded" }.to_owned(),
            format!("{:.1}", line.cpu_ms),
            if line.exact { "0".to_owned() } else { format!("{:.0e}", line.gap) },
            line.winners.to_string(),
            percent(line.kept_mean),
            percent(line.kept_least),
            percent(line.kept_unsure),
            optional(line.separate_ms),
            optional(line.ratio),
        ]);
    }
    format!(
        "Whole GPUs on nodes that have 1 to 8 free, auctioned with all payments; 64 rows per bidder at most. The gap is on the geometric mean\n\
         of the valuations; kept is the part of what they win that winners keep, and how much less it might be if the\n\
         problems without a winner were solved to their bounds. Separately: each of those problems from the beginning.\n\n{}",
        table.render()
    )
}
