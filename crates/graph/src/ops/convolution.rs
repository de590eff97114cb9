//! Convolutions, and the windows that pooling shares with them.

use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes, written};
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Conv", Role::Conv, conv_shapes, conv_work),
    Op::new("ConvInteger", Role::Conv, conv_shapes, conv_work),
    Op::new("FusedConv", Role::Conv, conv_shapes, conv_work),
    Op::new("DeformConv", Role::Conv, conv_shapes, conv_work),
    Op::new("ConvTranspose", Role::Conv, transposed_shapes, transposed_work),
];

fn conv_shapes(call: &Call) -> Shapes {
    let (input, weight) = (call.input(0)?, call.input(1)?);
    let [batch, _, spatial @ ..] = input.dims.as_slice() else { return Err(Fault) };
    let [channels, _, kernel @ ..] = weight.dims.as_slice() else { return Err(Fault) };
    let mut dims = vec![*batch, *channels];
    dims.extend(windows(call, spatial, kernel)?);
    Ok(vec![call.like(dims)?])
}

fn conv_work(call: &Call, outputs: &[Tensor]) -> Work {
    // A weight has the inner channels of one group, and the kernel's area.
    let per_output = call.given(1).map_or(0.0, |weight| weight.inner(1));
    let bias = call.given(2).map_or(0.0, |_| written(outputs));
    Work::matrix(2.0 * written(outputs) * per_output + bias)
}

fn transposed_shapes(call: &Call) -> Shapes {
    let (input, weight) = (call.input(0)?, call.input(1)?);
    let [batch, _, spatial @ ..] = input.dims.as_slice() else { return Err(Fault) };
    let [_, channels, kernel @ ..] = weight.dims.as_slice() else { return Err(Fault) };
    if kernel.len() != spatial.len() {
        return Err(Fault);
    }
    let group = call.node.int("group").unwrap_or(1);
    let mut dims = vec![*batch, channels.checked_mul(group).ok_or(Fault)?];
    if let Some(shape) = call.node.ints("output_shape") {
        dims.extend(shape.iter().rev().take(spatial.len()).rev());
        return Ok(vec![call.like(dims)?]);
    }
    let rank = spatial.len();
    let same = call.node.text("auto_pad").is_some_and(|text| text.starts_with("SAME"));
    for axis in 0..rank {
        let [stride, dilation, more] = [("strides", 1), ("dilations", 1), ("output_padding", 0)]
            .map(|(name, default)| nth(call, name, axis, default));
        let pad = if same { 0 } else { nth(call, "pads", axis, 0) + nth(call, "pads", axis + rank, 0) };
        let full = if same {
            i128::from(spatial[axis]) * stride
        } else {
            stride * (i128::from(spatial[axis]) - 1) + more + (i128::from(kernel[axis]) - 1) * dilation + 1
                - pad
        };
        dims.push(i64::try_from(full).ok().filter(|size| *size >= 0).ok_or(Fault)?);
    }
    Ok(vec![call.like(dims)?])
}

/// Every element that is read meets every channel that is written, under the whole kernel.
fn transposed_work(call: &Call, outputs: &[Tensor]) -> Work {
    let per_input = call.given(1).map_or(0.0, |weight| weight.inner(1));
    let bias = call.given(2).map_or(0.0, |_| written(outputs));
    Work::matrix(2.0 * call.size(0) * per_input + bias)
}

/// The n-th number of a list attribute. Sizes are computed in 128 bits, where no product of two of them overflows.
fn nth(call: &Call, name: &str, index: usize, default: i64) -> i128 {
    i128::from(call.node.ints(name).and_then(|values| values.get(index)).copied().unwrap_or(default))
}

/// The sizes of what windows of a kernel over these dimensions leave.
pub fn windows(call: &Call, spatial: &[i64], kernel: &[i64]) -> Result<Vec<i64>, Fault> {
    if kernel.len() != spatial.len() {
        return Err(Fault);
    }
    let rank = spatial.len();
    let auto = call.node.text("auto_pad").unwrap_or("NOTSET");
    let ceil = call.node.int("ceil_mode").unwrap_or(0) != 0;
    (0..rank)
        .map(|axis| {
            let (stride, dilation) = (nth(call, "strides", axis, 1), nth(call, "dilations", axis, 1));
            if stride < 1 || dilation < 1 || kernel[axis] < 1 {
                return Err(Fault);
            }
            let (size, reach) = (i128::from(spatial[axis]), (i128::from(kernel[axis]) - 1) * dilation + 1);
            if auto.starts_with("SAME") {
                return i64::try_from((size + stride - 1) / stride).map_err(|_| Fault);
            }
            let before = if auto == "VALID" { 0 } else { nth(call, "pads", axis, 0) };
            let after = if auto == "VALID" { 0 } else { nth(call, "pads", axis + rank, 0) };
            let room = size + before + after - reach;
            if room < 0 {
                return Err(Fault);
            }
            let mut count = if ceil { (room + stride - 1) / stride } else { room / stride } + 1;
            // A window must begin inside the input or its left padding.
            if ceil && (count - 1) * stride >= size + before {
                count -= 1;
            }
            i64::try_from(count).map_err(|_| Fault)
        })
        .collect()
}
