//! Data in another order, repeated, joined or padded.

use super::data::{at, broadcast, filled};
use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes, written};
use crate::limits::CONTENT_MAX;
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Transpose", Role::Other, transpose_shapes, |_, _| Work::view()),
    Op::new("Expand", Role::Other, expand_shapes, |_, _| Work::view()),
    Op::new("Concat", Role::Other, concat_shapes, |_, _| Work::memory()),
    Op::new("Tile", Role::Other, tile_shapes, |_, _| Work::memory()),
    Op::new("Pad", Role::Other, pad_shapes, |_, _| Work::memory()),
    Op::new("DepthToSpace", Role::Other, |call| blocks(call, true), |_, _| Work::memory()),
    Op::new("SpaceToDepth", Role::Other, |call| blocks(call, false), |_, _| Work::memory()),
    Op::new(
        "ReverseSequence",
        Role::Other,
        |call| Ok(vec![Tensor { content: None, ..call.input(0)?.clone() }]),
        |_, _| Work::memory(),
    ),
    Op::new("Trilu", Role::Other, trilu_shapes, |_, outputs| Work::vector(written(outputs))),
];

fn transpose_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let rank = input.dims.len();
    let order: Option<Vec<usize>> = match call.node.ints("perm") {
        Some(order) => order.iter().map(|axis| input.axis(*axis)).collect(),
        None => Some((0..rank).rev().collect()),
    };
    let order = order.filter(|order| order.len() == rank).ok_or(Fault)?;
    let out = call.like(order.iter().map(|axis| input.dims[*axis]).collect())?;
    Ok(vec![filled(out, |index| {
        let mut source = vec![0; rank];
        order.iter().zip(index).for_each(|(axis, place)| source[*axis] = *place);
        at(input, &source)
    })])
}

fn expand_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let wanted = call.input(1)?.integers().ok_or(Fault)?;
    let out = call.like(broadcast([input.dims.as_slice(), &wanted])?)?;
    Ok(vec![filled(out, |index| at(input, index))])
}

fn concat_shapes(call: &Call) -> Shapes {
    let axis = call.axis(0)?;
    let parts: Vec<&Tensor> = call.inputs.iter().copied().flatten().collect();
    let mut dims = call.input(0)?.dims.clone();
    dims[axis] = 0;
    for part in &parts {
        let own = part.dims.get(axis).ok_or(Fault)?;
        dims[axis] = dims[axis].checked_add(*own).ok_or(Fault)?;
    }
    let out = call.like(dims)?;
    let small = out.count() <= CONTENT_MAX as i64 && parts.len() <= CONTENT_MAX;
    if axis > 0 || !small || parts.iter().any(|part| part.content.is_none()) {
        return Ok(vec![out]);
    }
    let joined =
        parts.iter().filter_map(|part| part.content.as_ref()).flat_map(|content| content.iter().copied());
    Ok(vec![out.with_content(joined.collect())])
}

fn tile_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let repeats =
        call.input(1)?.integers().filter(|repeats| repeats.len() == input.dims.len()).ok_or(Fault)?;
    let dims: Option<Vec<i64>> =
        input.dims.iter().zip(&repeats).map(|(dim, count)| dim.checked_mul(*count)).collect();
    let out = call.like(dims.ok_or(Fault)?)?;
    Ok(vec![filled(out, |index| {
        let source: Vec<usize> =
            index.iter().zip(&input.dims).map(|(place, dim)| place % (*dim).max(1) as usize).collect();
        at(input, &source)
    })])
}

fn pad_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let pads = call.numbers("pads", 1)?.ok_or(Fault)?;
    let mut dims = input.dims.clone();
    let axes: Option<Vec<usize>> = match call.given(3) {
        Some(axes) => axes.integers().ok_or(Fault)?.iter().map(|axis| input.axis(*axis)).collect(),
        None => Some((0..dims.len()).collect()),
    };
    let axes = axes.filter(|axes| pads.len() == 2 * axes.len()).ok_or(Fault)?;
    for (at, axis) in axes.iter().enumerate() {
        let more = pads[at].checked_add(pads[at + axes.len()]).ok_or(Fault)?;
        dims[*axis] = dims[*axis].checked_add(more).ok_or(Fault)?;
    }
    Ok(vec![call.like(dims)?])
}

fn blocks(call: &Call, to_space: bool) -> Shapes {
    let [batch, channels, height, width] = call.input(0)?.dims[..] else { return Err(Fault) };
    let block = call.node.int("blocksize").filter(|block| (1..=1 << 15).contains(block)).ok_or(Fault)?;
    let larger = |dim: i64| dim.checked_mul(block).ok_or(Fault);
    let dims = if to_space {
        vec![batch, channels / (block * block), larger(height)?, larger(width)?]
    } else {
        vec![batch, larger(larger(channels)?)?, height / block, width / block]
    };
    Ok(vec![call.like(dims)?])
}

fn trilu_shapes(call: &Call) -> Shapes {
    Ok(vec![Tensor { content: None, ..call.input(0)?.clone() }])
}
