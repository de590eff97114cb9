//! Models that are well-formed and make no sense: real graphs with operators, names, attributes and constants exchanged.
//! Mutated bytes rarely get past the wire format; these reach every operator.
//!
//! EVENHAND_FUZZ_SECONDS and EVENHAND_FUZZ_SEED as in `tests/graph_files.rs` of the whole.

use crate::binding::Binding;
use crate::costs::Costs;
use crate::ops::OPS;
use crate::precision::Precision;
use crate::proto::{ModelProto, NodeProto};
use crate::sketch::{int, ints, list, read, text, weight};
use evenhand_core::Random;
use prost::Message;
use std::path::Path;

const ITERATIONS: u64 = 300;
const SAMPLES: [&str; 4] = ["lstm_lm.script", "lstm_lm.dynamo", "resnet50.script", "vit_b_16.dynamo"];
const NUMBERS: [i64; 14] =
    [0, 1, -1, 2, 3, -2, 7, 64, 1 << 20, 1 << 47, 1 << 62, i64::MAX, i64::MIN, i64::MIN + 1];
const ATTRIBUTES: [&str; 24] = [
    "axis",
    "axes",
    "perm",
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "group",
    "keepdims",
    "split",
    "hidden_size",
    "layout",
    "blocksize",
    "start",
    "end",
    "k",
    "batch_dims",
    "num_heads",
    "q_num_heads",
    "kv_num_heads",
    "to",
    "output_shape",
    "ceil_mode",
    "allowzero",
];

fn below(dice: &mut Random, bound: usize) -> usize {
    dice.below(bound.max(1) as u64) as usize
}

fn number(dice: &mut Random) -> i64 {
    NUMBERS[below(dice, NUMBERS.len())]
}

fn numbers(dice: &mut Random) -> Vec<i64> {
    (0..below(dice, 6)).map(|_| number(dice)).collect()
}

fn operator(dice: &mut Random) -> &'static str {
    let family = OPS[below(dice, OPS.len())];
    family[below(dice, family.len())].name
}

/// Changes one operator.
fn change_node(node: &mut NodeProto, names: &[String], dice: &mut Random) {
    match below(dice, 6) {
        0 | 1 => operator(dice).clone_into(&mut node.op_type),
        2 if !node.input.is_empty() => {
            let at = below(dice, node.input.len());
            names[below(dice, names.len())].clone_into(&mut node.input[at]);
        }
        3 => node.input.push(names[below(dice, names.len())].clone()),
        4 => {
            let name = ATTRIBUTES[below(dice, ATTRIBUTES.len())];
            node.attribute.retain(|own| own.name != name);
            let added =
                if below(dice, 2) == 0 { int(name, number(dice)) } else { ints(name, &numbers(dice)) };
            node.attribute.push(added);
        }
        _ => {
            let equation = ["ab,bc->ac", "...a,...b->...", "a->", "aa->a", "->", ",", "ab,bc", "a...->...a"];
            node.attribute.push(text("equation", equation[below(dice, equation.len())]));
        }
    }
}

/// Changes a model.
fn change(model: &mut ModelProto, dice: &mut Random) {
    let Some(graph) = &mut model.graph else { return };
    let at = below(dice, graph.node.len());
    let earlier = graph.node[..at].iter().flat_map(|node| node.output.iter().cloned());
    let names: Vec<String> =
        earlier.chain(graph.initializer.iter().map(|own| own.name.clone())).chain([String::new()]).collect();
    match below(dice, 8) {
        0 => {
            let place = below(dice, graph.initializer.len());
            let name = graph.initializer[place].name.clone();
            graph.initializer[place] = list(&name, &numbers(dice));
        }
        1 => {
            let place = below(dice, graph.initializer.len());
            let name = graph.initializer[place].name.clone();
            let dims: Vec<i64> = (0..below(dice, 6)).map(|_| NUMBERS[below(dice, 9)]).collect();
            graph.initializer[place] = weight(&name, &dims);
        }
        2 => drop(graph.node.remove(at)),
        _ => change_node(&mut graph.node[at], &names, dice),
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Whether there is time for another iteration.
#[expect(clippy::disallowed_methods, reason = "a long run is measured by the clock on the wall")]
fn clock() -> impl Fn(u64) -> bool {
    let seconds = number_from("EVENHAND_FUZZ_SECONDS");
    let start = std::time::Instant::now();
    move |iteration| seconds.map_or(iteration < ITERATIONS, |seconds| start.elapsed().as_secs() < seconds)
}

#[test]
#[expect(clippy::print_stderr, reason = "figures of a long run")]
fn fuzz_changed_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let samples = SAMPLES.map(|name| {
        let bytes = std::fs::read(folder.join(format!("{name}.onnx"))).unwrap();
        ModelProto::decode(bytes.as_slice()).unwrap()
    });
    let seed = number_from("EVENHAND_FUZZ_SEED").unwrap_or(1);
    let (more, mut iteration, mut costed) = (clock(), 0, 0);
    while more(iteration) {
        let mut dice = Random::stream(seed ^ iteration.wrapping_mul(0x2545_f491_4f6c_dd1d), "models");
        let mut model = samples[below(&mut dice, samples.len())].clone();
        for _ in 0..=below(&mut dice, 12) {
            change(&mut model, &mut dice);
        }
        let work = std::panic::catch_unwind(|| {
            let binding = Binding { batch: Some(2), sequence: Some(8), ..Binding::default() };
            let costs = Costs::of(&read(&model).ok()?, &binding, Precision::Fp32).ok()?;
            let all = [
                costs.forward_flop,
                costs.backward_flop,
                costs.saved_bytes,
                costs.forward_bytes,
                costs.backward_bytes,
            ];
            assert!(all.iter().all(|value| value.is_finite() && *value >= 0.0), "{all:?}");
            Some(())
        });
        let found = work.unwrap_or_else(|_| panic!("seed {seed}, iteration {iteration}"));
        costed += u64::from(found.is_some());
        iteration += 1;
    }
    if number_from("EVENHAND_FUZZ_SECONDS").is_some() {
        eprintln!("models: {iteration} iterations, {costed} costed");
    }
}
