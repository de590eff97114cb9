//! The operators that we know: one file per family, one registry.
//!
//! An operator is found by domain and name. Versions differ in where axes and sizes are given (attribute, later input) and
//! in a default axis; every operator here reads both places, so it needs no table by version.

mod attention;
mod constant;
mod control;
mod convolution;
mod data;
mod einsum;
mod elementwise;
mod gather;
mod layout;
mod logic;
mod matrix;
mod normalise;
mod pool;
mod quantised;
mod recurrent;
mod reduce;
mod resize;
mod select;
mod shape;
pub mod work;

use crate::model::Node;
use crate::tensor::{Element, Tensor};
use std::collections::BTreeMap;
use work::{Saves, Work};

/// The families of operators.
pub const OPS: &[&[Op]] = &[
    attention::OPS,
    constant::OPS,
    control::OPS,
    convolution::OPS,
    einsum::OPS,
    elementwise::OPS,
    gather::OPS,
    layout::OPS,
    logic::OPS,
    matrix::OPS,
    normalise::OPS,
    pool::OPS,
    quantised::OPS,
    recurrent::OPS,
    reduce::OPS,
    resize::OPS,
    select::OPS,
    shape::OPS,
];

/// What an operator means to those who look for patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing in particular.
    Other,
    /// A sum of two.
    Add,
    /// A difference.
    Sub,
    /// A product, element by element.
    Mul,
    /// A quotient.
    Div,
    /// A power.
    Pow,
    /// A choice between two.
    Where,
    /// Another element type.
    Cast,
    /// The same again.
    Identity,
    /// Random zeros.
    Dropout,
    /// A test for not-a-number.
    IsNan,
    /// The error function.
    Erf,
    /// The hyperbolic tangent.
    Tanh,
    /// The logistic function.
    Sigmoid,
    /// A square root.
    Sqrt,
    /// One over it.
    Reciprocal,
    /// A rectifier.
    Relu,
    /// A mean over axes.
    ReduceMean,
    /// Exponentials that sum to one.
    Softmax,
    /// A product of matrices without a bias.
    MatMul,
    /// A product of matrices with a bias.
    Gemm,
    /// A convolution.
    Conv,
    /// A recurrent layer.
    Recurrent,
    /// A normalisation.
    Norm,
    /// Attention in one operator.
    Attention,
    /// Two axes or more made one.
    Flatten,
    /// Rows chosen by index.
    Gather,
    /// One of two bodies.
    If,
    /// A body again and again.
    Loop,
    /// A body for every slice.
    Scan,
}

/// How the content of small tensors follows.
#[derive(Clone, Copy, Debug)]
pub enum Eval {
    /// It does not.
    No,
    /// From one number.
    Unary(fn(f64) -> f64),
    /// From two or more, in pairs.
    Binary(fn(f64, f64) -> f64),
}

/// A shape that cannot be told: something is missing, or does not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// What an operator writes.
pub type Shapes = Result<Vec<Tensor>, Fault>;

/// An operator that we know.
#[derive(Debug)]
pub struct Op {
    /// Its name in the standard.
    pub name: &'static str,
    /// What it means to those who look for patterns.
    pub role: Role,
    /// How small contents follow.
    pub eval: Eval,
    /// What training keeps of it, where the family leaves that open.
    pub saves: Saves,
    /// The shapes of what it writes.
    pub shapes: fn(&Call) -> Shapes,
    /// What that costs.
    pub work: fn(&Call, &[Tensor]) -> Work,
}

impl Op {
    const fn new(
        name: &'static str,
        role: Role,
        shapes: fn(&Call) -> Shapes,
        work: fn(&Call, &[Tensor]) -> Work,
    ) -> Self {
        Self { name, role, eval: Eval::No, saves: Saves::Nothing, shapes, work }
    }
}

/// An operator and what it is given.
pub struct Call<'a> {
    /// The operator in the model.
    pub node: &'a Node,
    /// How small contents follow.
    pub eval: Eval,
    /// What training keeps.
    pub saves: Saves,
    /// What it reads.
    pub inputs: Vec<Option<&'a Tensor>>,
    /// The version of the standard operators.
    pub opset: i64,
}

impl Call<'_> {
    /// An input that may be left out.
    pub fn given(&self, index: usize) -> Option<&Tensor> {
        self.inputs.get(index).copied().flatten()
    }

    /// An input that must be there.
    pub fn input(&self, index: usize) -> Result<&Tensor, Fault> {
        self.given(index).ok_or(Fault)
    }

    /// Elements of an input, 0 if it is left out.
    pub fn size(&self, index: usize) -> f64 {
        self.given(index).map_or(0.0, Tensor::size)
    }

    /// Numbers that come as an attribute or, in later versions, as an input.
    pub fn numbers(&self, attribute: &str, index: usize) -> Result<Option<Vec<i64>>, Fault> {
        if let Some(values) = self.node.ints(attribute) {
            return Ok(Some(values.to_vec()));
        }
        self.given(index).map(|tensor| tensor.integers().ok_or(Fault)).transpose()
    }

    /// A tensor like input 0 in type, of another shape.
    pub fn like(&self, dims: Vec<i64>) -> Result<Tensor, Fault> {
        Ok(Tensor::new(self.input(0)?.element, dims))
    }

    /// The element type that an attribute names, else that of input 0.
    pub fn element(&self, attribute: &str) -> Element {
        let own = self.given(0).map_or(Element::Float, |tensor| tensor.element);
        self.node.int(attribute).map_or(own, |number| Element::from_onnx(number as i32))
    }

    /// The axis that an attribute names, in input 0.
    pub fn axis(&self, default: i64) -> Result<usize, Fault> {
        self.input(0)?.axis(self.node.int("axis").unwrap_or(default)).ok_or(Fault)
    }
}

/// Elements that a call writes.
fn written(outputs: &[Tensor]) -> f64 {
    outputs.iter().map(Tensor::size).sum()
}

/// The registry by name.
pub(crate) struct Registry(BTreeMap<&'static str, &'static Op>);

/// Domains whose operators are those of the standard, or extend them under names of their own.
const DOMAINS: [&str; 4] = ["", "ai.onnx", "com.microsoft", "ai.onnx.ml"];

impl Registry {
    /// All operators.
    pub(crate) fn new() -> Self {
        Self(OPS.iter().flat_map(|family| family.iter()).map(|op| (op.name, op)).collect())
    }

    /// An operator by domain and name.
    pub(crate) fn find(&self, domain: &str, name: &str) -> Option<&'static Op> {
        DOMAINS.contains(&domain).then(|| self.0.get(name).copied()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_is_registered_twice() {
        let all = OPS.iter().map(|family| family.len()).sum::<usize>();
        assert_eq!(Registry::new().0.len(), all);
        assert!(all > 150);
    }
}
