//! `evenhand predict`: what a model will ask of a GPU, and how it gets on with others there.

use super::graph::{costs_of, tell_doubts};
use crate::failure::wrong;
use crate::numbers::{percent, plain};
use crate::output;
use crate::predict_args::Predict;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::{Bytes, Demand, Estimate, GpuModel, Interference, Ratio, SharingMode};
use evenhand_predict::learned::{Foretold, Learned, Told};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Features that are named as what drove a prediction.
const NAMED: usize = 5;

const MODES: [(&str, SharingMode); 2] =
    [("time-slicing", SharingMode::TimeSlicing), ("mps", SharingMode::Mps)];

/// Slowdowns of the job and of each other, in one mode.
type Slowdowns = (&'static str, Vec<Estimate<Ratio>>);

/// Predicts and prints.
pub fn run(args: &Predict) -> Result<()> {
    let learned = model(args)?;
    let told = told(args, &args.graph.model, args.graph.batch)?;
    let own = learned.foretell(&told);
    let mut all = vec![own.demand];
    for (path, batch) in &args.others {
        all.push(learned.foretell(&self::told(args, path, Some(*batch))?).demand);
    }
    let slowdowns: Vec<Slowdowns> =
        MODES.iter().map(|(name, mode)| (*name, together(&learned, &all, *mode))).collect();
    if args.graph.json {
        return output::say_json(&as_json(args, &own, &slowdowns));
    }
    if learned.gpu != args.graph.gpu.name {
        let (known, asked) = (&learned.gpu, args.graph.gpu.name);
        output::note(&format!("warning: trained on {known} alone; for {asked} only the physics is its own"));
    }
    output::say(&as_text(args, &learned, &told, &own, &slowdowns))
}

fn model(args: &Predict) -> Result<Learned> {
    let Some(path) = &args.trained else { return Ok(Learned::shipped()) };
    let place = path.display();
    let text =
        fs::read_to_string(path).map_err(|error| wrong(&place, format!("it cannot be read: {error}")))?;
    Learned::read(&text).map_err(|error| wrong(&place, error.to_string()))
}

fn told(args: &Predict, path: &Path, batch: Option<i64>) -> Result<Told> {
    let (_, costs) = costs_of(&args.graph, path, batch)?;
    if !args.graph.json {
        tell_doubts(&costs);
    }
    Ok(Told::of(&costs, args.graph.gpu, args.graph.precision, args.graph.optimiser))
}

/// The slowdown of each job beside all the others.
fn together(learned: &Learned, all: &[Demand], mode: SharingMode) -> Vec<Estimate<Ratio>> {
    let gpu = GpuModel { name: learned.gpu.clone() };
    let beside =
        |own: usize| all.iter().enumerate().filter(move |(at, _)| *at != own).map(|(_, demand)| demand);
    (0..all.len())
        .map(|own| learned.slowdown(&all[own], &beside(own).collect::<Vec<_>>(), &gpu, mode))
        .collect()
}

fn mb(bytes: Bytes) -> f64 {
    bytes.0 as f64 / f64::from(1 << 20)
}

fn as_json(args: &Predict, own: &Foretold, slowdowns: &[Slowdowns]) -> serde_json::Value {
    let demand = &own.demand;
    let mut told = json!({
        "gpu": args.graph.gpu.name,
        "batch": args.graph.batch,
        "utilisation": 100.0 * demand.duty,
        "sm": 100.0 * demand.sm,
        "tensor": 100.0 * demand.tensor,
        "bandwidth": 100.0 * demand.bandwidth,
        "memory_mb": { "mean": mb(demand.memory.mean), "upper95": mb(demand.memory.high) },
        "step_ms": own.step_ms,
    });
    if !args.others.is_empty() {
        let mean =
            |all: &Vec<Estimate<Ratio>>| json!(all.iter().map(|slow| slow.mean.get()).collect::<Vec<_>>());
        told["slowdown"] = slowdowns.iter().map(|(name, all)| ((*name).to_owned(), mean(all))).collect();
    }
    told
}

fn as_text(
    args: &Predict,
    learned: &Learned,
    told: &Told,
    own: &Foretold,
    slowdowns: &[Slowdowns],
) -> String {
    let demand = &own.demand;
    let mut lines =
        vec![format!("{} on one {}", args.graph.model.display(), args.graph.gpu.name), String::new()];
    let mut table = Table::new([("asks for", Side::Left), ("foretold", Side::Left)]);
    table.row(["utilisation".to_owned(), format!("{} (as the driver tells it)", percent(demand.duty))]);
    table.row(["multiprocessors".to_owned(), percent(demand.sm)]);
    table.row(["tensor cores".to_owned(), percent(demand.tensor)]);
    table.row(["memory bandwidth".to_owned(), percent(demand.bandwidth)]);
    let memory = format!(
        "{} MB, at most {} MB in 95 of 100",
        plain(mb(demand.memory.mean)),
        plain(mb(demand.memory.high))
    );
    table.row(["memory".to_owned(), memory]);
    table.row([
        "a step".to_owned(),
        format!("{} ms (physics alone: {} ms)", plain(own.step_ms), plain(told.step_ms)),
    ]);
    lines.push(table.render());
    lines.push(format!("\nphysics alone would say {} of the GPU; what moved it most:", percent(told.duty)));
    for (name, moved) in
        learned.drivers(told).into_iter().take(NAMED).filter(|(_, moved)| moved.abs() >= 0.05)
    {
        lines.push(format!("  {name:26} {moved:+.1} points against the usual"));
    }
    if !args.others.is_empty() {
        lines.push(String::new());
        lines.push(beside(args, slowdowns));
    }
    lines.join("\n")
}

fn beside(args: &Predict, slowdowns: &[Slowdowns]) -> String {
    let mut table =
        Table::new([("slowdown", Side::Left), ("by turns", Side::Right), ("under MPS", Side::Right)]);
    let names = std::iter::once(&args.graph.model).chain(args.others.iter().map(|(path, _)| path));
    for (at, name) in names.enumerate() {
        let cell =
            |all: &[Estimate<Ratio>]| format!("{:.2} (90 %: {:.2})", all[at].mean.get(), all[at].high.get());
        let mut row = vec![name.display().to_string()];
        row.extend(slowdowns.iter().map(|(_, all)| cell(all)));
        table.row(row);
    }
    table.render()
}
