//! Parts of tensors: slices, splits, the largest, the non-zero, the unique.

use super::data::{at, filled};
use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::{Element, Tensor};

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Slice", Role::Other, slice_shapes, |_, _| Work::view()),
    Op::new("Split", Role::Other, split_shapes, |_, _| Work::view()),
    Op::new("TopK", Role::Other, top_shapes, |call, _| {
        // A sort: about as many comparisons per element as the row's length has bits.
        let row = call.given(0).and_then(|input| input.dims.last().copied()).unwrap_or(1).max(2) as f64;
        Work::vector(call.size(0) * row.log2().ceil())
    }),
    Op::new("NonZero", Role::Other, nonzero_shapes, |call, _| Work::vector(call.size(0)).without_gradient()),
    Op::new("Compress", Role::Other, compress_shapes, |_, _| Work::memory()),
    Op::new("Unique", Role::Other, unique_shapes, |call, _| Work::vector(call.size(0)).without_gradient()),
    Op::new("NonMaxSuppression", Role::Other, suppression_shapes, |call, _| {
        Work::vector(call.size(0) + call.size(1)).without_gradient()
    }),
];

fn slice_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let starts = call.numbers("starts", 1)?.ok_or(Fault)?;
    let ends = call.numbers("ends", 2)?.ok_or(Fault)?;
    let axes = call.numbers("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = call.numbers("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(Fault);
    }
    let mut dims = input.dims.clone();
    let mut from = vec![(0_i64, 1_i64); dims.len()];
    for at in 0..starts.len() {
        let axis = input.axis(axes[at]).ok_or(Fault)?;
        let (start, count) = span(starts[at], ends[at], steps[at], input.dims[axis]).ok_or(Fault)?;
        dims[axis] = count;
        from[axis] = (start, steps[at]);
    }
    let out = call.like(dims)?;
    Ok(vec![filled(out, |index| {
        let source: Option<Vec<usize>> = index
            .iter()
            .zip(&from)
            .map(|(place, (start, step))| usize::try_from(start + *place as i64 * step).ok())
            .collect();
        at(input, &source?)
    })])
}

/// The first index and the number of indices of a slice of something `length` long.
fn span(start: i64, end: i64, step: i64, length: i64) -> Option<(i64, i64)> {
    let wrapped = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    if step > 0 {
        let (start, end) = (wrapped(start).clamp(0, length), wrapped(end).clamp(0, length));
        Some((start, (end - start).max(0).checked_add(step - 1)? / step))
    } else {
        let start = wrapped(start).clamp(0, (length - 1).max(0));
        let end = if end < 0 && end.saturating_add(length) < 0 { -1 } else { wrapped(end).clamp(-1, length) };
        let back = step.checked_neg().filter(|back| *back > 0)?;
        Some((start, (start - end).max(0).min(length).checked_add(back - 1)? / back))
    }
}

fn split_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let axis = call.axis(0)?;
    let count = call.node.outputs.len().max(1) as i64;
    let length = input.dims[axis];
    let even = (length + count - 1) / count;
    let parts = match call.numbers("split", 1)? {
        Some(parts) => parts,
        None => (0..count).map(|at| (length - at * even).clamp(0, even)).collect(),
    };
    if parts.iter().any(|part| *part < 0 || *part > length) {
        return Err(Fault);
    }
    let mut start = 0_usize;
    let mut outputs = Vec::new();
    for part in parts.into_iter().take(call.node.outputs.len()) {
        let mut dims = input.dims.clone();
        dims[axis] = part;
        outputs.push(filled(call.like(dims)?, |index| {
            let mut source = index.to_vec();
            source[axis] += start;
            at(input, &source)
        }));
        start += part as usize;
    }
    Ok(outputs)
}

fn top_shapes(call: &Call) -> Shapes {
    let axis = call.axis(-1)?;
    let count = call.node.int("k").or_else(|| call.given(1)?.scalar().map(|k| k as i64)).ok_or(Fault)?;
    let mut dims = call.input(0)?.dims.clone();
    dims[axis] = count;
    Ok(vec![call.like(dims.clone())?, Tensor::new(Element::Integer(8), dims)])
}

/// How many are not zero is known only where the content is; otherwise all of them might be.
fn nonzero_shapes(call: &Call) -> Shapes {
    let input = call.input(0)?;
    let found =
        input.content.as_ref().map(|content| content.iter().filter(|value| **value != 0.0).count() as i64);
    let dims = vec![input.dims.len() as i64, found.unwrap_or(input.count())];
    Ok(vec![Tensor::new(Element::Integer(8), dims)])
}

fn compress_shapes(call: &Call) -> Shapes {
    let (input, condition) = (call.input(0)?, call.input(1)?);
    let found = condition
        .content
        .as_ref()
        .map(|content| content.iter().filter(|value| **value != 0.0).count() as i64);
    let count = found.unwrap_or(condition.count());
    let dims = match call.node.int("axis") {
        Some(axis) => {
            let mut dims = input.dims.clone();
            dims[input.axis(axis).ok_or(Fault)?] = count;
            dims
        }
        None => vec![count],
    };
    Ok(vec![call.like(dims)?])
}

fn unique_shapes(call: &Call) -> Shapes {
    let count = call.input(0)?.count();
    let list = || Tensor::new(Element::Integer(8), vec![count]);
    Ok(vec![call.like(vec![count])?, list(), list(), list()])
}

fn suppression_shapes(call: &Call) -> Shapes {
    let boxes = *call.input(0)?.dims.get(1).ok_or(Fault)?;
    let most = call.given(2).and_then(Tensor::scalar).map_or(boxes, |most| (most as i64).clamp(0, boxes));
    Ok(vec![Tensor::new(Element::Integer(8), vec![most, 3])])
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn slices_count_from_either_end() {
        assert_eq!(span(0, i64::MAX, 1, 5), Some((0, 5)));
        assert_eq!(span(-2, i64::MAX, 1, 5), Some((3, 2)));
        assert_eq!(span(1, -1, 2, 6), Some((1, 2)));
        assert_eq!(span(-1, i64::MIN, -1, 4), Some((3, 4)));
        assert_eq!(span(0, 9, 0, 4), None);
        assert_eq!(span(0, 0, i64::MIN, 4), None);
    }
}
