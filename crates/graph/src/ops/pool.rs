//! Pooling: as many operations per element written as the window has elements.

use super::convolution::windows;
use super::work::{Saves, Work};
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::{Element, Tensor};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("MaxPool", Role::Other, pool_shapes, max_work),
    Op::new("AveragePool", Role::Other, pool_shapes, pool_work),
    Op::new("LpPool", Role::Other, pool_shapes, pool_work),
    Op::new("GlobalAveragePool", Role::Other, global_shapes, global_work),
    Op::new("GlobalMaxPool", Role::Other, global_shapes, global_work),
    Op::new("GlobalLpPool", Role::Other, global_shapes, global_work),
    Op::new("RoiAlign", Role::Other, roi_shapes, |call, outputs| {
        let samples = call.node.int("sampling_ratio").unwrap_or(2).clamp(1, 64) as f64;
        Work::vector(outputs.first().map_or(0.0, Tensor::size) * samples * samples)
    }),
];

fn pool_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let [batch, channels, spatial @ ..] = input.dims.as_slice() else { return Err(Fault) };
    let kernel = call.node.ints("kernel_shape").ok_or(Fault)?;
    let mut dims = vec![*batch, *channels];
    dims.extend(windows(call, spatial, kernel)?);
    Ok(vec![call.like(dims.clone())?, Tensor::new(Element::Integer(8), dims)])
}

fn pool_work(call: &Call, outputs: &[Tensor]) -> Work {
    let kernel: f64 =
        call.node.ints("kernel_shape").unwrap_or_default().iter().map(|size| *size as f64).product();
    Work::vector(outputs.first().map_or(0.0, Tensor::size) * kernel).saving(Saves::Input)
}

/// Where each maximum was found is kept in eight bytes.
fn max_work(call: &Call, outputs: &[Tensor]) -> Work {
    Work { kept_wide: 2.0 * outputs.first().map_or(0.0, Tensor::size), ..pool_work(call, outputs) }
}

fn global_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let dims = input.dims.iter().enumerate().map(|(axis, dim)| if axis < 2 { *dim } else { 1 });
    Ok(vec![call.like(dims.collect())?])
}

fn global_work(call: &Call, _: &[Tensor]) -> Work {
    Work::vector(call.size(0)).saving(Saves::Input)
}

fn roi_shapes(call: &Call) -> Shapes {
    let (input, regions) = (call.input(0)?, call.input(1)?);
    let (Some(channels), Some(count)) = (input.dims.get(1), regions.dims.first()) else { return Err(Fault) };
    let [height, width] = ["output_height", "output_width"].map(|name| call.node.int(name).unwrap_or(1));
    Ok(vec![call.like(vec![*count, *channels, height, width])?])
}
