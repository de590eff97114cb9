//! Sums of products by letters.

use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::Tensor;
use std::collections::BTreeMap;

/// The operators.
pub const OPS: &[Op] = &[Op::new("Einsum", Role::Other, shapes, work)];

/// A letter of the equation, or a place in its ellipsis, counted from the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Hidden(usize),
    Letter(char),
}

/// The sizes of all labels, and the labels of the result.
fn read(call: &Call) -> Result<(BTreeMap<Label, i64>, Vec<Label>), Fault> {
    let equation: String =
        call.node.text("equation").ok_or(Fault)?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) =
        equation.split_once("->").map_or((equation.as_str(), None), |(left, right)| (left, Some(right)));
    let (mut sizes, mut seen, mut hidden) = (BTreeMap::new(), BTreeMap::new(), 0);
    for (index, term) in left.split(',').enumerate() {
        let dims = &call.input(index)?.dims;
        let letters = term.replace("...", "").chars().count();
        let width = if term.contains("...") { dims.len().checked_sub(letters).ok_or(Fault)? } else { 0 };
        hidden = hidden.max(width);
        let labels = labels(term, width);
        if labels.len() != dims.len() {
            return Err(Fault);
        }
        for (label, dim) in labels.into_iter().zip(dims) {
            let size = sizes.entry(label).or_insert(*dim);
            *size = (*size).max(*dim);
            *seen.entry(label).or_insert(0) += 1;
        }
    }
    let once = || seen.iter().filter(|(label, count)| **count == 1 || matches!(label, Label::Hidden(_)));
    let out = right.map_or_else(|| once().map(|(label, _)| *label).collect(), |right| labels(right, hidden));
    Ok((sizes, out))
}

fn labels(term: &str, width: usize) -> Vec<Label> {
    let Some((before, after)) = term.split_once("...") else {
        return term.chars().map(Label::Letter).collect();
    };
    let hidden = (0..width).rev().map(Label::Hidden);
    before.chars().map(Label::Letter).chain(hidden).chain(after.chars().map(Label::Letter)).collect()
}

fn shapes(call: &Call) -> Shapes {
    let (sizes, out) = read(call)?;
    let dims: Option<Vec<i64>> = out.iter().map(|label| sizes.get(label).copied()).collect();
    Ok(vec![call.like(dims.ok_or(Fault)?)?])
}

/// As if all operands met at once: what exporters write has two.
fn work(call: &Call, _: &[Tensor]) -> Work {
    let Ok((sizes, _)) = read(call) else { return Work::memory() };
    let all: f64 = sizes.values().map(|size| *size as f64).product();
    if call.inputs.len() < 2 { Work::vector(all) } else { Work::matrix(2.0 * all) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipsis_counts_from_the_right() {
        assert_eq!(
            labels("a...b", 2),
            [Label::Letter('a'), Label::Hidden(1), Label::Hidden(0), Label::Letter('b')]
        );
        assert_eq!(labels("ij", 2).len(), 2);
    }
}
