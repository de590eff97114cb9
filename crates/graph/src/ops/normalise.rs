//! Normalisations and softmax.

use super::elementwise::unary_shapes;
use super::work::{Saves, Work};
use super::{Call, Op, Role, Shapes};
use crate::tensor::Tensor;

/// The operators. Operations per element: batch normalisation 1 (it is a product and a sum in one), layers 5 (mean,
/// difference, square, mean, scale), softmax 3 (maximum, exponential with sum, quotient).
pub const OPS: &[Op] = &[
    Op::new("BatchNormalization", Role::Norm, batch_shapes, |call, _| norm(call, 1.0, 0)),
    Op::new("InstanceNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 5.0, 2)),
    Op::new("GroupNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 5.0, 2)),
    Op::new("LayerNormalization", Role::Norm, layer_shapes, |call, _| norm(call, 5.0, 1)),
    Op::new("RMSNormalization", Role::Norm, layer_shapes, |call, _| norm(call, 4.0, 1)),
    Op::new("SimplifiedLayerNormalization", Role::Norm, layer_shapes, |call, _| norm(call, 4.0, 1)),
    Op::new("SkipLayerNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 6.0, 1)),
    Op::new("SkipSimplifiedLayerNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 5.0, 1)),
    Op::new("MeanVarianceNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 5.0, 1)),
    Op::new("LpNormalization", Role::Norm, unary_shapes, |call, _| norm(call, 3.0, 0)),
    Op::new("LRN", Role::Norm, unary_shapes, |call, _| {
        norm(call, call.node.int("size").unwrap_or(5).clamp(1, 1024) as f64, 0)
    }),
    Op::new("Softmax", Role::Softmax, unary_shapes, softmax),
    Op::new("LogSoftmax", Role::Softmax, unary_shapes, softmax),
    Op::new("Hardmax", Role::Other, unary_shapes, softmax),
    Op::new("SoftmaxCrossEntropyLoss", Role::Other, loss_shapes, |call, _| {
        Work::vector(call.size(0) * 4.0).saving(Saves::Input)
    }),
    Op::new("NegativeLogLikelihoodLoss", Role::Other, loss_shapes, |call, _| Work::vector(call.size(0))),
];

fn norm(call: &Call, per_element: f64, rows: usize) -> Work {
    let mut work = Work::vector(call.size(0) * per_element).saving(Saves::Input);
    // The mean and the scale of every row are kept, in full precision.
    if let Some(input) = call.given(0).filter(|_| rows > 0) {
        let outer = if rows == 1 { input.dims.len().saturating_sub(1) } else { 2.min(input.dims.len()) };
        work.kept_wide = 2.0 * input.dims[..outer].iter().map(|dim| *dim as f64).product::<f64>();
    }
    work
}

fn softmax(call: &Call, _: &[Tensor]) -> Work {
    Work::vector(call.size(0) * 3.0).saving(Saves::Output)
}

/// In training, running mean and variance come after the result.
fn batch_shapes(call: &Call) -> Shapes {
    let mut outputs = unary_shapes(call)?;
    for index in [3, 4, 3, 4] {
        if let Some(statistic) = call.given(index) {
            outputs.push(Tensor { trained: false, content: None, ..statistic.clone() });
        }
    }
    Ok(outputs)
}

/// Mean and inverse deviation come after the result, one per row.
fn layer_shapes(call: &Call) -> Shapes {
    let mut outputs = unary_shapes(call)?;
    let axis = call.axis(-1)?;
    let input = call.input(0)?;
    let rows: Vec<i64> =
        input.dims.iter().enumerate().map(|(at, dim)| if at < axis { *dim } else { 1 }).collect();
    outputs.extend([Tensor::new(input.element, rows.clone()), Tensor::new(input.element, rows)]);
    Ok(outputs)
}

fn loss_shapes(call: &Call) -> Shapes {
    let scores = call.input(0)?;
    let whole = call.node.text("reduction") == Some("none");
    let dims = if whole { call.input(1)?.dims.clone() } else { Vec::new() };
    Ok(vec![call.like(dims)?, Tensor { content: None, ..scores.clone() }])
}
