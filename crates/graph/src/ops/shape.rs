//! Shapes as data, and the same elements under another shape.

use super::elementwise::unary_shapes;
use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes};
use crate::limits::RANK_MAX;
use crate::tensor::{Element, Tensor};

const fn view(name: &'static str, role: Role, shapes: fn(&Call) -> Shapes) -> Op {
    Op::new(name, role, shapes, |_, _| Work::view())
}

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Shape", Role::Other, shape_shapes, |_, _| Work::nothing()),
    Op::new("Size", Role::Other, size_shapes, |_, _| Work::nothing()),
    view("Reshape", Role::Other, reshape_shapes),
    view("Flatten", Role::Flatten, flatten_shapes),
    view("Squeeze", Role::Other, squeeze_shapes),
    view("Unsqueeze", Role::Other, unsqueeze_shapes),
    view("Optional", Role::Identity, unary_shapes),
    view("OptionalGetElement", Role::Identity, unary_shapes),
];

fn shape_shapes(call: &Call) -> Shapes {
    let dims = &call.input(0)?.dims;
    let rank = dims.len() as i64;
    let place = |axis: i64| (if axis < 0 { axis.saturating_add(rank) } else { axis }).clamp(0, rank) as usize;
    let (start, end) =
        (place(call.node.int("start").unwrap_or(0)), place(call.node.int("end").unwrap_or(rank)));
    let part = dims.get(start..end).unwrap_or_default();
    Ok(vec![Tensor::list(part.iter().map(|dim| *dim as f64).collect())])
}

fn size_shapes(call: &Call) -> Shapes {
    let size = call.input(0)?.size();
    Ok(vec![Tensor::new(Element::Integer(8), Vec::new()).with_content(vec![size])])
}

/// The same elements under these dimensions.
fn same(input: &Tensor, dims: Vec<i64>) -> Result<Vec<Tensor>, Fault> {
    let count = dims.iter().try_fold(1_i64, |product, dim| product.checked_mul(*dim));
    if count != Some(input.count()) || dims.iter().any(|dim| *dim < 0) {
        return Err(Fault);
    }
    Ok(vec![Tensor { dims, ..input.clone() }])
}

fn reshape_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let mut dims = call.numbers("shape", 1)?.ok_or(Fault)?;
    let zero_is_zero = call.node.int("allowzero").unwrap_or(0) != 0;
    for (axis, dim) in dims.iter_mut().enumerate() {
        if *dim == 0 && !zero_is_zero {
            *dim = *input.dims.get(axis).ok_or(Fault)?;
        }
    }
    if let Some(open) = dims.iter().position(|dim| *dim == -1) {
        let others = dims.iter().enumerate().filter(|(axis, _)| *axis != open);
        let known = others.map(|(_, dim)| *dim).try_fold(1_i64, i64::checked_mul).ok_or(Fault)?;
        dims[open] = if known == 0 { 0 } else { input.count() / known };
    }
    same(input, dims)
}

fn flatten_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let rank = input.dims.len() as i64;
    let axis = call.node.int("axis").unwrap_or(1);
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis }.clamp(0, rank) as usize;
    let (outer, inner) = input.dims.split_at(axis);
    same(input, vec![outer.iter().product(), inner.iter().product()])
}

fn squeeze_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let axes = call.numbers("axes", 1)?;
    let gone: Option<Vec<usize>> = match &axes {
        Some(axes) => axes.iter().map(|axis| input.axis(*axis)).collect(),
        None => Some((0..input.dims.len()).filter(|axis| input.dims[*axis] == 1).collect()),
    };
    let gone = gone.ok_or(Fault)?;
    let dims = input.dims.iter().enumerate().filter(|(axis, _)| !gone.contains(axis));
    same(input, dims.map(|(_, dim)| *dim).collect())
}

fn unsqueeze_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let axes = call.numbers("axes", 1)?.ok_or(Fault)?;
    if axes.len() > RANK_MAX {
        return Err(Fault);
    }
    let rank = (input.dims.len() + axes.len()) as i64;
    let mut new: Vec<i64> =
        axes.iter().map(|axis| if *axis < 0 { axis.saturating_add(rank) } else { *axis }).collect();
    new.sort_unstable();
    let mut dims = input.dims.clone();
    for axis in new {
        let axis = usize::try_from(axis).ok().filter(|axis| *axis <= dims.len()).ok_or(Fault)?;
        dims.insert(axis, 1);
    }
    same(input, dims)
}
