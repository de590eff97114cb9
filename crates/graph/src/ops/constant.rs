//! Values that come from nowhere: constants, ranges, random numbers.

use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes};
use crate::limits::CONTENT_MAX;
use crate::model::Attribute;
use crate::tensor::{Element, Tensor, is_possible};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Constant", Role::Other, constant_shapes, |_, _| Work::nothing()),
    Op::new("ConstantOfShape", Role::Other, constant_of_shape, |_, _| Work::memory().without_gradient()),
    Op::new("Range", Role::Other, range_shapes, |_, _| Work::memory().without_gradient()),
    Op::new("RandomNormal", Role::Other, random_shapes, random_work),
    Op::new("RandomUniform", Role::Other, random_shapes, random_work),
    Op::new("RandomNormalLike", Role::Other, random_like, random_work),
    Op::new("RandomUniformLike", Role::Other, random_like, random_work),
    Op::new("Bernoulli", Role::Other, random_like, random_work),
    Op::new("Multinomial", Role::Other, multinomial_shapes, random_work),
    Op::new("EyeLike", Role::Other, random_like, |_, _| Work::memory().without_gradient()),
];

fn random_work(_: &Call, outputs: &[Tensor]) -> Work {
    Work::vector(super::written(outputs)).without_gradient()
}

fn constant_shapes(call: &Call) -> Shapes {
    let node = call.node;
    if let Some(Attribute::Tensor(tensor)) = node.attribute("value") {
        return Ok(vec![tensor.clone()]);
    }
    let scalar = |element, value| Tensor::new(element, Vec::new()).with_content(vec![value]);
    Ok(vec![match (node.attribute("value_int"), node.attribute("value_float")) {
        (Some(Attribute::Int(value)), _) => scalar(Element::Integer(8), *value as f64),
        (_, Some(Attribute::Float(value))) => scalar(Element::Float, *value),
        _ => match (node.attribute("value_ints"), node.attribute("value_floats")) {
            (Some(Attribute::Ints(values)), _) => {
                Tensor::list(values.iter().map(|value| *value as f64).collect())
            }
            (_, Some(Attribute::Floats(values))) => {
                Tensor::new(Element::Float, vec![values.len() as i64]).with_content(values.clone())
            }
            // A sparse tensor, or texts.
            _ => return Err(Fault),
        },
    }])
}

fn constant_of_shape(call: &Call) -> Shapes {
    let dims = call.input(0)?.integers().ok_or(Fault)?;
    let (element, value) = match call.node.attribute("value") {
        Some(Attribute::Tensor(tensor)) => (tensor.element, tensor.scalar()),
        _ => (Element::Float, Some(0.0)),
    };
    let possible = is_possible(&dims);
    let out = Tensor::new(element, dims);
    let count = out.count();
    Ok(vec![match value {
        Some(value) if possible && count <= CONTENT_MAX as i64 => {
            out.with_content(vec![value; count as usize])
        }
        _ => out,
    }])
}

fn range_shapes(call: &Call) -> Shapes {
    let [start, limit, delta] = [0, 1, 2].map(|index| call.input(index).ok().and_then(Tensor::scalar));
    let (start, limit, delta) = (start.ok_or(Fault)?, limit.ok_or(Fault)?, delta.ok_or(Fault)?);
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() {
        return Err(Fault);
    }
    let out = call.like(vec![count as i64])?;
    let short = count <= CONTENT_MAX as f64;
    Ok(vec![if short {
        out.with_content((0..count as i64).map(|at| start + delta * at as f64).collect())
    } else {
        out
    }])
}

fn random_shapes(call: &Call) -> Shapes {
    let dims = call.node.ints("shape").ok_or(Fault)?.to_vec();
    Ok(vec![Tensor::new(Element::Float, dims)])
}

fn random_like(call: &Call) -> Shapes {
    Ok(vec![Tensor::new(call.element("dtype"), call.input(0)?.dims.clone())])
}

fn multinomial_shapes(call: &Call) -> Shapes {
    let rows = *call.input(0)?.dims.first().ok_or(Fault)?;
    Ok(vec![Tensor::new(Element::Integer(4), vec![rows, call.node.int("sample_size").unwrap_or(1)])])
}
