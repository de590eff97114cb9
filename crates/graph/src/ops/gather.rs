//! Elements chosen by index, and put back by index.

use super::data::{at, filled};
use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::{Element, Origin, Tensor};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Gather", Role::Gather, gather_shapes, gather_work),
    Op::new("GatherElements", Role::Other, elements_shapes, |_, _| sparse()),
    Op::new("GatherND", Role::Other, nd_shapes, |_, _| sparse()),
    Op::new("Scatter", Role::Other, same, |_, _| Work::memory()),
    Op::new("ScatterElements", Role::Other, same, |_, _| Work::memory()),
    Op::new("ScatterND", Role::Other, same, |_, _| Work::memory()),
    Op::new("TensorScatter", Role::Other, same, |_, _| Work::memory()),
    Op::new("OneHot", Role::Other, one_hot_shapes, |_, _| Work::memory().without_gradient()),
    Op::new("GridSample", Role::Other, grid_shapes, |_, outputs| Work::vector(super::written(outputs) * 8.0)),
];

/// Rows that are copied; their gradients are added up again, one operation each.
fn sparse() -> Work {
    Work { sparse: true, ..Work::memory() }
}

fn gather_shapes(call: &Call) -> Shapes {
    let (input, indices) = (call.input(0)?, call.input(1)?);
    let axis = call.axis(0)?;
    let (outer, inner) = (&input.dims[..axis], &input.dims[axis + 1..]);
    let out = call.like([outer, &indices.dims, inner].concat())?;
    let length = input.dims[axis];
    Ok(vec![filled(out, |index| {
        let place = at(indices, &index[axis..axis + indices.dims.len()])? as i64;
        let place = if place < 0 { place.saturating_add(length) } else { place };
        let place = usize::try_from(place).ok().filter(|place| (*place as i64) < length)?;
        let source = [&index[..axis], &[place], &index[axis + indices.dims.len()..]].concat();
        at(input, &source)
    })])
}

/// One constant index chooses a part that stays where it is.
fn gather_work(call: &Call, _: &[Tensor]) -> Work {
    let one =
        call.given(1).is_some_and(|indices| indices.dims.is_empty() && indices.origin == Origin::Constant);
    if one { Work::view() } else { sparse() }
}

fn elements_shapes(call: &Call) -> Shapes {
    let dims = call.input(1)?.dims.clone();
    Ok(vec![call.like(dims)?])
}

fn nd_shapes(call: &Call) -> Shapes {
    let (input, indices) = (call.input(0)?, call.input(1)?);
    let shared = usize::try_from(call.node.int("batch_dims").unwrap_or(0)).map_err(|_| Fault)?;
    let (depth, outer) = indices.dims.split_last().ok_or(Fault)?;
    let from = usize::try_from(*depth).ok().and_then(|depth| depth.checked_add(shared)).ok_or(Fault)?;
    let inner = input.dims.get(from..).ok_or(Fault)?;
    Ok(vec![call.like([outer, inner].concat())?])
}

fn same(call: &Call) -> Shapes {
    Ok(vec![Tensor { content: None, ..call.input(0)?.clone() }])
}

fn one_hot_shapes(call: &Call) -> Shapes {
    let indices = call.input(0)?;
    let depth = call.input(1)?.scalar().ok_or(Fault)? as i64;
    let rank = indices.dims.len() as i64 + 1;
    let axis = call.node.int("axis").unwrap_or(-1);
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
    let mut dims = indices.dims.clone();
    let axis = usize::try_from(axis).ok().filter(|axis| *axis <= dims.len()).ok_or(Fault)?;
    dims.insert(axis, depth);
    Ok(vec![Tensor::new(call.given(2).map_or(Element::Float, |values| values.element), dims)])
}

fn grid_shapes(call: &Call) -> Shapes {
    let (input, grid) = (call.input(0)?, call.input(1)?);
    let (Some(head), Some((_, [_, spatial @ ..]))) = (input.dims.get(..2), grid.dims.split_last()) else {
        return Err(Fault);
    };
    Ok(vec![call.like([head, spatial].concat())?])
}
