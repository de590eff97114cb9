//! Arithmetic and activations, element by element: one operation per element written.

use super::data::{at, broadcast, filled};
use super::work::{Saves, Work};
use super::{Call, Eval, Fault, Op, Role, Shapes, written};
use crate::limits::OPERANDS_MAX;
use crate::tensor::{Element, Tensor};
use Saves::{Crosswise, Input, Nothing, Output};

const fn unary(name: &'static str, role: Role, saves: Saves, eval: fn(f64) -> f64) -> Op {
    Op { name, role, eval: Eval::Unary(eval), saves, shapes: unary_shapes, work }
}

/// An activation whose content nobody computes shapes from.
const fn activation(name: &'static str, saves: Saves) -> Op {
    Op { name, role: Role::Other, eval: Eval::No, saves, shapes: unary_shapes, work }
}

const fn binary(name: &'static str, role: Role, saves: Saves, eval: fn(f64, f64) -> f64) -> Op {
    Op { name, role, eval: Eval::Binary(eval), saves, shapes: binary_shapes, work }
}

/// The operators.
pub const OPS: &[Op] = &[
    binary("Add", Role::Add, Nothing, |a, b| a + b),
    binary("Sub", Role::Sub, Nothing, |a, b| a - b),
    binary("Mul", Role::Mul, Crosswise, |a, b| a * b),
    Op { shapes: div_shapes, ..binary("Div", Role::Div, Crosswise, |a, b| a / b) },
    binary("Pow", Role::Pow, Input, f64::powf),
    binary("Mod", Role::Other, Nothing, |a, b| a - b * (a / b).floor()),
    binary("Max", Role::Other, Crosswise, f64::max),
    binary("Min", Role::Other, Crosswise, f64::min),
    binary("Sum", Role::Other, Nothing, |a, b| a + b),
    Op { eval: Eval::No, ..binary("Mean", Role::Other, Nothing, |a, _| a) },
    Op { eval: Eval::No, ..binary("PRelu", Role::Other, Input, |a, _| a) },
    Op { eval: Eval::No, ..binary("BiasGelu", Role::Other, Input, |a, _| a) },
    Op { eval: Eval::No, ..binary("SwiGLU", Role::Other, Crosswise, |a, _| a) },
    unary("Neg", Role::Other, Nothing, |a| -a),
    unary("Abs", Role::Other, Input, f64::abs),
    unary("Sign", Role::Other, Nothing, |a| if a == 0.0 { 0.0 } else { a.signum() }),
    unary("Floor", Role::Other, Nothing, f64::floor),
    unary("Ceil", Role::Other, Nothing, f64::ceil),
    unary("Round", Role::Other, Nothing, f64::round_ties_even),
    unary("Sqrt", Role::Sqrt, Output, f64::sqrt),
    unary("Exp", Role::Other, Output, f64::exp),
    unary("Log", Role::Other, Input, f64::ln),
    unary("Reciprocal", Role::Reciprocal, Output, |a| 1.0 / a),
    unary("Relu", Role::Relu, Output, |a| a.max(0.0)),
    unary("Tanh", Role::Tanh, Output, f64::tanh),
    unary("Sigmoid", Role::Sigmoid, Output, |a| 1.0 / (1.0 + (-a).exp())),
    Op { role: Role::Erf, ..activation("Erf", Input) },
    activation("LeakyRelu", Input),
    activation("ThresholdedRelu", Input),
    activation("Elu", Output),
    activation("Selu", Output),
    activation("Celu", Output),
    activation("Gelu", Input),
    activation("FastGelu", Input),
    activation("QuickGelu", Input),
    activation("Swish", Input),
    activation("Mish", Input),
    activation("HardSigmoid", Input),
    activation("HardSwish", Input),
    activation("Softplus", Input),
    activation("Softsign", Input),
    activation("Shrink", Input),
    activation("Sin", Input),
    activation("Cos", Input),
    activation("Tan", Output),
    activation("Asin", Input),
    activation("Acos", Input),
    activation("Atan", Input),
    activation("Sinh", Input),
    activation("Cosh", Input),
    activation("Asinh", Input),
    activation("Acosh", Input),
    activation("Atanh", Input),
    Op { eval: Eval::No, shapes: clip_shapes, ..activation("Clip", Input) },
    activation("BitwiseNot", Nothing),
    Op { shapes: cumulative_shapes, ..activation("CumSum", Nothing) },
    Op::new("Cast", Role::Cast, cast_shapes, cast_work),
    Op::new("CastLike", Role::Cast, cast_shapes, cast_work),
    Op::new("Dropout", Role::Dropout, dropout_shapes, dropout_work),
    Op::new("Identity", Role::Identity, unary_shapes, |_, _| Work::view()),
];

/// One operation per element that is written.
pub fn work(call: &Call, outputs: &[Tensor]) -> Work {
    Work::vector(written(outputs)).saving(call.saves)
}

pub fn unary_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let out = Tensor { content: None, ..input.clone() };
    Ok(vec![match (call.eval, &input.content) {
        (Eval::Unary(eval), Some(content)) => {
            out.with_content(content.iter().map(|value| eval(*value)).collect())
        }
        (_, Some(content)) if call.node.op.is_some_and(|op| op.role == Role::Identity) => {
            out.with_content(content.to_vec())
        }
        _ => out,
    }])
}

pub fn binary_shapes(call: &Call) -> Shapes {
    let given: Vec<&Tensor> = call.inputs.iter().copied().flatten().collect();
    let first = given.first().ok_or(Fault)?;
    let dims = broadcast(given.iter().map(|tensor| tensor.dims.as_slice()))?;
    // A constant does not decide the type of what it scales.
    let element = if given.iter().any(|tensor| tensor.element == Element::Float) {
        Element::Float
    } else {
        first.element
    };
    let out = Tensor::new(element, dims);
    let Eval::Binary(eval) = call.eval else { return Ok(vec![out]) };
    if given.len() > OPERANDS_MAX || given.iter().any(|tensor| tensor.content.is_none()) {
        return Ok(vec![out]);
    }
    Ok(vec![filled(out, |index| {
        let mut values = given.iter().map(|tensor| at(tensor, index));
        let first = values.next().flatten()?;
        values.try_fold(first, |sum, value| Some(eval(sum, value?)))
    })])
}

/// Integers divide without a remainder.
fn div_shapes(call: &Call) -> Shapes {
    let mut outputs = binary_shapes(call)?;
    for out in &mut outputs {
        if out.element != Element::Float {
            out.content =
                out.content.take().map(|content| content.iter().map(|value| value.trunc()).collect());
        }
    }
    Ok(outputs)
}

fn clip_shapes(call: &Call) -> Shapes {
    let low = call.given(1).map_or(Some(f64::NEG_INFINITY), Tensor::scalar);
    let high = call.given(2).map_or(Some(f64::INFINITY), Tensor::scalar);
    let mut outputs = unary_shapes(call)?;
    if let (Some(low), Some(high), Some(content)) = (low, high, &call.input(0)?.content) {
        let clipped: Vec<f64> = content.iter().map(|value| value.max(low).min(high)).collect();
        outputs = outputs.into_iter().map(|out| out.with_content(Vec::clone(&clipped))).collect();
    }
    Ok(outputs)
}

/// Sums along one axis; the content only where there is one axis.
fn cumulative_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let out = Tensor { content: None, ..input.clone() };
    Ok(vec![match &input.content {
        Some(content) if input.dims.len() == 1 => {
            let mut sum = 0.0;
            out.with_content(
                content
                    .iter()
                    .map(|value| {
                        sum += value;
                        sum
                    })
                    .collect(),
            )
        }
        _ => out,
    }])
}

fn cast_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let element = call.given(1).map_or(call.element("to"), |like| like.element);
    let out = Tensor::new(element, input.dims.clone());
    Ok(vec![match &input.content {
        Some(content) if element == Element::Bool => {
            out.with_content(content.iter().map(|value| f64::from(u8::from(*value != 0.0))).collect())
        }
        Some(content) if matches!(element, Element::Integer(_)) => {
            out.with_content(content.iter().map(|value| value.trunc()).collect())
        }
        Some(content) => out.with_content(content.to_vec()),
        None => out,
    }])
}

/// Between floating-point types the precision of the training decides, so nothing moves.
fn cast_work(call: &Call, outputs: &[Tensor]) -> Work {
    let same = call.given(0).zip(outputs.first()).is_some_and(|(input, out)| input.element == out.element);
    if same { Work::view() } else { Work::memory() }
}

fn dropout_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let out = Tensor { content: None, ..input.clone() };
    Ok(vec![out, Tensor::new(Element::Bool, input.dims.clone())])
}

/// A dropout that drops nothing is not there.
fn dropout_work(call: &Call, outputs: &[Tensor]) -> Work {
    let ratio = call.given(1).map_or(Some(0.5), Tensor::scalar);
    let training = call.given(2).map_or(Some(f64::from(u8::from(call.opset < 12))), Tensor::scalar);
    if ratio == Some(0.0) || training == Some(0.0) {
        return Work::view();
    }
    Work::vector(outputs.first().map_or(0.0, Tensor::size)).saving(Saves::Mask)
}
