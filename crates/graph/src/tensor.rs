//! What is known of a value while shapes are inferred.

use crate::limits::{CONTENT_MAX, ELEMENTS_MAX, RANK_MAX};
use crate::precision::Precision;
use std::rc::Rc;

/// The type of a tensor's elements, as far as costs tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// Any floating-point type: what the precision of the training decides.
    Float,
    /// An integer of so many bytes.
    Integer(u8),
    /// Truth values.
    Bool,
    /// Texts, and whatever else has no place on a GPU.
    Other,
}

impl Element {
    /// The element type with this number in onnx.proto.
    pub fn from_onnx(number: i32) -> Self {
        match number {
            1 | 10 | 11 | 16..=20 => Self::Float,
            2 | 3 | 21 | 22 => Self::Integer(1),
            4 | 5 => Self::Integer(2),
            6 | 12 => Self::Integer(4),
            7 | 13 => Self::Integer(8),
            9 => Self::Bool,
            _ => Self::Other,
        }
    }
}

/// Where a value comes from, which decides whether it costs anything and whether it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Known before the first step: constants, and what is computed from them or from shapes.
    Constant,
    /// A trained weight, or a view of one.
    Parameter,
    /// Computed from the model's inputs.
    Activation,
}

/// A value: its shape, and its content where that is small and known.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The type of its elements.
    pub element: Element,
    /// Its dimensions, none of them negative.
    pub dims: Vec<i64>,
    /// Its content, row by row. Shapes are computed in integers below 2^53 and scales in floats: a float holds both.
    pub content: Option<Rc<[f64]>>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether training computes a gradient with respect to it.
    pub trained: bool,
}

impl Tensor {
    /// A tensor of which only type and shape are known.
    pub fn new(element: Element, dims: Vec<i64>) -> Self {
        Self { element, dims, content: None, origin: Origin::Constant, trained: false }
    }

    /// A one-dimensional tensor of integers, such as a shape.
    pub fn list(values: Vec<f64>) -> Self {
        let dims = vec![values.len() as i64];
        Self::new(Element::Integer(8), dims).with_content(values)
    }

    /// The same with a content, unless that is too large to be a shape or has another size.
    pub fn with_content(mut self, content: Vec<f64>) -> Self {
        if content.len() <= CONTENT_MAX && content.len() as i64 == self.count() {
            self.content = Some(content.into());
        }
        self
    }

    /// Its elements.
    pub fn count(&self) -> i64 {
        self.dims.iter().fold(1, |product, dim| product.saturating_mul(*dim))
    }

    /// Its elements, to compute with.
    pub fn size(&self) -> f64 {
        self.count() as f64
    }

    /// Its bytes in a precision.
    pub fn bytes(&self, precision: Precision) -> f64 {
        self.size()
            * match self.element {
                Element::Float => precision.bytes(),
                Element::Integer(bytes) => f64::from(bytes),
                Element::Bool => 1.0,
                Element::Other => 0.0,
            }
    }

    /// Its content as integers.
    pub fn integers(&self) -> Option<Vec<i64>> {
        self.content.as_ref().map(|content| content.iter().map(|value| *value as i64).collect())
    }

    /// Its only element.
    pub fn scalar(&self) -> Option<f64> {
        self.content.as_ref().filter(|content| content.len() == 1).map(|content| content[0])
    }

    /// The place of a dimension that may be counted from the end.
    pub fn axis(&self, axis: i64) -> Option<usize> {
        let rank = self.dims.len() as i64;
        let axis = if axis < 0 { axis.checked_add(rank)? } else { axis };
        (0..rank).contains(&axis).then_some(axis as usize)
    }

    /// The product of the dimensions from `from` on.
    pub fn inner(&self, from: usize) -> f64 {
        self.dims.iter().skip(from).map(|dim| *dim as f64).product()
    }
}

/// Whether a tensor of these dimensions can exist.
pub fn is_possible(dims: &[i64]) -> bool {
    // Zeros must not hide an overflow: each dimension counts as at least one.
    let elements = dims
        .iter()
        .try_fold(1_i64, |product, dim| if *dim < 0 { None } else { product.checked_mul((*dim).max(1)) });
    dims.len() <= RANK_MAX && elements.is_some_and(|elements| elements <= ELEMENTS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_dimensions_are_found_even_behind_a_zero() {
        assert!(is_possible(&[]) && is_possible(&[0, 3]) && is_possible(&[1 << 20, 1 << 28]));
        assert!(!is_possible(&[-1]) && !is_possible(&[1 << 40, 1 << 40]) && !is_possible(&[0, i64::MAX, 2]));
        assert!(!is_possible(&[1; RANK_MAX + 1]));
    }
}
