//! Files that nobody would export: each refused by name, in little memory and time.

use crate::error::GraphError;
use crate::limits::{NODES_MAX, TEXT_BYTES_MAX};
use crate::model::Model;
use crate::proto::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use crate::sketch::{body, cost, graph, input, int, list, model, named, node, read, scalar, weight};
use prost::Message;
use std::io::Cursor;

fn plain(nodes: Vec<NodeProto>) -> ModelProto {
    model(graph(vec![input("x", &[0, 4])], vec![], nodes))
}

#[test]
fn every_beginning_of_a_file_is_read_or_refused() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs/lstm_lm.script.onnx");
    let whole = std::fs::read(path).unwrap();
    let mut refused = 0;
    for length in 0..whole.len() {
        refused += usize::from(Model::read(Cursor::new(&whole[..length])).is_err());
    }
    assert!(refused > whole.len() * 9 / 10, "only {refused} of {} beginnings were refused", whole.len());
}

#[test]
fn a_cycle_is_refused() {
    let nodes = vec![node("Relu", &["b"], &["a"], vec![]), node("Relu", &["a"], &["b"], vec![])];
    assert!(matches!(read(&plain(nodes)), Err(GraphError::Undefined { node: 0, value, .. }) if value == "b"));
}

#[test]
fn a_name_that_is_written_twice_is_refused() {
    let nodes = vec![node("Relu", &["x"], &["a"], vec![]), node("Relu", &["x"], &["a"], vec![])];
    assert!(matches!(read(&plain(nodes)), Err(GraphError::Duplicate { value }) if value == "a"));
    let twice = model(graph(vec![], vec![weight("w", &[2]), weight("w", &[3])], vec![]));
    assert!(matches!(read(&twice), Err(GraphError::Duplicate { .. })));
}

#[test]
fn graphs_too_deep_inside_each_other_are_refused() {
    let mut inner = graph(vec![], vec![], vec![node("Relu", &["x"], &["y"], vec![])]);
    inner.output = vec![named("y")];
    for _ in 0..40 {
        let choice =
            node("If", &["x"], &["y"], vec![body("then_branch", inner.clone()), body("else_branch", inner)]);
        inner =
            graph(vec![], vec![], vec![NodeProto { attribute: choice.attribute[..1].to_vec(), ..choice }]);
        inner.output = vec![named("y")];
    }
    assert!(matches!(read(&plain(inner.node)), Err(GraphError::TooMuch { .. })));
}

fn function(name: &str, calls: &[&str]) -> FunctionProto {
    let mut value = "a".to_owned();
    let mut nodes = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let next = format!("v{at}");
        nodes.push(NodeProto { domain: "own".into(), ..node(call, &[&value], &[&next], vec![]) });
        value = next;
    }
    FunctionProto {
        name: name.into(),
        domain: "own".into(),
        input: vec!["a".into()],
        output: vec![value],
        node: nodes,
        ..FunctionProto::default()
    }
}

#[test]
fn functions_without_end_are_refused() {
    let call = NodeProto { domain: "own".into(), ..node("f0", &["x"], &["y"], vec![]) };
    let itself = ModelProto { functions: vec![function("f0", &["f0"])], ..plain(vec![call.clone()]) };
    assert!(matches!(read(&itself), Err(GraphError::EndlessCalls { .. })));
    // Every function calls the next one ten times: a billion operators in ten short functions.
    let names: Vec<String> = (0..10).map(|at| format!("f{at}")).collect();
    let mut functions: Vec<_> =
        names.windows(2).map(|pair| function(&pair[0], &[pair[1].as_str(); 10])).collect();
    functions.push(FunctionProto { output: vec!["a".into()], ..function("f9", &[]) });
    let bomb = ModelProto { functions, ..plain(vec![call]) };
    assert!(matches!(read(&bomb), Err(GraphError::TooMuch { limit, .. }) if limit == NODES_MAX as u64));
}

#[test]
fn constants_in_functions_do_not_multiply_without_end() {
    let value = AttributeProto { t: Some(list("", &[7; 500])), ..crate::sketch::text("value", "") };
    let constant = node("Constant", &[], &["a"], vec![AttributeProto { s: None, ..value }]);
    let f0 = FunctionProto {
        input: vec![],
        node: vec![constant],
        output: vec!["a".into()],
        ..function("f0", &[])
    };
    let calls = (0..20_000)
        .map(|at| NodeProto { domain: "own".into(), ..node("f0", &[], &[&format!("c{at}")], vec![]) });
    let bomb = ModelProto { functions: vec![f0], ..plain(calls.collect()) };
    assert!(matches!(read(&bomb), Err(GraphError::TooMuch { .. })));
}

#[test]
fn impossible_dimensions_are_refused() {
    for dims in [&[-1][..], &[1 << 40, 1 << 40], &[0, i64::MAX, i64::MAX], &[i64::MIN], &[1; 65]] {
        let weights = model(graph(vec![], vec![weight("w", dims)], vec![]));
        assert!(matches!(read(&weights), Err(GraphError::ImpossibleTensor { .. })), "{dims:?}");
    }
    let inputs = model(graph(vec![input("x", &[i64::MAX, 3])], vec![], vec![]));
    assert!(matches!(cost(&inputs), Err(GraphError::ImpossibleTensor { .. })));
}

#[test]
fn dimensions_that_become_impossible_are_refused() {
    let huge = || list("huge", &[1 << 30, 1 << 30]);
    let cases = [
        (node("ConstantOfShape", &["huge"], &["y"], vec![]), huge()),
        (node("Expand", &["x", "huge"], &["y"], vec![]), list("huge", &[1 << 60, 1, 1])),
        (node("Tile", &["x", "huge"], &["y"], vec![]), huge()),
        (node("ConstantOfShape", &["huge"], &["y"], vec![]), list("huge", &[-5])),
        (node("Pad", &["x", "huge"], &["y"], vec![]), list("huge", &[0, 0, 0, 1 << 60])),
    ];
    for (case, sizes) in cases {
        let hostile = model(graph(vec![input("x", &[0, 4])], vec![sizes], vec![case]));
        assert!(matches!(cost(&hostile), Err(GraphError::ImpossibleShape { .. })), "{hostile:?}");
    }
}

#[test]
fn attributes_without_sense_make_an_operator_unknown() {
    let mad = [i64::MIN, i64::MAX, -1, 0];
    for value in mad {
        for other in mad {
            let nodes = vec![
                node(
                    "Conv",
                    &["x", "w"],
                    &["a"],
                    vec![
                        crate::sketch::ints("strides", &[value, other]),
                        crate::sketch::ints("dilations", &[other, value]),
                        crate::sketch::ints("pads", &[value, other, other, value]),
                    ],
                ),
                node("Flatten", &["x"], &["b"], vec![int("axis", value)]),
                node("Split", &["x"], &["c", "d"], vec![int("axis", other)]),
                node("Slice", &["x", "s", "e"], &["f"], vec![]),
                node("DepthToSpace", &["x"], &["g"], vec![int("blocksize", value)]),
                node("Softmax", &["x"], &["h"], vec![int("axis", value)]),
                node("TopK", &["x", "s"], &["i", "j"], vec![int("axis", other)]),
                node("Transpose", &["x"], &["k"], vec![crate::sketch::ints("perm", &[value, other])]),
                node("Squeeze", &["x", "s"], &["l"], vec![]),
                node("ReduceMean", &["x", "s"], &["m"], vec![]),
                node("Loop", &["r", "", "x"], &["o"], vec![]),
                node("MaxPool", &["x"], &["p"], vec![crate::sketch::ints("kernel_shape", &[value, other])]),
                node(
                    "ConvTranspose",
                    &["x", "w"],
                    &["q"],
                    vec![int("group", value), crate::sketch::ints("strides", &[other; 2])],
                ),
            ];
            let consts = vec![
                weight("w", &[3, 3, 3, 3]),
                list("s", &[value]),
                list("e", &[other]),
                scalar("r", value),
            ];
            let found = cost(&model(graph(vec![input("x", &[0, 3, 5, 5])], consts, nodes)));
            let sound = found.as_ref().is_ok_and(|costs| costs.forward_flop.is_finite());
            assert!(
                sound || matches!(found, Err(GraphError::ImpossibleShape { .. })),
                "{value} {other}: {found:?}"
            );
        }
    }
}

#[test]
fn millions_of_operators_are_refused() {
    let many = (0..300_000).map(|_| NodeProto::default()).collect();
    assert!(matches!(read(&plain(many)), Err(GraphError::TooMuch { .. })));
    // Two bytes each in the file: refused before they become a hundred each in memory.
    let mut bytes = plain(vec![]).encode_to_vec();
    let graph: Vec<u8> = [0x0a, 0x00].repeat(4_000_000);
    bytes.push(0x3a);
    prost::encoding::encode_varint(graph.len() as u64, &mut bytes);
    bytes.extend(graph);
    assert!(matches!(Model::read(Cursor::new(bytes)), Err(GraphError::TooMuch { .. })));
}

#[test]
fn contents_are_not_multiplied_without_end() {
    // Each operator would join or expand a list to the largest content there is, over and over.
    let wide: Vec<&str> = vec!["s"; 50_000];
    let mut nodes =
        vec![node("Concat", &wide, &["all"], vec![int("axis", 0)]), node("Sum", &wide, &["sum"], vec![])];
    nodes.extend((0..20_000).map(|at| node("Expand", &["s", "shape"], &[&format!("e{at}")], vec![])));
    let parts = vec![list("s", &[7; 500]), list("shape", &[8, 500])];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], parts, nodes)));
    assert!(found.is_ok(), "{found:?}");
}

#[test]
fn loops_in_loops_stay_finite() {
    let mut inner =
        graph(vec![named("i"), named("go"), named("h")], vec![], vec![node("Relu", &["h"], &["n"], vec![])]);
    inner.output = vec![named("go"), named("n")];
    for _ in 0..12 {
        let nodes = vec![node("Loop", &["trips", "", "h"], &["n"], vec![body("body", inner)])];
        inner = graph(vec![named("i"), named("go"), named("h")], vec![], nodes);
        inner.output = vec![named("go"), named("n")];
    }
    let nodes = vec![node("Loop", &["trips", "", "x"], &["y"], vec![body("body", inner)])];
    let found =
        cost(&model(graph(vec![input("x", &[0, 4])], vec![scalar("trips", 999_999_999)], nodes))).unwrap();
    assert!(found.forward_flop.is_finite() && found.forward_flop > 1e12);
}

#[test]
fn a_gigantic_name_is_refused() {
    let long = "x".repeat(TEXT_BYTES_MAX as usize + 1);
    let found = read(&plain(vec![node(&long, &["x"], &["y"], vec![])]));
    assert!(matches!(found, Err(GraphError::TooMuch { limit: TEXT_BYTES_MAX, .. })));
}

#[test]
fn what_is_not_a_model_is_refused() {
    assert!(matches!(Model::read(Cursor::new(b"")), Err(GraphError::NoGraph)));
    assert!(Model::read(Cursor::new(b"PK\x03\x04 an archive")).is_err());
    assert!(Model::read(Cursor::new(b"{\"model\": 1}")).is_err());
}
