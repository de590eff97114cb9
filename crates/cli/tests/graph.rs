//! `evenhand graph`: figures, and input that is refused.

#[expect(dead_code, reason = "costing reads no scenario and writes no file")]
mod program;

use program::Folder;
use serde_json::Value;
use std::path::Path;

fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graph/tests/graphs");
    folder.join(name).display().to_string()
}

fn figures(name: &str, flags: &str) -> Value {
    let line = format!("graph {} {flags} --json", sample(name));
    let outcome = Folder::new(&format!("graph_{name}_{}", flags.len())).run(line.split_whitespace());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}", outcome.stdout);
    serde_json::from_str(&outcome.stdout).expect("one JSON document")
}

#[test]
fn figures_follow_the_batch_and_the_gpu() {
    let [one, many] = ["--batch 1", "--batch 64 --gpu v100 --precision fp32"]
        .map(|flags| figures("resnet50.script.onnx", flags));
    let number = |value: &Value, name: &str| value[name].as_f64().expect("a number");
    assert!((number(&many, "forward_flop") / number(&one, "forward_flop") - 64.0).abs() < 0.1);
    assert!((number(&one, "parameters") - 25_557_032.0).abs() < 0.5);
    assert_eq!(many["gpu"], "v100");
    assert!(number(&many["step"], "total_s") > number(&one["step"], "total_s"));
    assert_eq!(one["unknown"], Value::Array(Vec::new()));
}

#[test]
fn the_table_names_what_matters() {
    let folder = Folder::new("graph_table");
    let outcome = folder.run(["graph", &sample("bert_base.dynamo.onnx"), "--seq", "128", "--batch", "8"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    for words in ["operations", "memory traffic", "kept for backward", "12 attentions", "MatMul", "At least"]
    {
        assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
    }
}

#[test]
fn wrong_input_is_refused_with_what_to_do() {
    let folder = Folder::new("graph_refused");
    folder.write("text.onnx", "job_id,submit_s\n1,0\n");
    let open = sample("gpt2.dynamo.onnx");
    let cases: [(&[&str], &str); 5] = [
        (&["graph", "nowhere.onnx"], "nowhere.onnx: it cannot be opened"),
        (&["graph", "text.onnx"], "not ONNX"),
        (&["graph", &open], "Give --seq N"),
        (&["graph", &open, "--gpu", "abacus"], "it is one of h200"),
        (&["graph", &open, "--seq", "0"], "at least 1"),
    ];
    for (line, words) in cases {
        let outcome = folder.run(line.iter().copied());
        assert_eq!(outcome.code, 2, "{line:?}");
        assert!(outcome.stderr.contains(words), "{line:?}: {}", outcome.stderr);
    }
}
