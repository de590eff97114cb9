//! Small models, counted by hand.

use crate::binding::{Batch, Binding};
use crate::costs::Costs;
use crate::precision::Precision;
use crate::proto::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use crate::sketch::{
    body, cost, graph, input, int, ints, list, model, named, node, read, scalar, text, weight,
};

/// Whether a value is what was counted.
fn is(found: f64, counted: f64) -> bool {
    (found - counted).abs() < 1e-6 * counted.abs().max(1.0)
}

fn matmul() -> NodeProto {
    node("MatMul", &["x", "w"], &["y"], vec![])
}

#[test]
fn the_first_layer_needs_one_gradient_and_the_second_two() {
    let nodes = vec![matmul(), node("MatMul", &["y", "w"], &["z"], vec![])];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], vec![weight("w", &[4, 4])], nodes))).unwrap();
    assert!(is(found.forward_flop, 2.0 * 2.0 * 2.0 * 16.0));
    assert!(is(found.backward_flop, 3.0 * 2.0 * 2.0 * 16.0));
    // The weight is tied: it counts once. What both products read is kept once.
    assert!(is(found.parameters, 16.0));
    assert!(is(found.saved_bytes, 2.0 * (2.0 * 4.0) * 4.0));
}

#[test]
fn a_batch_that_was_fixed_is_scaled_and_said() {
    let fixed =
        read(&model(graph(vec![input("x", &[4, 4])], vec![weight("w", &[4, 4])], vec![matmul()]))).unwrap();
    let binding = Binding { batch: Some(12), ..Binding::default() };
    let found = Costs::of(&fixed, &binding, Precision::Fp32).unwrap();
    assert_eq!(found.batch, Batch::Scaled { exported: 4, asked: 12 });
    assert!(is(found.forward_flop, 12.0 * 2.0 * 16.0));
    assert!(is(found.saved_bytes, 12.0 * 16.0));
    let as_exported = Costs::of(&fixed, &Binding::default(), Precision::Fp32).unwrap();
    // Weights are moved once, whatever the batch.
    let weights = 16.0 * 4.0;
    assert!(is(found.forward_bytes - weights, 3.0 * (as_exported.forward_bytes - weights)));
}

#[test]
fn an_unknown_operator_is_named_and_costed_element_by_element() {
    let odd = NodeProto { domain: "acme".into(), ..node("Frobnicate", &["y"], &["z"], vec![]) };
    let after = node("Relu", &["z"], &["r"], vec![]);
    let nodes = vec![matmul(), odd, after];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], vec![weight("w", &[4, 4])], nodes))).unwrap();
    assert_eq!(found.unknown.len(), 1);
    assert_eq!((found.unknown[0].name.as_str(), found.unknown[0].count), ("Frobnicate", 1));
    assert!(is(found.unknown_share(), 8.0 / (64.0 + 8.0 + 8.0)));
}

#[test]
fn shapes_that_the_graph_computes_are_followed() {
    let nodes = vec![
        node("Shape", &["x"], &["s"], vec![]),
        node("Gather", &["s", "zero"], &["b"], vec![]),
        node("Unsqueeze", &["b", "axis"], &["b1"], vec![]),
        node("Concat", &["b1", "rest"], &["target"], vec![int("axis", 0)]),
        node("Reshape", &["x", "target"], &["h"], vec![]),
        node("MatMul", &["h", "w"], &["y"], vec![]),
    ];
    let weights = vec![weight("w", &[3, 5]), scalar("zero", 0), list("axis", &[0]), list("rest", &[-1, 3])];
    let found = cost(&model(graph(vec![input("x", &[0, 0, 6])], weights, nodes))).unwrap();
    assert!(found.unknown.is_empty(), "{:?}", found.unknown);
    // [2, 8, 6] becomes [2, 16, 3], times [3, 5].
    assert!(is(found.forward_flop, 2.0 * 2.0 * 16.0 * 3.0 * 5.0));
}

#[test]
fn a_loop_counts_its_body_as_often_as_it_runs() {
    let mut inner = graph(
        vec![named("i"), named("go"), named("h")],
        vec![],
        vec![node("MatMul", &["h", "w"], &["n"], vec![]), node("Identity", &["go"], &["more"], vec![])],
    );
    inner.output = vec![named("more"), named("n"), named("n")];
    let nodes = vec![
        node("Loop", &["trips", "", "x"], &["last", "all"], vec![body("body", inner)]),
        node("Relu", &["all"], &["r"], vec![]),
    ];
    let parts = vec![weight("w", &[4, 4]), scalar("trips", 7)];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], parts, nodes))).unwrap();
    // Seven products, and a rectifier over all seven results.
    assert!(is(found.forward_flop, 7.0 * 64.0 + 7.0 * 8.0), "{}", found.forward_flop);
    assert_eq!(found.open_loops, 0);
}

#[test]
fn a_scan_runs_once_for_every_slice() {
    let mut inner = graph(
        vec![named("state"), named("slice")],
        vec![],
        vec![node("MatMul", &["slice", "w"], &["n"], vec![]), node("Add", &["state", "n"], &["sum"], vec![])],
    );
    inner.output = vec![named("sum"), named("n")];
    let attributes = vec![body("body", inner), int("num_scan_inputs", 1)];
    let nodes = vec![node("Scan", &["start", "x"], &["total", "all"], attributes)];
    let parts = vec![weight("w", &[4, 4]), weight("start", &[8, 4])];
    let found = cost(&model(graph(vec![input("x", &[0, 0, 4])], parts, nodes))).unwrap();
    assert!(is(found.forward_flop, 2.0 * (2.0 * 8.0 * 16.0 + 32.0)), "{}", found.forward_flop);
}

#[test]
fn of_two_branches_the_known_one_counts_and_else_the_dearer() {
    let branch = |op: &str, other: &str| {
        let mut inner = graph(vec![], vec![], vec![node(op, &["x", other], &["b"], vec![])]);
        inner.output = vec![named("b")];
        inner
    };
    let choice = |condition: &str| {
        let both = vec![body("then_branch", branch("Add", "x")), body("else_branch", branch("MatMul", "w"))];
        node("If", &[condition], &["y"], both)
    };
    let parts = || vec![weight("w", &[4, 4]), scalar("yes", 1)];
    let known = cost(&model(graph(vec![input("x", &[0, 4])], parts(), vec![choice("yes")]))).unwrap();
    assert!(is(known.forward_flop, 8.0));
    let open =
        cost(&model(graph(vec![input("x", &[0, 4]), input("c", &[1])], parts(), vec![choice("c")]))).unwrap();
    assert!(is(open.forward_flop, 64.0));
}

#[test]
fn local_functions_are_inlined_with_their_attributes() {
    let refer = AttributeProto {
        name: "axis".into(),
        ref_attr_name: "along".into(),
        r#type: 2,
        ..AttributeProto::default()
    };
    let function = FunctionProto {
        name: "twice".into(),
        domain: "own".into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: vec![node("Concat", &["a", "a"], &["b"], vec![refer])],
        ..FunctionProto::default()
    };
    let call = NodeProto { domain: "own".into(), ..node("twice", &["x"], &["h"], vec![int("along", 1)]) };
    let nodes = vec![call, node("MatMul", &["h", "w"], &["y"], vec![])];
    let main = model(graph(vec![input("x", &[0, 4])], vec![weight("w", &[8, 4])], nodes));
    let found = cost(&ModelProto { functions: vec![function], ..main }).unwrap();
    assert!(found.unknown.is_empty());
    assert!(is(found.forward_flop, 2.0 * 2.0 * 8.0 * 4.0));
}

#[test]
fn a_normalisation_in_pieces_is_one_kernel() {
    let nodes = vec![
        matmul(),
        node("ReduceMean", &["y", "last"], &["m"], vec![]),
        node("Sub", &["y", "m"], &["d"], vec![]),
        node("Pow", &["d", "two"], &["q"], vec![]),
        node("ReduceMean", &["q", "last"], &["v"], vec![]),
        node("Add", &["v", "epsilon"], &["e"], vec![]),
        node("Sqrt", &["e"], &["r"], vec![]),
        node("Div", &["d", "r"], &["n"], vec![]),
        node("Mul", &["n", "scale"], &["s"], vec![]),
        node("Add", &["s", "shift"], &["z"], vec![]),
    ];
    let parts = vec![
        weight("w", &[4, 4]),
        weight("scale", &[4]),
        weight("shift", &[4]),
        weight("epsilon", &[]),
        scalar("two", 2),
        list("last", &[-1]),
    ];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], parts, nodes))).unwrap();
    assert_eq!(found.fused, [0, 0, 1, 0]);
    assert!(is(found.forward_launches, 2.0));
    // x and y in four bytes, and two numbers for each of the two rows.
    assert!(is(found.saved_bytes, 2.0 * 8.0 * 4.0 + 2.0 * 2.0 * 4.0), "{}", found.saved_bytes);
}

#[test]
fn gradients_of_a_value_that_is_read_twice_are_summed() {
    let nodes =
        vec![matmul(), node("Relu", &["y"], &["r"], vec![]), node("Add", &["y", "r"], &["z"], vec![])];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], vec![weight("w", &[4, 4])], nodes))).unwrap();
    // The product's weight, the rectifier, the sum of two gradients; the addition hands its gradient on.
    assert!(is(found.backward_launches, 3.0), "{}", found.backward_launches);
    assert!(is(found.backward_flop, 64.0 + 8.0 + 8.0 + 8.0), "{}", found.backward_flop);
}

#[test]
fn masks_and_tables_of_zeros_are_no_parameters() {
    let nodes = vec![
        matmul(),
        node("Where", &["y", "y", "mask"], &["m"], vec![]),
        node("ScatterND", &["zeros", "at", "m"], &["s"], vec![]),
        node("BatchNormalization", &["m", "scale", "scale", "mean", "mean"], &["n"], vec![]),
    ];
    let floats = [("w", &[4, 4][..]), ("mask", &[4]), ("zeros", &[2, 4]), ("scale", &[4]), ("mean", &[4])];
    let mut parts: Vec<_> = floats.iter().map(|(name, dims)| weight(name, dims)).collect();
    parts.push(list("at", &[0, 1]));
    // Nothing reads this one.
    parts.push(weight("left over", &[100]));
    let found = cost(&model(graph(vec![input("x", &[0, 4])], parts, nodes))).unwrap();
    assert!(is(found.parameters, 16.0 + 4.0), "{}", found.parameters);
}

#[test]
fn a_bias_is_added_in_the_kernel_of_its_product() {
    let nodes = vec![matmul(), node("Add", &["b", "y"], &["z"], vec![])];
    let parts = vec![weight("w", &[4, 4]), weight("b", &[4])];
    let found = cost(&model(graph(vec![input("x", &[0, 4])], parts, nodes))).unwrap();
    assert_eq!((found.fused, found.kernels.len()), ([0, 0, 0, 1], 1));
    assert!(is(found.forward_bytes, 4.0 * (8.0 + 16.0 + 4.0 + 8.0)));
    assert!(is(found.backward_launches, 2.0));
}

#[test]
fn attention_in_one_operator_counts_its_products_and_its_softmax() {
    let heads = vec![int("q_num_heads", 2), int("kv_num_heads", 2)];
    let nodes = vec![
        node("MatMul", &["x", "wq"], &["q"], vec![]),
        node("Attention", &["q", "q", "q"], &["y"], heads),
    ];
    let found =
        cost(&model(graph(vec![input("x", &[0, 0, 6])], vec![weight("wq", &[6, 6])], nodes))).unwrap();
    let scores = 2.0 * 2.0 * 8.0 * 8.0;
    assert!(is(found.forward_flop, 2.0 * 16.0 * 36.0 + scores * (4.0 * 3.0 + 3.0)));
    assert!(found.unknown.is_empty());
}

/// An operator on inputs of these shapes writes this many elements: a rectifier counts them.
#[test]
fn operators_write_as_many_elements_as_they_should() {
    let x4 = [2, 6, 8, 8];
    let cases: Vec<(NodeProto, f64)> = vec![
        (
            node("Conv", &["x", "w"], &["y"], vec![ints("strides", &[2, 2]), ints("pads", &[1, 1, 1, 1])]),
            2.0 * 4.0 * 16.0,
        ),
        (node("Conv", &["x", "w"], &["y"], vec![ints("dilations", &[2, 2])]), 2.0 * 4.0 * 16.0),
        (
            node("Conv", &["x", "w"], &["y"], vec![text("auto_pad", "SAME_UPPER"), ints("strides", &[3, 3])]),
            2.0 * 4.0 * 9.0,
        ),
        (
            node("ConvTranspose", &["x", "wt"], &["y"], vec![ints("strides", &[2, 2])]),
            2.0 * 5.0 * 17.0 * 17.0,
        ),
        (
            node("MaxPool", &["x"], &["y"], vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2])]),
            2.0 * 6.0 * 9.0,
        ),
        (
            node(
                "MaxPool",
                &["x"],
                &["y"],
                vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), int("ceil_mode", 1)],
            ),
            2.0 * 6.0 * 16.0,
        ),
        (node("GlobalAveragePool", &["x"], &["y"], vec![]), 12.0),
        (node("ReduceSum", &["x", "ax"], &["y"], vec![int("keepdims", 0)]), 2.0 * 6.0 * 8.0),
        (node("ArgMax", &["x"], &["y"], vec![int("axis", 1)]), 2.0 * 64.0),
        (node("DepthToSpace", &["x"], &["y"], vec![int("blocksize", 1)]), 768.0),
        (node("SpaceToDepth", &["x"], &["y"], vec![int("blocksize", 2)]), 768.0),
        (node("Slice", &["x", "one", "three", "ax"], &["y"], vec![]), 2.0 * 6.0 * 8.0 * 2.0),
        (node("Pad", &["x", "pads"], &["y"], vec![]), 2.0 * 6.0 * 10.0 * 10.0),
        (node("Tile", &["x", "twice"], &["y"], vec![]), 768.0 * 8.0),
        (node("TopK", &["x", "three"], &["y", "at"], vec![]), 2.0 * 6.0 * 8.0 * 3.0),
        (node("Resize", &["x", "", "", "sizes"], &["y"], vec![]), 2.0 * 6.0 * 16.0 * 4.0),
        (node("Gather", &["x", "rows"], &["y"], vec![int("axis", 2)]), 2.0 * 6.0 * 3.0 * 8.0),
        (node("Expand", &["x", "wide"], &["y"], vec![]), 768.0 * 3.0),
        (node("Flatten", &["x"], &["y"], vec![int("axis", 2)]), 768.0),
        (node("Squeeze", &["x"], &["y"], vec![]), 768.0),
        (node("Transpose", &["x"], &["y"], vec![ints("perm", &[0, 2, 3, 1])]), 768.0),
        (node("Einsum", &["x", "x"], &["y"], vec![text("equation", "bcij,bcjk->bik")]), 2.0 * 64.0),
        (node("NonZero", &["x"], &["y"], vec![]), 4.0 * 768.0),
        (node("CumSum", &["x", "one"], &["y"], vec![]), 768.0),
        (node("OneHot", &["x", "three", "x"], &["y"], vec![]), 768.0 * 3.0),
        (node("GatherElements", &["x", "x"], &["y"], vec![]), 768.0),
        (node("ScatterND", &["x", "x", "x"], &["y"], vec![]), 768.0),
        (node("Split", &["x"], &["y", "z"], vec![int("axis", 1)]), 384.0),
        (node("BatchNormalization", &["x", "c", "c", "c", "c"], &["y"], vec![]), 768.0),
    ];
    for (case, elements) in cases {
        let name = case.op_type.clone();
        let parts = vec![
            weight("w", &[4, 6, 3, 3]),
            weight("wt", &[6, 5, 3, 3]),
            weight("c", &[6]),
            list("ax", &[-1]),
            list("one", &[1]),
            list("three", &[3]),
            list("pads", &[0, 0, 1, 1, 0, 0, 1, 1]),
            list("twice", &[1, 2, 2, 2]),
            list("sizes", &[2, 6, 16, 4]),
            list("rows", &[0, 5, 7]),
            list("wide", &[3, 1, 1, 1, 1]),
        ];
        let nodes = vec![case, node("Relu", &["y"], &["end"], vec![])];
        let found = cost(&model(graph(vec![input("x", &x4)], parts, nodes))).unwrap();
        assert!(found.unknown.is_empty(), "{name}: {:?}", found.unknown);
        let relu = found.operators.iter().find(|operator| operator.name == "Relu").unwrap();
        assert!(is(relu.forward_flop, elements), "{name}: {} elements, not {elements}", relu.forward_flop);
    }
}
