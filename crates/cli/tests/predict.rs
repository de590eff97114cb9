//! `predict` and `train` as users call them.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[expect(dead_code, reason = "predicting reads no scenario")]
mod program;

use program::Folder;
use serde_json::Value;
use std::path::Path;

fn graph(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graph/tests/graphs");
    folder.join(name).to_str().unwrap().to_owned()
}

/// What a command that is refused says.
fn refused(folder: &Folder, line: &str) -> String {
    let outcome = folder.run(line.split_whitespace());
    assert_ne!(outcome.code, 0, "{line}");
    outcome.stderr
}

#[test]
fn a_job_and_another_are_foretold() {
    let folder = Folder::new("predict");
    let (own, other) = (graph("resnet50.script.onnx"), graph("bert_base.script.onnx"));
    let flags = format!("predict {own} --batch 64 --seq 128 --with {other}:16");
    let told: Value = serde_json::from_str(&folder.done(&format!("{flags} --json")).stdout).unwrap();
    let (mean, upper) =
        (told["memory_mb"]["mean"].as_f64().unwrap(), told["memory_mb"]["upper95"].as_f64().unwrap());
    // Measured: 3,562 MB, 28.5 ms, 100 %; 1.60 by turns.
    assert!((2_500.0..5_000.0).contains(&mean) && upper > mean, "{mean} to {upper}");
    assert!((15.0..60.0).contains(&told["step_ms"].as_f64().unwrap()), "{told}");
    assert!(told["utilisation"].as_f64().unwrap() > 70.0, "{told}");
    for mode in ["time-slicing", "mps"] {
        let slow: Vec<f64> =
            told["slowdown"][mode].as_array().unwrap().iter().map(|slow| slow.as_f64().unwrap()).collect();
        assert!(slow.len() == 2 && slow.iter().all(|slow| (1.0..3.0).contains(slow)), "{mode}: {slow:?}");
    }
    let text = folder.done(&flags).stdout;
    assert!(text.contains("under MPS") && text.contains("what moved it most"), "{text}");
}

#[test]
fn what_is_not_a_model_is_refused() {
    let folder = Folder::new("predict_wrong");
    let own = graph("resnet50.script.onnx");
    let failed = refused(&folder, &format!("predict {own} --with {own}"));
    assert!(failed.contains("MODEL.onnx:BATCH"), "{failed}");
    folder.write("m.json", "{}");
    let failed = refused(&folder, &format!("predict {own} --trained m.json"));
    assert!(failed.contains("not a model file"), "{failed}");
    let failed = refused(&folder, "train nowhere");
    assert!(failed.contains("solo.csv"), "{failed}");
}
