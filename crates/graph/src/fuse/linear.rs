//! A product with a weight and the bias after it: libraries add the bias before they write the result.

use super::links::Links;
use super::{Group, Pattern};
use crate::ops::Role;

/// The linear layer that begins with a product.
pub fn at(links: &Links, step: usize) -> Option<Group> {
    if links.role(step) != Role::MatMul {
        return None;
    }
    let (source, weight) = (links.input(step, 0)?, links.input(step, 1)?);
    let sum = links.next(step, Role::Add)?;
    let bias = links.other(sum, links.output(step)?)?;
    (links.is_parameter(weight) && links.is_parameter(bias)).then(|| Group {
        pattern: Pattern::Linear,
        members: vec![step, sum],
        keeps: vec![source],
        kept_wide: 0.0,
    })
}
