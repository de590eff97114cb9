//! How long a prediction takes: from the bytes of a graph to what its job asks of a GPU, and from two demands to a slowdown.

use crate::bench_args::BenchPredict;
use crate::clock::thread_cpu_s;
use crate::failure::wrong;
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_core::{Demand, DemandSharing, SharingMode};
use evenhand_graph::{Binding, Costs, Gpu, Model, Optimiser, Precision};
use evenhand_predict::learned::{Learned, Told};
use evenhand_train::{architectures, graph};
use serde::Serialize;
use serde_json::json;
use std::hint::black_box;

/// Short things are done until they have taken this long, and divided.
const ENOUGH_S: f64 = 0.02;
const BATCH: i64 = 32;

/// One graph.
#[derive(Serialize)]
struct Line {
    architecture: String,
    operators: usize,
    /// Decompressed and decoded.
    read_ms: f64,
    /// Shapes inferred, operators costed.
    cost_ms: f64,
    /// Features made, trees walked.
    foretell_ms: f64,
}

/// One way of telling what becomes of two jobs on a GPU.
#[derive(Serialize)]
struct Pair {
    name: &'static str,
    microseconds: f64,
}

/// Measures and prints.
pub fn run(args: &BenchPredict) -> Result<()> {
    let place = args.profiles.display();
    let refused = |error: evenhand_train::DataError| wrong(&place, error.to_string());
    let (model, gpu) = (Learned::shipped(), Gpu::find("h200").expect("the shipped model is for it"));
    let (mut lines, mut demands) = (Vec::new(), Vec::new());
    for architecture in architectures(&args.profiles).map_err(refused)? {
        let read = graph(&args.profiles, &architecture).map_err(refused)?;
        let read_ms = 1e3 * each(|| graph(&args.profiles, &architecture).is_ok());
        let Ok(costs) = costed(&read) else { continue };
        let cost_ms = 1e3 * each(|| costed(&read).is_ok());
        let foretell = || model.foretell(&Told::of(&costs, gpu, Precision::Bf16, Optimiser::Adam));
        let foretell_ms = 1e3 * each(foretell);
        demands.push(foretell().demand);
        lines.push(Line { architecture, operators: costs.operators.len(), read_ms, cost_ms, foretell_ms });
    }
    let pairs = [
        ("trees, time-slicing", SharingMode::TimeSlicing, true),
        ("trees, MPS", SharingMode::Mps, true),
        ("rule, MPS (reference)", SharingMode::Mps, false),
    ];
    let pairs =
        pairs.map(|(name, mode, trees)| Pair { name, microseconds: pair_us(&model, &demands, mode, trees) });
    if args.json {
        return output::say_json(&json!({ "graphs": lines, "pairs": pairs }));
    }
    output::say(&format!("{}\n\n{}", graphs_table(&lines), pairs_table(&pairs)))
}

fn costed(model: &Model) -> Result<Costs, evenhand_graph::GraphError> {
    let bound = Binding { batch: Some(BATCH), ..Binding::default() };
    // A graph whose batch is baked in has its own.
    Costs::of(model, &bound, Precision::Bf16)
        .or_else(|_| Costs::of(model, &Binding::default(), Precision::Bf16))
}

/// CPU seconds of doing something once.
fn each<T>(mut work: impl FnMut() -> T) -> f64 {
    let (before, mut times) = (thread_cpu_s(), 0);
    while times == 0 || thread_cpu_s() - before < ENOUGH_S {
        black_box(work());
        times += 1;
    }
    (thread_cpu_s() - before) / f64::from(times)
}

/// CPU microseconds of one slowdown, over all pairs of demands.
fn pair_us(model: &Learned, demands: &[Demand], mode: SharingMode, trees: bool) -> f64 {
    let all = || {
        let mut sum = 0.0;
        for own in demands {
            for other in demands {
                sum += if trees {
                    model.among(own, &[other], mode).mean.get()
                } else {
                    DemandSharing::rule(own, &[other], mode)
                };
            }
        }
        sum
    };
    1e6 * each(all) / (demands.len() * demands.len()).max(1) as f64
}

fn graphs_table(lines: &[Line]) -> String {
    let titles = ["operators", "read ms", "cost ms", "foretell ms"];
    let columns = std::iter::once(("graph", Side::Left)).chain(titles.map(|title| (title, Side::Right)));
    let mut table = Table::new(columns);
    for line in lines {
        let ms = |value: f64| format!("{value:.3}");
        let Line { architecture, operators, read_ms, cost_ms, foretell_ms } = line;
        table.row([
            architecture.clone(),
            operators.to_string(),
            ms(*read_ms),
            ms(*cost_ms),
            ms(*foretell_ms),
        ]);
    }
    table.render()
}

fn pairs_table(pairs: &[Pair]) -> String {
    let mut table =
        Table::new([("slowdown of a job beside another", Side::Left), ("microseconds", Side::Right)]);
    for pair in pairs {
        table.row([pair.name.to_owned(), format!("{:.3}", pair.microseconds)]);
    }
    table.render()
}
