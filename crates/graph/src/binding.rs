//! Sizes for the dimensions that a model leaves open.
//!
//! Sizes are bound before shapes are inferred, instead of carrying formulas in the batch through every operator: inference
//! is a fraction of the time of reading the file and can be repeated for every batch, while formulas would have to survive
//! divisions, slices and comparisons of shapes, which exporters write freely.

use crate::error::GraphError;
use crate::model::{Declared, Dim, Input, Model};
use crate::tensor::is_possible;
use std::collections::BTreeMap;

/// What the caller wants to know the costs for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// Samples in a step; by default that of the export, or 1.
    pub batch: Option<i64>,
    /// The length of sequences, where the model leaves that open.
    pub sequence: Option<i64>,
    /// Sizes of dimensions by the names they have in the model; these come first.
    pub dims: BTreeMap<String, i64>,
}

/// What became of the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch {
    /// The model leaves it open, and shapes were inferred for this size.
    Open(i64),
    /// It was fixed in the export; costs were computed for that and scaled to what was asked for.
    Scaled {
        /// The size in the export.
        exported: i64,
        /// The size asked for.
        asked: i64,
    },
}

impl Batch {
    /// Samples in a step.
    pub fn size(self) -> i64 {
        match self {
            Self::Open(size) => size,
            Self::Scaled { asked, .. } => asked,
        }
    }

    /// What costs must be multiplied by.
    pub fn factor(self) -> f64 {
        match self {
            Self::Open(_) => 1.0,
            Self::Scaled { exported, asked } => asked as f64 / exported.max(1) as f64,
        }
    }
}

/// What a dimension stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Batch,
    Sequence,
    Other,
}

/// The sizes of every input, and what became of the batch.
pub fn bind(model: &Model, binding: &Binding) -> Result<(Vec<Vec<i64>>, Batch), GraphError> {
    let open = model.inputs.iter().any(|input| {
        let mut dims = input.declared.dims.iter().enumerate();
        dims.any(|(axis, dim)| meaning(input, axis, dim) == Some(Meaning::Batch))
    });
    let exported = model.inputs.iter().find_map(|input| match input.declared.dims.first() {
        Some(Dim::Known(size)) => Some(*size),
        _ => None,
    });
    let batch = match (open, exported, binding.batch) {
        (false, Some(exported), asked) => Batch::Scaled { exported, asked: asked.unwrap_or(exported) },
        (_, _, asked) => Batch::Open(asked.unwrap_or(1)),
    };
    let sizes: Result<Vec<_>, _> = model.inputs.iter().map(|input| sizes(input, binding)).collect();
    Ok((sizes?, batch))
}

fn sizes(input: &Input, binding: &Binding) -> Result<Vec<i64>, GraphError> {
    let sizes = input.declared.dims.iter().enumerate().map(|(axis, dim)| {
        let symbol = match dim {
            Dim::Known(size) => return Ok(*size),
            Dim::Symbol(name) => name.clone(),
            Dim::Unknown => format!("{}[{axis}]", input.name),
        };
        let given = binding.dims.get(&symbol).copied().or_else(|| match meaning(input, axis, dim)? {
            Meaning::Batch => Some(binding.batch.unwrap_or(1)),
            Meaning::Sequence => binding.sequence,
            Meaning::Other => None,
        });
        given.ok_or(GraphError::Unbound { symbol })
    });
    let sizes: Vec<i64> = sizes.collect::<Result<_, _>>()?;
    if is_possible(&sizes) {
        Ok(sizes)
    } else {
        Err(GraphError::ImpossibleTensor { name: input.name.clone() })
    }
}

/// What an open dimension stands for, by its name or else by its place; nothing if it is not open.
fn meaning(input: &Input, axis: usize, dim: &Dim) -> Option<Meaning> {
    let name = match dim {
        Dim::Known(_) => return None,
        Dim::Symbol(name) => name.to_lowercase(),
        Dim::Unknown => String::new(),
    };
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    Some(if has(&["batch"]) || ["b", "n", "bs"].contains(&name.as_str()) {
        Meaning::Batch
    } else if has(&["seq", "len", "time", "token", "step"]) || ["s", "t", "l"].contains(&name.as_str()) {
        Meaning::Sequence
    } else if has(&["height", "width", "channel"]) || ["h", "w", "c"].contains(&name.as_str()) {
        Meaning::Other
    } else if axis == 0 {
        Meaning::Batch
    } else if input.declared.dims.len() <= 3 {
        Meaning::Sequence
    } else {
        Meaning::Other
    })
}

/// The dimensions that a model states of a value, if all of them are known under this binding.
pub fn stated(declared: &Declared, binding: &Binding) -> Option<Vec<i64>> {
    let dims = declared.dims.iter().map(|dim| match dim {
        Dim::Known(size) => Some(*size),
        Dim::Symbol(name) => binding.dims.get(name).copied().or(match name.as_str() {
            "batch" | "batch_size" => binding.batch,
            "sequence" | "sequence_length" | "seq" | "seq_len" => binding.sequence,
            _ => None,
        }),
        Dim::Unknown => None,
    });
    dims.collect::<Option<Vec<_>>>().filter(|dims| is_possible(dims))
}
