//! Trained weights: those that something reads as such, each name once. Running statistics, masks and tables of zeros are none.

use crate::model::{Attribute, Body, Model, ValueId};
use crate::tensor::{Origin, Tensor};

/// The trained weights of a model. Weights that are tied have one name in an export, and count once.
pub fn parameters(model: &Model) -> f64 {
    let mut state = vec![Use::Other; model.declared.len()];
    uses(&model.main, &mut state);
    let mut all = Vec::new();
    weights(&model.main, &mut all);
    let counted = all.iter().filter(|(value, _)| state[value.index()] == Use::Weight);
    counted.map(|(_, tensor)| tensor.size()).sum()
}

/// Operators whose floats are masks, starting values and sizes, never trained.
const READ_NO_WEIGHTS: [&str; 9] =
    ["Where", "Scatter", "ScatterElements", "ScatterND", "Resize", "Upsample", "Pad", "Clip", "OneHot"];

/// What an initialiser is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Other,
    Weight,
}

fn uses(body: &Body, state: &mut [Use]) {
    for node in &body.nodes {
        let name = node.op.map_or("", |op| op.name);
        // Running mean and variance come fourth and fifth.
        let most = if name == "BatchNormalization" { 3 } else { usize::MAX };
        let most = if READ_NO_WEIGHTS.contains(&name) { 0 } else { most };
        for value in node.inputs.iter().take(most).flatten() {
            state[value.index()] = Use::Weight;
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
