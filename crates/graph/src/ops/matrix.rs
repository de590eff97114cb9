//! Products of matrices: two operations per multiply-accumulate.

use super::data::broadcast;
use super::work::Work;
use super::{Call, Fault, Op, Role, Shapes, written};
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("MatMul", Role::MatMul, matmul_shapes, matmul_work),
    Op::new("MatMulInteger", Role::MatMul, matmul_shapes, matmul_work),
    Op::new("FusedMatMul", Role::MatMul, fused_shapes, fused_work),
    Op::new("Gemm", Role::Gemm, gemm_shapes, gemm_work),
    Op::new("FusedGemm", Role::Gemm, gemm_shapes, gemm_work),
];

fn matmul_shapes(call: &Call) -> Shapes {
    let (a, b) = (call.input(0)?, call.input(1)?);
    Ok(vec![Tensor::new(a.element, product(&a.dims, &b.dims)?)])
}

/// The shape of a product of stacks of matrices; a vector is a row on the left and a column on the right.
fn product(a: &[i64], b: &[i64]) -> Result<Vec<i64>, Fault> {
    let (&inner, rows) = a.split_last().ok_or(Fault)?;
    let (stack_b, columns, other) = match b {
        [] => return Err(Fault),
        [only] => (&[][..], None, *only),
        [stack @ .., inner, columns] => (stack, Some(*columns), *inner),
    };
    if inner != other {
        return Err(Fault);
    }
    let (rows, stack_a) = rows.split_last().map_or((None, &[][..]), |(rows, stack)| (Some(*rows), stack));
    let mut dims = broadcast([stack_a, stack_b])?;
    dims.extend(rows.into_iter().chain(columns));
    Ok(dims)
}

fn matmul_work(call: &Call, outputs: &[Tensor]) -> Work {
    let inner = call.given(0).and_then(|a| a.dims.last().copied()).unwrap_or(1);
    Work::matrix(2.0 * written(outputs) * inner as f64)
}

/// Microsoft's product, with either side transposed.
fn fused_shapes(call: &Call) -> Shapes {
    let (a, b) = (call.input(0)?, call.input(1)?);
    Ok(vec![Tensor::new(a.element, product(&turned(call, a, "transA"), &turned(call, b, "transB"))?)])
}

fn turned(call: &Call, tensor: &Tensor, attribute: &str) -> Vec<i64> {
    let mut dims = tensor.dims.clone();
    let rank = dims.len();
    if call.node.int(attribute).unwrap_or(0) != 0 && rank >= 2 {
        dims.swap(rank - 1, rank - 2);
    }
    dims
}

fn fused_work(call: &Call, outputs: &[Tensor]) -> Work {
    let inner = call.given(0).and_then(|a| turned(call, a, "transA").last().copied()).unwrap_or(1);
    Work::matrix(2.0 * written(outputs) * inner as f64)
}

fn gemm_shapes(call: &Call) -> Shapes {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let ([rows, inner], [other, columns]) = (pair(call, a, "transA")?, pair(call, b, "transB")?);
    if inner != other {
        return Err(Fault);
    }
    Ok(vec![Tensor::new(a.element, vec![rows, columns])])
}

fn pair(call: &Call, tensor: &Tensor, attribute: &str) -> Result<[i64; 2], Fault> {
    turned(call, tensor, attribute).try_into().map_err(|_| Fault)
}

fn gemm_work(call: &Call, outputs: &[Tensor]) -> Work {
    let inner = call.given(0).and_then(|a| turned(call, a, "transA").last().copied()).unwrap_or(1);
    let bias = call.given(2).map_or(0.0, |_| written(outputs));
    Work::matrix(2.0 * written(outputs) * inner as f64 + bias)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_of_matrices_broadcast() {
        assert_eq!(product(&[8, 1, 2, 3], &[5, 3, 4]), Ok(vec![8, 5, 2, 4]));
        assert_eq!(product(&[3], &[3, 4]), Ok(vec![4]));
        assert_eq!(product(&[2, 3], &[3]), Ok(vec![2]));
        assert_eq!(product(&[2, 3], &[4, 3]), Err(Fault));
    }
}
