//! Product, scale, mask, softmax, dropout, product: attention.

use super::links::Links;
use super::{Group, Pattern};
use crate::model::ValueId;
use crate::ops::Role;

/// Scales, masks and casts between a product and the softmax.
const BETWEEN_MAX: usize = 8;

/// The attention around a softmax.
pub fn at(links: &Links, step: usize) -> Option<Group> {
    if links.role(step) != Role::Softmax {
        return None;
    }
    let mut members = vec![step];
    let second = down(links, step, &mut members)?;
    let first = up(links, links.input(step, 0)?, BETWEEN_MAX, &mut members)?;
    members.extend([first, second]);
    let query = before_scale(links, links.input(first, 0)?, &mut members);
    let key = before_scale(links, links.input(first, 1)?, &mut members);
    let (value, result) = (links.input(second, 1)?, links.output(second)?);
    let scores = links.walk.tensor(links.output(first)?)?;
    let rows = scores.size() / (*scores.dims.last()?).max(1) as f64;
    Some(Group {
        pattern: Pattern::Attention,
        members,
        keeps: vec![query, key, value, result],
        kept_wide: rows,
    })
}

/// From the softmax to the second product.
fn down(links: &Links, softmax: usize, members: &mut Vec<usize>) -> Option<usize> {
    let mut value = links.output(softmax)?;
    for _ in 0..BETWEEN_MAX {
        let uses: Vec<usize> = links.uses(value).collect();
        let next = match uses.as_slice() {
            [one] => *one,
            // Rows that are masked as a whole become zero.
            [test, choice] if links.role(*test) == Role::IsNan && links.role(*choice) == Role::Where => {
                members.push(*test);
                *choice
            }
            _ => return None,
        };
        match links.role(next) {
            Role::MatMul if links.input(next, 0) == Some(value) => return Some(next),
            Role::Dropout | Role::Cast | Role::Where => members.push(next),
            _ if links.is_view(next) => members.push(next),
            _ => return None,
        }
        value = links.output(next)?;
    }
    None
}

/// From the softmax back to the first product: through scales and masks, along whichever side leads there.
fn up(links: &Links, value: ValueId, left: usize, members: &mut Vec<usize>) -> Option<usize> {
    let step = links.producer(value)?;
    links.only_use(value)?;
    let sides: &[usize] = match links.role(step) {
        Role::MatMul => return Some(step),
        Role::Add | Role::Mul => &[0, 1],
        Role::Div | Role::Cast => &[0],
        _ if links.is_view(step) => &[0],
        Role::Where => &[1, 2],
        _ => return None,
    };
    let deeper = left.checked_sub(1)?;
    let known = members.len();
    members.push(step);
    for side in sides {
        let found = links.input(step, *side).and_then(|value| up(links, value, deeper, members));
        if found.is_some() {
            return found;
        }
        members.truncate(known + 1);
    }
    members.truncate(known);
    None
}

/// What a query or key was before it was scaled by a constant.
fn before_scale(links: &Links, value: ValueId, members: &mut Vec<usize>) -> ValueId {
    let scale = links
        .producer(value)
        .filter(|step| matches!(links.role(*step), Role::Mul | Role::Div) && links.only_use(value).is_some());
    let Some((step, source)) = scale.and_then(|step| Some((step, links.scaled(step)?))) else { return value };
    members.push(step);
    source
}
