//! A model as a list of operators over numbered values: functions inlined, names resolved, weights reduced to shapes.

use crate::ops::Op;
use crate::tensor::Tensor;

/// A value of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// Its place in tables of values.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One dimension as the model states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    /// Fixed when the model was exported.
    Known(i64),
    /// Left open under a name.
    Symbol(String),
    /// Not stated.
    Unknown,
}

/// What a model states of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The element type's number in onnx.proto.
    pub element: i32,
    /// The dimensions.
    pub dims: Vec<Dim>,
}

/// An input of the model.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: ValueId,
    /// Its type.
    pub declared: Declared,
}

/// A tensor that comes with the model.
#[derive(Clone, Debug)]
pub struct Initialiser {
    /// Its value.
    pub value: ValueId,
    /// What is known of it, its origin included.
    pub tensor: Tensor,
}

/// An attribute of an operator.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// One integer.
    Int(i64),
    /// One number.
    Float(f64),
    /// A text.
    Text(String),
    /// A tensor.
    Tensor(Tensor),
    /// Integers.
    Ints(Vec<i64>),
    /// Numbers.
    Floats(Vec<f64>),
    /// A body.
    Body(Body),
    /// Anything else.
    Other,
}

/// An operator of a model.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does; none if we do not know it.
    pub op: Option<&'static Op>,
    /// What the model calls it.
    pub name: String,
    /// What it reads; some inputs may be left out.
    pub inputs: Vec<Option<ValueId>>,
    /// What it writes.
    pub outputs: Vec<Option<ValueId>>,
    /// Its attributes by name.
    pub attributes: Vec<(String, Attribute)>,
}

impl Node {
    /// An attribute by name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, attribute)| attribute)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.attribute(name)? {
            Attribute::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        match self.attribute(name)? {
            Attribute::Ints(values) => Some(values),
            _ => None,
        }
    }

    /// A text attribute.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attribute(name)? {
            Attribute::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A graph attribute.
    pub fn body(&self, name: &str) -> Option<&Body> {
        match self.attribute(name)? {
            Attribute::Body(body) => Some(body),
            _ => None,
        }
    }
}

/// A graph inside an operator; it sees the values around it.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// What it is given.
    pub inputs: Vec<ValueId>,
    /// What it gives back; what it does not write itself comes from outside.
    pub outputs: Vec<ValueId>,
    /// Its operators, in an order in which they can run.
    pub nodes: Vec<Node>,
    /// Tensors that come with it.
    pub initialisers: Vec<Initialiser>,
}

/// A model, ready to be costed for any batch.
#[derive(Clone, Debug)]
pub struct Model {
    /// Who exported it.
    pub producer: String,
    /// The version of the standard operators.
    pub opset: i64,
    /// What it is given.
    pub inputs: Vec<Input>,
    /// Its operators and tensors.
    pub main: Body,
    /// What the file states of values, by value.
    pub declared: Vec<Option<Declared>>,
}
