//! Numbers in fewer bits.

use super::elementwise::unary_shapes;
use super::work::Work;
use super::{Call, Op, Role, Shapes, written};
use crate::tensor::{Element, Tensor};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new(
        "QuantizeLinear",
        Role::Other,
        |call| typed(call, Element::Integer(1)),
        |_, outputs| Work::vector(written(outputs)).without_gradient(),
    ),
    Op::new(
        "DequantizeLinear",
        Role::Other,
        |call| typed(call, Element::Float),
        |_, outputs| Work::vector(written(outputs)),
    ),
    Op::new("DynamicQuantizeLinear", Role::Other, dynamic_shapes, |_, outputs| {
        Work::vector(written(outputs)).without_gradient()
    }),
];

fn typed(call: &Call, element: Element) -> Shapes {
    let outputs = unary_shapes(call)?;
    Ok(outputs.into_iter().map(|out| Tensor { element, ..out }).collect())
}

fn dynamic_shapes(call: &Call) -> Shapes {
    let mut outputs = typed(call, Element::Integer(1))?;
    outputs.extend([Tensor::new(Element::Float, Vec::new()), Tensor::new(Element::Integer(1), Vec::new())]);
    Ok(outputs)
}
