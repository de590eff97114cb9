//! Comparisons and choices.

use super::data::{at, broadcast, filled};
use super::elementwise::{binary_shapes, unary_shapes};
use super::work::{Saves, Work};
use super::{Call, Eval, Op, Role, Shapes, written};
use crate::tensor::{Element, Tensor};

const fn compare(name: &'static str, eval: fn(f64, f64) -> f64) -> Op {
    Op {
        name,
        role: Role::Other,
        eval: Eval::Binary(eval),
        saves: Saves::Nothing,
        shapes: compare_shapes,
        work,
    }
}

/// A truth value as a number.
fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

/// The operators.
pub const OPS: &[Op] = &[
    compare("Equal", |a, b| truth((a - b).abs() <= 0.0)),
    compare("Greater", |a, b| truth(a > b)),
    compare("GreaterOrEqual", |a, b| truth(a >= b)),
    compare("Less", |a, b| truth(a < b)),
    compare("LessOrEqual", |a, b| truth(a <= b)),
    compare("And", |a, b| truth(a != 0.0 && b != 0.0)),
    compare("Or", |a, b| truth(a != 0.0 || b != 0.0)),
    compare("Xor", |a, b| truth((a != 0.0) != (b != 0.0))),
    Op { eval: Eval::No, shapes: binary_shapes, ..compare("BitwiseAnd", |a, _| a) },
    Op { eval: Eval::No, shapes: binary_shapes, ..compare("BitwiseOr", |a, _| a) },
    Op { eval: Eval::No, shapes: binary_shapes, ..compare("BitwiseXor", |a, _| a) },
    Op { eval: Eval::No, shapes: binary_shapes, ..compare("BitShift", |a, _| a) },
    Op { eval: Eval::Unary(|a| truth(a == 0.0)), shapes: test_shapes, ..compare("Not", |a, _| a) },
    Op {
        eval: Eval::Unary(|a| truth(a.is_nan())),
        shapes: test_shapes,
        role: Role::IsNan,
        ..compare("IsNaN", |a, _| a)
    },
    Op { eval: Eval::Unary(|a| truth(a.is_infinite())), shapes: test_shapes, ..compare("IsInf", |a, _| a) },
    Op::new("Where", Role::Where, where_shapes, |_, outputs| Work::vector(written(outputs))),
];

fn work(_: &Call, outputs: &[Tensor]) -> Work {
    Work::vector(written(outputs)).without_gradient()
}

fn compare_shapes(call: &Call) -> Shapes {
    let outputs = binary_shapes(call)?;
    Ok(outputs.into_iter().map(|out| Tensor { element: Element::Bool, ..out }).collect())
}

fn test_shapes(call: &Call) -> Shapes {
    let outputs = unary_shapes(call)?;
    Ok(outputs.into_iter().map(|out| Tensor { element: Element::Bool, ..out }).collect())
}

fn where_shapes(call: &Call) -> Shapes {
    let (condition, yes, no) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let dims = broadcast([condition, yes, no].map(|tensor| tensor.dims.as_slice()))?;
    let out = Tensor::new(yes.element, dims);
    Ok(vec![filled(out, |index| {
        let chosen = if at(condition, index)? == 0.0 { no } else { yes };
        at(chosen, index)
    })])
}
