//! Trained weights: those that something reads, each name once, running statistics left out.

use crate::model::{Attribute, Body, Model, ValueId};
use crate::tensor::{Origin, Tensor};

/// The trained weights of a model. Weights that are tied have one name in an export, and count once.
pub fn parameters(model: &Model) -> f64 {
    let mut state = vec![Use::Not; model.declared.len()];
    uses(&model.main, &mut state);
    let mut all = Vec::new();
    weights(&model.main, &mut all);
    let counted = all.iter().filter(|(value, _)| state[value.index()] == Use::Weight);
    counted.map(|(_, tensor)| tensor.size()).sum()
}

/// What an initialiser is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Not,
    Statistic,
    Weight,
}

fn uses(body: &Body, state: &mut [Use]) {
    for node in &body.nodes {
        let is_batch_norm = node.op.is_some_and(|op| op.name == "BatchNormalization");
        for (index, value) in node.inputs.iter().enumerate() {
            let Some(value) = value else { continue };
            let own = &mut state[value.index()];
            if is_batch_norm && index >= 3 {
                *own = if *own == Use::Not { Use::Statistic } else { *own };
            } else {
                *own = Use::Weight;
            }
        }
        for (_, attribute) in &node.attributes {
            if let Attribute::Body(body) = attribute {
                uses(body, state);
            }
        }
    }
}

fn weights<'m>(body: &'m Body, found: &mut Vec<(ValueId, &'m Tensor)>) {
    let own = body.initialisers.iter().filter(|own| own.tensor.origin == Origin::Parameter);
    found.extend(own.map(|own| (own.value, &own.tensor)));
    for (_, attribute) in body.nodes.iter().flat_map(|node| &node.attributes) {
        if let Attribute::Body(body) = attribute {
            weights(body, found);
        }
    }
}
