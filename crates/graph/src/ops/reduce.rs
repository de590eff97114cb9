//! Reductions along axes: one operation per element read.

use super::work::{Saves, Work};
use super::{Call, Eval, Fault, Op, Role, Shapes};
use crate::tensor::{Element, Tensor};

const fn reduce(name: &'static str, role: Role, saves: Saves, eval: Eval) -> Op {
    Op { name, role, eval, saves, shapes: reduce_shapes, work }
}

/// The operators.
pub const OPS: &[Op] = &[
    reduce("ReduceMean", Role::ReduceMean, Saves::Nothing, Eval::No),
    reduce("ReduceSum", Role::Other, Saves::Nothing, Eval::Binary(|a, b| a + b)),
    reduce("ReduceProd", Role::Other, Saves::Input, Eval::Binary(|a, b| a * b)),
    reduce("ReduceMax", Role::Other, Saves::Input, Eval::Binary(f64::max)),
    reduce("ReduceMin", Role::Other, Saves::Input, Eval::Binary(f64::min)),
    reduce("ReduceL1", Role::Other, Saves::Input, Eval::No),
    reduce("ReduceL2", Role::Other, Saves::Input, Eval::No),
    reduce("ReduceSumSquare", Role::Other, Saves::Input, Eval::No),
    reduce("ReduceLogSum", Role::Other, Saves::Input, Eval::No),
    reduce("ReduceLogSumExp", Role::Other, Saves::Input, Eval::No),
    Op { shapes: arg_shapes, ..reduce("ArgMax", Role::Other, Saves::Nothing, Eval::No) },
    Op { shapes: arg_shapes, ..reduce("ArgMin", Role::Other, Saves::Nothing, Eval::No) },
];

fn work(call: &Call, _: &[Tensor]) -> Work {
    Work::vector(call.size(0)).saving(call.saves)
}

fn reduce_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let axes = call.numbers("axes", 1)?.unwrap_or_default();
    if axes.is_empty() && call.node.int("noop_with_empty_axes").unwrap_or(0) != 0 {
        return Ok(vec![input.clone()]);
    }
    let axes: Option<Vec<usize>> = axes.iter().map(|axis| input.axis(*axis)).collect();
    let axes = axes.ok_or(Fault)?;
    let out = call.like(without(input, &axes, call.node.int("keepdims").unwrap_or(1) != 0))?;
    let all = axes.is_empty() || axes.len() == input.dims.len();
    Ok(vec![match (call.eval, &input.content) {
        (Eval::Binary(eval), Some(content)) if all => {
            let total = content.iter().copied().reduce(eval);
            out.with_content(total.into_iter().collect())
        }
        _ => out,
    }])
}

/// The dimensions that are left; no axes are all of them.
fn without(input: &Tensor, axes: &[usize], keep: bool) -> Vec<i64> {
    let gone = |axis: usize| axes.is_empty() || axes.contains(&axis);
    let dims = input.dims.iter().enumerate().filter(|(axis, _)| keep || !gone(*axis));
    dims.map(|(axis, dim)| if gone(axis) { 1 } else { *dim }).collect()
}

fn arg_shapes(call: &Call) -> Shapes {
    let axis = call.axis(0)?;
    let keep = call.node.int("keepdims").unwrap_or(1) != 0;
    Ok(vec![Tensor::new(Element::Integer(8), without(call.input(0)?, &[axis], keep))])
}
