//! Shapes that broadcast, and contents that move with them.

use super::Fault;
use crate::limits::CONTENT_MAX;
use crate::tensor::{Tensor, is_possible};

/// The shape that all of these broadcast to.
pub fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [i64]>) -> Result<Vec<i64>, Fault> {
    let mut out: Vec<i64> = Vec::new();
    for shape in shapes {
        if shape.len() > out.len() {
            out.splice(0..0, std::iter::repeat_n(1, shape.len() - out.len()));
        }
        let skip = out.len() - shape.len();
        for (own, other) in out[skip..].iter_mut().zip(shape) {
            match (*own, *other) {
                (a, b) if a == b || b == 1 => {}
                (1, b) => *own = b,
                _ => return Err(Fault),
            }
        }
    }
    Ok(out)
}

/// The content of a tensor with these dimensions, each element found by its index; nothing if it is too large, or an
/// element cannot be found.
pub fn content(dims: &[i64], find: impl Fn(&[usize]) -> Option<f64>) -> Option<Vec<f64>> {
    let count = is_possible(dims)
        .then(|| dims.iter().product::<i64>() as usize)
        .filter(|count| *count <= CONTENT_MAX)?;
    let mut index = vec![0; dims.len()];
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        found.push(find(&index)?);
        for axis in (0..dims.len()).rev() {
            index[axis] += 1;
            if (index[axis] as i64) < dims[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Some(found)
}

/// The element of a tensor at an index of a shape that it broadcasts to.
pub fn at(tensor: &Tensor, index: &[usize]) -> Option<f64> {
    let skip = index.len().checked_sub(tensor.dims.len())?;
    let place = tensor
        .dims
        .iter()
        .zip(&index[skip..])
        .fold(0, |place, (dim, index)| place * *dim as usize + if *dim == 1 { 0 } else { *index });
    tensor.content.as_ref()?.get(place).copied()
}

/// A tensor with the content that is found, if it is.
pub fn filled(tensor: Tensor, find: impl Fn(&[usize]) -> Option<f64>) -> Tensor {
    match content(&tensor.dims, find) {
        Some(found) => tensor.with_content(found),
        None => tensor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;

    #[test]
    fn shapes_broadcast_from_the_right() {
        assert_eq!(broadcast([&[2, 1, 3][..], &[4, 1]]), Ok(vec![2, 4, 3]));
        assert_eq!(broadcast([&[2][..], &[3]]), Err(Fault));
        assert_eq!(broadcast([&[0][..], &[1]]), Ok(vec![0]));
    }

    #[test]
    fn contents_follow() {
        let row = Tensor::new(Element::Float, vec![2]).with_content(vec![1.0, 2.0]);
        let out = filled(Tensor::new(Element::Float, vec![2, 2]), |index| at(&row, index));
        assert_eq!(out.content.as_deref(), Some(&[1.0, 2.0, 1.0, 2.0][..]));
    }
}
