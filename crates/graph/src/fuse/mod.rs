//! Operators that an exporter took apart and a GPU runs as one kernel: attention, GELU and SiLU, normalisation of
//! layers, linear layers with their bias.
//!
//! Without this, the square tensors between the two products of attention would count as traffic and as memory kept for the
//! backward pass, two to three times too much for a transformer.

mod activation;
mod attention;
mod linear;
mod links;
mod normalise;

use crate::model::ValueId;
use crate::walk::Walk;
use links::Links;

/// What was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Two products of matrices around a softmax: flash attention.
    Attention,
    /// GELU by the error function or the hyperbolic tangent, and SiLU.
    Activation,
    /// Layer or root-mean-square normalisation.
    Norm,
    /// A product of matrices and its bias.
    Linear,
}

/// Operators that run as one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// What it is.
    pub pattern: Pattern,
    /// Places of its operators among the steps, in order.
    pub members: Vec<usize>,
    /// What training keeps of it.
    pub keeps: Vec<ValueId>,
    /// Numbers kept besides, of four bytes each: sums or means of rows.
    pub kept_wide: f64,
}

/// All groups of a walk; no operator is in two.
pub fn groups(walk: &Walk) -> Vec<Group> {
    let links = Links::new(walk);
    let mut taken = vec![false; walk.steps.len()];
    let mut found = Vec::new();
    for step in 0..walk.steps.len() {
        let group = attention::at(&links, step)
            .or_else(|| activation::at(&links, step))
            .or_else(|| normalise::at(&links, step))
            .or_else(|| linear::at(&links, step));
        let Some(mut group) = group else { continue };
        group.members.sort_unstable();
        group.members.dedup();
        let repeat = |step: &usize| walk.steps[*step].repeat.to_bits();
        let together = group.members.iter().all(|step| repeat(step) == repeat(&group.members[0]));
        if together && !group.members.iter().any(|step| taken[*step]) {
            group.members.iter().for_each(|step| taken[*step] = true);
            found.push(group);
        }
    }
    found
}
