//! Normalisation of layers around its square root: `(x - mean) / sqrt(mean of squares + epsilon) * weight + bias`, or the
//! same without the mean.

use super::links::Links;
use super::{Group, Pattern};
use crate::model::ValueId;
use crate::ops::Role;

/// Operators under the square root.
const INSIDE_MAX: usize = 8;

/// The normalisation around a square root.
pub fn at(links: &Links, step: usize) -> Option<Group> {
    if links.role(step) != Role::Sqrt {
        return None;
    }
    let mut members = vec![step];
    let variance = under(links, links.input(step, 0)?, &mut members)?;
    let (source, centred) = centre(links, variance, &mut members);
    let last = over(links, step, centred, &mut members)?;
    let last = weighted(links, last, Role::Mul, &mut members);
    weighted(links, last, Role::Add, &mut members);
    let tensor = links.walk.tensor(source)?;
    let rows = tensor.size() / (*tensor.dims.last()?).max(1) as f64;
    Some(Group { pattern: Pattern::Norm, members, keeps: vec![source], kept_wide: 2.0 * rows })
}

/// From the root to what is squared: plus epsilon, mean, square.
fn under(links: &Links, value: ValueId, members: &mut Vec<usize>) -> Option<ValueId> {
    let mut value = value;
    let mut averaged = false;
    while members.len() < INSIDE_MAX {
        let step = links.producer(value)?;
        members.push(step);
        value = match links.role(step) {
            Role::Add => links.scaled(step)?,
            Role::Cast => links.input(step, 0)?,
            Role::ReduceMean => {
                averaged = true;
                links.input(step, 0)?
            }
            Role::Pow if averaged => return links.scaled(step),
            Role::Mul if averaged && links.input(step, 0) == links.input(step, 1) => {
                return links.input(step, 0);
            }
            _ => return None,
        };
    }
    None
}

/// What is normalised, and the same with its mean taken away, if it is.
fn centre(links: &Links, squared: ValueId, members: &mut Vec<usize>) -> (ValueId, ValueId) {
    let found = || {
        let step = links.producer(squared).filter(|step| links.role(*step) == Role::Sub)?;
        let (source, mean) = (links.input(step, 0)?, links.input(step, 1)?);
        let average = links.producer(mean).filter(|step| links.role(*step) == Role::ReduceMean)?;
        (links.input(average, 0) == Some(source)).then_some((source, step, average))
    };
    let Some((source, step, average)) = found() else { return (squared, squared) };
    members.extend([step, average]);
    (source, squared)
}

/// From the root to the quotient.
fn over(links: &Links, root: usize, centred: ValueId, members: &mut Vec<usize>) -> Option<usize> {
    let quotient = links.next(root, Role::Div);
    let inverse =
        links.next(root, Role::Reciprocal).or(quotient.filter(|step| links.scaled(*step).is_some()));
    let divided = match inverse {
        Some(inverse) => {
            members.push(inverse);
            links.next(inverse, Role::Mul)?
        }
        None => quotient?,
    };
    let reads = |index| links.input(divided, index) == Some(centred);
    members.push(divided);
    (reads(0) || reads(1)).then_some(divided)
}

/// The product or sum with a weight that follows, if one does.
fn weighted(links: &Links, last: usize, role: Role, members: &mut Vec<usize>) -> usize {
    // In half precision the result is cast before it meets the weight.
    let cast = links.next(last, Role::Cast).filter(|cast| links.is_view(*cast));
    let next = links.next(cast.unwrap_or(last), role).filter(|next| {
        let other = links.output(cast.unwrap_or(last)).and_then(|value| links.other(*next, value));
        other.is_some_and(|other| links.is_parameter(other))
    });
    let Some(next) = next else { return last };
    members.extend(cast);
    members.push(next);
    next
}
