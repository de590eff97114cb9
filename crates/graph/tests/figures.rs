//! Figures of well-known models, by both exporters of PyTorch, against published or analytic counts.
//!
//! The graphs in `tests/graphs` were written by `experiments/horus/export.py`: random weights, taken out again.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use evenhand_graph::{
    Batch, Binding, Costs, Export, FEATURES, Features, GPUS, Model, Optimiser, Precision, step_time,
};
use std::fs::File;
use std::path::Path;

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/graphs/{name}.onnx"));
    Model::read(File::open(path).unwrap()).unwrap()
}

fn costs_in(name: &str, batch: i64, sequence: i64, precision: Precision) -> Costs {
    let binding = Binding { batch: Some(batch), sequence: Some(sequence), ..Binding::default() };
    let costs = Costs::of(&model(name), &binding, precision).unwrap();
    assert!(costs.unknown.is_empty(), "{name}: {:?}", costs.unknown);
    assert_eq!(costs.open_loops, 0);
    costs
}

fn costs(name: &str, batch: i64, sequence: i64) -> Costs {
    costs_in(name, batch, sequence, Precision::Fp32)
}

/// Whether a value is expected, up to a share of it.
fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= expected.abs() * tolerance
}

/// Holds both exports of a model to a count, and to each other.
fn hold(name: &str, batch: i64, sequence: i64, flop: f64, parameters: f64) {
    let [dynamo, script] = ["dynamo", "script"].map(|by| costs(&format!("{name}.{by}"), batch, sequence));
    for found in [&dynamo, &script] {
        assert!(
            near(found.forward_flop, flop, 0.02),
            "{name}: {:.4e} FLOP, not {flop:.4e}",
            found.forward_flop
        );
        assert!(near(found.parameters, parameters, 0.02), "{name}: {:.4e} parameters", found.parameters);
    }
    assert!(near(dynamo.forward_flop, script.forward_flop, 0.01), "{name}: exporters differ in FLOP");
    assert!(
        near(dynamo.backward_flop, script.backward_flop, 0.01),
        "{name}: exporters differ in backward FLOP"
    );
    assert!(near(dynamo.parameters, script.parameters, 0.01), "{name}: exporters differ in parameters");
}

#[test]
fn resnet_50_is_as_published() {
    hold("resnet50", 1, 1, 8.218e9, 25.557e6);
    // 37.56 M elements, of which 80.4 MiB are kept, counted layer by layer; and where each maximum was found.
    let found = costs("resnet50.script", 1, 1);
    assert!(near(found.activations, 37.56e6, 0.002), "{}", found.activations);
    let places = 64.0 * 56.0 * 56.0 * 8.0;
    assert!(near(found.saved_bytes - places, 80.4 * 1024.0 * 1024.0, 0.002), "{}", found.saved_bytes);
    assert_eq!(found.export, Export::Training);
}

#[test]
fn vit_b_16_is_as_published() {
    // torchvision: 17.56 G multiply-accumulates, 86.57 M parameters.
    hold("vit_b_16", 1, 1, 2.0 * 17.56e9, 86.57e6);
}

#[test]
fn bert_base_is_as_published() {
    // Without the pooler: 108.9 M; the 108.5 M that are often given leave out positions too.
    hold("bert_base", 1, 128, 22.4e9, 108.89e6);
    hold("bert_base", 32, 512, 3107e9, 108.89e6);
}

#[test]
fn gpt_2_is_as_counted_by_hand() {
    let (layers, width, length, vocabulary) = (12.0, 768.0, 512.0, 50_257.0);
    let linear = layers * 12.0 * width * width + vocabulary * width;
    // The library computes all scores, those of the future too.
    let attention = layers * 2.0 * length * width;
    hold("gpt2", 1, 512, 2.0 * length * (linear + attention), 124.44e6);
}

#[test]
fn an_lstm_language_model_is_as_counted_by_hand() {
    let (batch, steps, width, vocabulary) = (64.0, 35.0, 650.0, 10_000.0);
    let layer = 2.0 * (2.0 * width * 4.0 * width) + 6.0 * width;
    let parameters = 2.0 * (2.0 * width * 4.0 * width + 8.0 * width) + (2.0 * width + 1.0) * vocabulary;
    hold("lstm_lm", 64, 35, batch * steps * (2.0 * layer + 2.0 * width * vocabulary), parameters);
}

#[test]
fn the_backward_pass_is_twice_the_forward_pass_without_the_first_gradient() {
    for (name, sequence) in [("resnet50.script", 1), ("bert_base.script", 128), ("gpt2.dynamo", 512)] {
        let found = costs(name, 4, sequence);
        let ratio = found.backward_flop / found.forward_flop;
        assert!((1.95..2.0).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn costs_are_linear_in_the_batch() {
    for (name, sequence) in
        [("resnet50.dynamo", 1), ("vit_b_16.script", 1), ("bert_base.dynamo", 128), ("lstm_lm.script", 35)]
    {
        let [one, many] = [1, 48].map(|batch| costs(name, batch, sequence));
        assert!(near(many.forward_flop, 48.0 * one.forward_flop, 1e-3), "{name}");
        assert!(near(many.saved_bytes, 48.0 * one.saved_bytes, 1e-2), "{name}");
        assert!(near(many.parameters, one.parameters, 0.0), "{name}");
        assert!(near(many.forward_launches, one.forward_launches, 0.0), "{name}");
        assert!(many.forward_bytes < 48.0 * one.forward_bytes, "{name}: weights are read once");
    }
}

#[test]
fn attention_is_one_kernel_in_every_export_and_keeps_no_square() {
    for name in [
        "bert_base.dynamo",
        "bert_base.script",
        "gpt2.dynamo",
        "gpt2.script",
        "vit_b_16.dynamo",
        "vit_b_16.script",
    ] {
        let [short, long] = [128, 512].map(|sequence| costs(name, 1, sequence));
        assert_eq!(short.fused[0], 12, "{name}");
        if !name.starts_with("vit") {
            assert!(
                long.saved_bytes_in_pieces > 5.0 * short.saved_bytes_in_pieces,
                "{name}: in pieces it does"
            );
            // Four times the length keeps four times as much, not sixteen times.
            assert!(
                long.saved_bytes < 4.1 * short.saved_bytes,
                "{name}: {} {}",
                short.saved_bytes,
                long.saved_bytes
            );
        }
    }
    for (name, count) in
        [("bert_base.script", 12), ("gpt2.dynamo", 12), ("gpt2.script", 12), ("vit_b_16.script", 12)]
    {
        assert_eq!(costs(name, 1, 128).fused[1], count, "{name}: GELU");
    }
}

#[test]
fn both_exports_move_and_keep_about_the_same() {
    for (name, sequence) in [("vit_b_16", 1), ("bert_base", 128), ("gpt2", 512)] {
        let [a, b] = ["dynamo", "script"].map(|by| costs(&format!("{name}.{by}"), 8, sequence));
        assert!(near(a.saved_bytes, b.saved_bytes, 0.02), "{name}: {} {}", a.saved_bytes, b.saved_bytes);
        assert!(
            near(a.forward_bytes, b.forward_bytes, 0.02),
            "{name}: {} {}",
            a.forward_bytes,
            b.forward_bytes
        );
        assert!(near(a.forward_launches, b.forward_launches, 0.05), "{name}");
    }
}

#[test]
fn half_the_bytes_are_kept_in_half_the_precision() {
    let wide = costs("vit_b_16.script", 8, 1);
    let narrow = costs_in("vit_b_16.script", 8, 1, Precision::Bf16);
    assert!(near(narrow.saved_bytes, wide.saved_bytes / 2.0, 0.02));
    assert!(near(narrow.forward_flop, wide.forward_flop, 0.0));
}

#[test]
fn a_length_that_was_left_open_must_be_given() {
    let error = Costs::of(&model("gpt2.script"), &Binding::default(), Precision::Fp32).unwrap_err();
    assert!(error.to_string().contains("`sequence`"), "{error}");
    let binding = Binding { dims: [("sequence".to_owned(), 64)].into(), ..Binding::default() };
    let found = Costs::of(&model("gpt2.script"), &binding, Precision::Fp32).unwrap();
    assert_eq!(found.batch, Batch::Open(1));
}

#[test]
fn features_have_names_and_are_finite_on_every_gpu() {
    for name in ["resnet50.script", "gpt2.dynamo", "lstm_lm.dynamo"] {
        let found = costs_in(name, 16, 512, Precision::Bf16);
        for gpu in GPUS {
            let row = Features::of(&found, gpu, 16, Precision::Bf16);
            assert!(row.iter().all(|value| value.is_finite() && *value >= 0.0), "{name} on {}", gpu.name);
            let at = |name: &str| row[FEATURES.iter().position(|own| *own == name).unwrap()];
            let shares = at("compute_share") + at("memory_share") + at("launch_share");
            assert!((shares - 1.0).abs() < 1e-9);
        }
    }
    let names: std::collections::BTreeSet<_> = FEATURES.iter().collect();
    assert_eq!(names.len(), FEATURES.len());
}

#[test]
fn a_larger_gpu_is_not_slower() {
    let found = costs_in("resnet50.script", 64, 1, Precision::Bf16);
    let time = |name| step_time(&found, evenhand_graph::Gpu::find(name).unwrap(), Optimiser::Adam).total_s();
    assert!(time("h200") <= time("h100") && time("h100") < time("a100"));
    assert!(time("a100") < time("v100") && time("v100") < time("p100") && time("p100") < time("k80"));
}
