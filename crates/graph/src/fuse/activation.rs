//! GELU as `x / 2 * (1 + erf(x / sqrt 2))` or with a hyperbolic tangent, and SiLU as `x * sigmoid(x)`.

use super::links::Links;
use super::{Group, Pattern};
use crate::model::ValueId;
use crate::ops::Role;

/// Operators inside the error function or the tangent.
const INSIDE_MAX: usize = 10;

/// The activation around an error function, a tangent or a logistic function.
pub fn at(links: &Links, step: usize) -> Option<Group> {
    match links.role(step) {
        Role::Erf | Role::Tanh => gelu(links, step),
        Role::Sigmoid => silu(links, step),
        _ => None,
    }
}

fn silu(links: &Links, step: usize) -> Option<Group> {
    let source = links.input(step, 0)?;
    let product = links.next(step, Role::Mul)?;
    (links.other(product, links.output(step)?)? == source).then(|| Group {
        pattern: Pattern::Activation,
        members: vec![step, product],
        keeps: vec![source],
        kept_wide: 0.0,
    })
}

fn gelu(links: &Links, step: usize) -> Option<Group> {
    let sum = links.next(step, Role::Add)?;
    links.scaled(sum)?;
    let product = links.next(sum, Role::Mul)?;
    let mut members = vec![step, sum, product];
    let side = links.other(product, links.output(sum)?)?;
    // The half may be taken of x before the product, or of the product after it.
    let half =
        links.producer(side).filter(|half| links.role(*half) == Role::Mul && links.only_use(side).is_some());
    let source = match half.and_then(|half| Some((half, links.scaled(half)?))) {
        Some((half, source)) => {
            members.push(half);
            source
        }
        None => side,
    };
    if let Some(after) =
        links.next(product, Role::Mul).filter(|after| half.is_none() && links.scaled(*after).is_some())
    {
        members.push(after);
    }
    inside(links, links.input(step, 0)?, source, &mut members)?;
    Some(Group { pattern: Pattern::Activation, members, keeps: vec![source], kept_wide: 0.0 })
}

/// Collects what computes `value` from `source` and constants alone.
fn inside(links: &Links, value: ValueId, source: ValueId, members: &mut Vec<usize>) -> Option<()> {
    if value == source || links.is_constant(value) {
        return Some(());
    }
    let step = links.producer(value)?;
    let arithmetic = matches!(links.role(step), Role::Add | Role::Mul | Role::Div | Role::Pow);
    if !arithmetic || members.len() > INSIDE_MAX {
        return None;
    }
    members.push(step);
    inside(links, links.input(step, 0)?, source, members)?;
    inside(links, links.input(step, 1)?, source, members)
}
