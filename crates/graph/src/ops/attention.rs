//! Attention in one operator, and what goes with it.

use super::elementwise::unary_shapes;
use super::work::{Backward, Class, Saves, Work};
use super::{Call, Fault, Op, Role, Shapes};
use crate::tensor::Tensor;

/// The operators.
pub const OPS: &[Op] = &[
    Op::new("Attention", Role::Attention, shapes, work),
    Op::new("MultiHeadAttention", Role::Attention, shapes, work),
    Op::new("GroupQueryAttention", Role::Attention, shapes, work),
    Op::new("RotaryEmbedding", Role::Other, unary_shapes, |call, _| Work::vector(call.size(0) * 3.0)),
];

/// Sizes of one attention.
struct Sizes {
    batch: i64,
    heads: i64,
    queries: i64,
    keys: i64,
    width: i64,
    value_width: i64,
}

/// Query, key and value are [batch, heads, length, width] or [batch, length, heads x width].
fn sizes(call: &Call) -> Result<Sizes, Fault> {
    let (query, key, value) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let named =
        |names: [&str; 2]| names.iter().find_map(|name| call.node.int(name)).filter(|heads| *heads > 0);
    let heads = named(["q_num_heads", "num_heads"]);
    let own_heads = named(["kv_num_heads", "num_heads"]);
    match (query.dims.as_slice(), key.dims.as_slice(), value.dims.as_slice()) {
        ([batch, heads, queries, width], [_, _, keys, _], [_, _, _, value_width]) => Ok(Sizes {
            batch: *batch,
            heads: *heads,
            queries: *queries,
            keys: *keys,
            width: *width,
            value_width: *value_width,
        }),
        ([batch, queries, wide], [_, keys, _], [_, _, value_wide]) => {
            let (heads, own) = (heads.ok_or(Fault)?, own_heads.or(heads).ok_or(Fault)?);
            Ok(Sizes {
                batch: *batch,
                heads,
                queries: *queries,
                keys: *keys,
                width: wide / heads,
                value_width: value_wide / own,
            })
        }
        _ => Err(Fault),
    }
}

fn shapes(call: &Call) -> Shapes {
    let sizes = sizes(call)?;
    let flat = sizes.heads.checked_mul(sizes.value_width).ok_or(Fault)?;
    let dims = if call.input(0)?.dims.len() == 4 {
        vec![sizes.batch, sizes.heads, sizes.queries, sizes.value_width]
    } else {
        vec![sizes.batch, sizes.queries, flat]
    };
    let mut outputs = vec![call.like(dims)?];
    // Present key and value are the past ones with the new ones behind; we take them without a past.
    for index in [1, 2] {
        outputs.push(Tensor { content: None, ..call.input(index)?.clone() });
    }
    Ok(outputs)
}

fn work(call: &Call, _: &[Tensor]) -> Work {
    let Ok(sizes) = sizes(call) else { return Work::memory() };
    let rows = sizes.batch as f64 * sizes.heads as f64 * sizes.queries as f64;
    let scores = rows * sizes.keys as f64;
    Work {
        flop: scores * (2.0 * (sizes.width + sizes.value_width) as f64 + 3.0),
        backward: Backward::Twice,
        class: Class::Tensor,
        // The logarithm of every row's sum is all that is kept of the scores.
        kept_wide: rows,
        ..Work::vector(0.0).saving(Saves::Attention)
    }
}
