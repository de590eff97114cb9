//! `evenhand graph`: what a training step of an ONNX model costs.

use crate::failure::wrong;
use crate::graph_args::Graph;
use crate::numbers::{count, moment, percent, plain};
use crate::output;
use crate::table::{Side, Table};
use anyhow::Result;
use evenhand_graph::{
    Batch, Binding, Costs, Export, FEATURES, Features, GraphError, Model, OperatorCost, StepTime, step_time,
};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::path::Path;

/// Operators in the table.
const SHOWN: usize = 10;

/// The share of guessed operations from which on a warning is due.
const GUESSED_MAX: f64 = 0.1;

/// Reads a model, and what it costs as asked for.
pub fn costs_of(args: &Graph, path: &Path, batch: Option<i64>) -> Result<(Model, Costs)> {
    let place = path.display();
    let file = File::open(path).map_err(|error| wrong(&place, format!("it cannot be opened: {error}")))?;
    let model = Model::read(file).map_err(|error| wrong(&place, explained(&error)))?;
    let binding = Binding { batch, sequence: args.seq, dims: args.dim.iter().cloned().collect() };
    let costs =
        Costs::of(&model, &binding, args.precision).map_err(|error| wrong(&place, explained(&error)))?;
    Ok((model, costs))
}

/// Reads the model and prints what it costs.
pub fn run(args: &Graph) -> Result<()> {
    let (model, costs) = costs_of(args, &args.model, args.batch)?;
    let time = step_time(&costs, args.gpu, args.optimiser);
    if args.json {
        return output::say_json(&as_json(args, &model, &costs, &time));
    }
    tell_doubts(&costs);
    output::say(&as_text(args, &model, &costs, &time))
}

/// An error, and what to do about it where that is known.
fn explained(error: &GraphError) -> String {
    match error {
        GraphError::Unbound { symbol } => {
            format!("{error}\n  Give --seq N if it is a length, or --dim '{symbol}=N'.")
        }
        other => other.to_string(),
    }
}

/// Warns of what makes the figures less certain.
pub fn tell_doubts(costs: &Costs) {
    if costs.unknown_share() > GUESSED_MAX {
        let names: Vec<&str> = costs.unknown.iter().map(|unknown| unknown.name.as_str()).collect();
        output::note(&format!(
            "warning: {} of the operations are guessed, since these operators are not known: {}",
            percent(costs.unknown_share()),
            names.join(", ")
        ));
    }
    if costs.open_loops > 0 {
        output::note(&format!(
            "warning: {} loops run for a number of rounds that the model does not state; one round is counted",
            costs.open_loops
        ));
    }
}

fn as_text(args: &Graph, model: &Model, costs: &Costs, time: &StepTime) -> String {
    let mut lines = vec![heading(args, model, costs), String::new()];
    lines.push(summary(args, costs));
    lines.extend([String::new(), operators(costs), String::new()]);
    lines.push(bounds(args, time));
    lines.join("\n")
}

fn heading(args: &Graph, model: &Model, costs: &Costs) -> String {
    let producer = if model.producer.is_empty() { "somebody" } else { &model.producer };
    let export = match costs.export {
        Export::Training => "exported for training",
        Export::Plain => {
            "no dropout or batch statistics in it: if it was exported for inference, less is kept than in training"
        }
    };
    let batch = match costs.batch {
        Batch::Scaled { exported, asked } if exported != asked => {
            format!("batch {asked} (scaled: the export has {exported})")
        }
        batch => format!("batch {}", batch.size()),
    };
    let sequence = costs.sequence.map_or(String::new(), |length| format!(", sequence {length}"));
    format!(
        "{}: by {producer}, opset {}, {} operators; {export}\n{batch}{sequence}, {}",
        args.model.display(),
        model.opset,
        costs.operator_count,
        args.precision.name()
    )
}

fn summary(args: &Graph, costs: &Costs) -> String {
    let mut table = Table::new([("a step", Side::Left), ("forward", Side::Right), ("backward", Side::Right)]);
    table.row(["operations".to_owned(), flop(costs.forward_flop), flop(costs.backward_flop)]);
    table.row(["memory traffic".to_owned(), bytes(costs.forward_bytes), bytes(costs.backward_bytes)]);
    table.row(["kernels".to_owned(), count(costs.forward_launches), count(costs.backward_launches)]);
    let weights = costs.parameters * (8.0 + args.optimiser.state_bytes());
    let [attention, activation, norm, linear] = costs.fused;
    let unknown: Vec<String> =
        costs.unknown.iter().map(|unknown| format!("{} x {}", unknown.count, unknown.name)).collect();
    let unknown = if unknown.is_empty() {
        "none".to_owned()
    } else {
        format!("{} ({} of the operations)", unknown.join(", "), percent(costs.unknown_share()))
    };
    [
        table.render(),
        String::new(),
        format!("parameters         {}", count(costs.parameters)),
        format!("weights in memory  {} with gradients and optimiser", bytes(weights)),
        format!("activations        {} elements", count(costs.activations)),
        format!(
            "kept for backward  {} ({} if every operator ran by itself)",
            bytes(costs.saved_bytes),
            bytes(costs.saved_bytes_in_pieces)
        ),
        format!("depth              {} operators", costs.depth),
        format!(
            "run as one kernel  {attention} attentions, {activation} activations, {norm} normalisations, {linear} linear layers"
        ),
        format!("unknown operators  {unknown}"),
    ]
    .join("\n")
}

fn operators(costs: &Costs) -> String {
    let titles =
        [("operator", Side::Left), ("count", Side::Right), ("forward", Side::Right), ("share", Side::Right)];
    let mut table = Table::new(titles);
    for operator in by_flop(costs).into_iter().take(SHOWN) {
        table.row([
            operator.name.clone(),
            count(operator.count as f64),
            flop(operator.forward_flop),
            percent(operator.forward_flop / costs.forward_flop.max(1.0)),
        ]);
    }
    table.render()
}

fn by_flop(costs: &Costs) -> Vec<&OperatorCost> {
    let mut sorted: Vec<_> = costs.operators.iter().collect();
    sorted.sort_by(|a, b| b.forward_flop.total_cmp(&a.forward_flop).then_with(|| a.name.cmp(&b.name)));
    sorted
}

fn bounds(args: &Graph, time: &StepTime) -> String {
    let parts =
        [("arithmetic", time.compute_s), ("memory", time.memory_s), ("starting kernels", time.launch_s)];
    let parts = parts.map(|(name, part_s)| format!("{} {name}", percent(time.share(part_s))));
    format!(
        "At least {} a step on one {}: forward {}, backward {}, optimiser {}.\nBound by: {}.",
        moment(time.total_s()),
        args.gpu.name,
        moment(time.forward_s),
        moment(time.backward_s),
        moment(time.optimiser_s),
        parts.join(", ")
    )
}

fn flop(value: f64) -> String {
    scaled(value, &[(1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP")], "FLOP")
}

fn bytes(value: f64) -> String {
    scaled(value, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")], "B")
}

fn scaled(value: f64, units: &[(f64, &str)], smallest: &str) -> String {
    let (size, unit) = units.iter().find(|(size, _)| value >= *size).copied().unwrap_or((1.0, smallest));
    format!("{} {unit}", plain(value / size))
}

fn as_json(args: &Graph, model: &Model, costs: &Costs, time: &StepTime) -> Value {
    let operators = by_flop(costs).into_iter().map(|operator| {
        json!({
            "name": operator.name,
            "count": operator.count,
            "forward_flop": operator.forward_flop,
            "backward_flop": operator.backward_flop,
            "bytes": operator.bytes,
        })
    });
    let unknown = costs.unknown.iter().map(|unknown| {
        json!({ "name": unknown.name, "count": unknown.count, "forward_flop": unknown.forward_flop })
    });
    let exported = match costs.batch {
        Batch::Scaled { exported, .. } => Some(exported),
        Batch::Open(_) => None,
    };
    let row = Features::of(costs, args.gpu, costs.batch.size(), args.precision);
    let features: Map<String, Value> =
        FEATURES.iter().zip(row).map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({
        "model": args.model.display().to_string(),
        "producer": model.producer,
        "opset": model.opset,
        "exported_for_training": costs.export == Export::Training,
        "batch": costs.batch.size(),
        "exported_batch": exported,
        "sequence": costs.sequence,
        "precision": args.precision.name(),
        "forward_flop": costs.forward_flop,
        "backward_flop": costs.backward_flop,
        "parameters": costs.parameters,
        "activations": costs.activations,
        "saved_bytes": costs.saved_bytes,
        "saved_bytes_in_pieces": costs.saved_bytes_in_pieces,
        "forward_bytes": costs.forward_bytes,
        "backward_bytes": costs.backward_bytes,
        "bytes_in_pieces": costs.bytes_in_pieces,
        "forward_kernels": costs.forward_launches,
        "backward_kernels": costs.backward_launches,
        "depth": costs.depth,
        "fused": {
            "attention": costs.fused[0],
            "activation": costs.fused[1],
            "norm": costs.fused[2],
            "linear": costs.fused[3],
        },
        "open_loops": costs.open_loops,
        "unknown_share": costs.unknown_share(),
        "unknown": unknown.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
        "gpu": args.gpu.name,
        "step": {
            "total_s": time.total_s(),
            "forward_s": time.forward_s,
            "backward_s": time.backward_s,
            "optimiser_s": time.optimiser_s,
            "compute_share": time.share(time.compute_s),
            "memory_share": time.share(time.memory_s),
            "launch_share": time.share(time.launch_s),
        },
        "features": features,
    })
}
