//! Recurrent layers: a linear layer on the input, one on the state, and a few operations per unit, for every step.

use super::work::{Backward, Class, Saves, Work};
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("LSTM", Role::Recurrent, |call| shapes(call, 4), |call, outputs| work(call, outputs, 6.0, 6.0)),
    Op::new("GRU", Role::Recurrent, |call| shapes(call, 3), |call, outputs| work(call, outputs, 5.0, 4.0)),
    Op::new("RNN", Role::Recurrent, |call| shapes(call, 1), |call, outputs| work(call, outputs, 1.0, 1.0)),
];

/// Kernels per step of cuDNN's persistent layers: a product of matrices and the gates.
const KERNELS_PER_STEP: f64 = 2.0;

/// Inputs X [steps, batch, width], W [directions, gates x units, width], R [directions, gates x units, units].
fn shapes(call: &Call, gates: i64) -> Shapes {
    let (input, weight) = (call.input(0)?, call.input(1)?);
    let ([first, second, _], [directions, wide, _]) = (input.dims.as_slice(), weight.dims.as_slice()) else {
        return Err(Fault);
    };
    let units = call.node.int("hidden_size").unwrap_or(*wide / gates);
    let batch_first = call.node.int("layout").unwrap_or(0) != 0;
    let (steps, batch) = if batch_first { (*second, *first) } else { (*first, *second) };
    let all = if batch_first {
        vec![batch, steps, *directions, units]
    } else {
        vec![steps, *directions, batch, units]
    };
    let last = if batch_first { vec![batch, *directions, units] } else { vec![*directions, batch, units] };
    Ok(vec![call.like(all)?, call.like(last.clone())?, call.like(last)?])
}

/// `per_unit` operations for every unit and step besides the two linear layers; `kept` values for the way back.
fn work(call: &Call, outputs: &[Tensor], per_unit: f64, kept: f64) -> Work {
    let weights = call.size(1) + call.size(2);
    let units = outputs.first().map_or(0.0, Tensor::size);
    let directions = call.given(1).and_then(|weight| weight.dims.first().copied()).unwrap_or(1).max(1) as f64;
    let tokens =
        call.given(0).map_or(0.0, |input| input.dims.iter().take(2).map(|dim| *dim as f64).product());
    let axis = usize::from(call.node.int("layout").unwrap_or(0) != 0);
    let steps = call.given(0).and_then(|input| input.dims.get(axis).copied()).unwrap_or(1) as f64;
    Work {
        // Every weight of a direction meets every token once.
        flop: 2.0 * weights * tokens + per_unit * units,
        backward: Backward::Twice,
        class: Class::Tensor,
        kernels: steps * directions * KERNELS_PER_STEP,
        kept: kept * units,
        ..Work::vector(0.0).saving(Saves::Both)
    }
}
