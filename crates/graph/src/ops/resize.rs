//! Images in another size.

use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes, written};
use crate::model::Attribute;
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Resize", Role::Other, resize_shapes, work),
    Op::new("Upsample", Role::Other, upsample_shapes, work),
    Op::new("AffineGrid", Role::Other, affine_shapes, |_, outputs| Work::vector(written(outputs) * 4.0)),
];

/// Linear interpolation in two dimensions weighs four neighbours; the nearest is only copied.
fn work(call: &Call, outputs: &[Tensor]) -> Work {
    let per_element = match call.node.text("mode") {
        Some("linear") => 8.0,
        Some("cubic") => 32.0,
        _ => 1.0,
    };
    Work::vector(written(outputs) * per_element)
}

fn resize_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let axes: Option<Vec<usize>> = match call.node.ints("axes") {
        Some(axes) => axes.iter().map(|axis| input.axis(*axis)).collect(),
        None => Some((0..input.dims.len()).collect()),
    };
    let axes = axes.ok_or(Fault)?;
    let mut dims = input.dims.clone();
    if let Some(sizes) = call.given(3).and_then(Tensor::integers).filter(|sizes| sizes.len() == axes.len()) {
        axes.iter().zip(sizes).for_each(|(axis, size)| dims[*axis] = size);
        return Ok(vec![call.like(dims)?]);
    }
    // Before version 11 the scales came second.
    let scales = call.given(2).or(call.given(1)).and_then(|scales| scales.content.clone()).ok_or(Fault)?;
    scaled(call, &axes, &scales)
}

fn upsample_shapes(call: &Call) -> Shapes {
    let axes: Vec<usize> = (0..call.input(0)?.dims.len()).collect();
    if let Some(Attribute::Floats(scales)) = call.node.attribute("scales") {
        return scaled(call, &axes, scales);
    }
    let scales = call.given(1).and_then(|scales| scales.content.clone()).ok_or(Fault)?;
    scaled(call, &axes, &scales)
}

fn scaled(call: &Call, axes: &[usize], scales: &[f64]) -> Shapes {
    if scales.len() != axes.len() {
        return Err(Fault);
    }
    let mut dims = call.input(0)?.dims.clone();
    for (axis, scale) in axes.iter().zip(scales) {
        dims[*axis] = (dims[*axis] as f64 * scale).floor() as i64;
    }
    Ok(vec![call.like(dims)?])
}

fn affine_shapes(call: &Call) -> Shapes {
    let size = call.input(1)?.integers().ok_or(Fault)?;
    let [batch, _, spatial @ ..] = size.as_slice() else { return Err(Fault) };
    let coordinates = [spatial.len() as i64];
    Ok(vec![call.like([&[*batch], spatial, &coordinates].concat())?])
}
