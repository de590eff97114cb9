//! The gradient of a value that several operators read is the sum of what they hand back: a kernel for every one but the first.

use crate::costs::{Kernel, Pass};
use crate::fuse::Group;
use crate::ops::work::{Backward, Class};
use crate::precision::Precision;
use crate::tensor::Origin;
use crate::walk::Walk;

/// One entry for every value whose gradient is summed up.
pub fn gradient_sums(walk: &Walk, groups: &[Group], precision: Precision) -> Vec<Kernel> {
    // Operators of a group hand back one gradient together; single ones get numbers behind those of the groups.
    let mut reader_of: Vec<usize> = (0..walk.steps.len()).map(|step| groups.len() + step).collect();
    for (index, group) in groups.iter().enumerate() {
        group.members.iter().for_each(|step| reader_of[*step] = index);
    }
    let mut readers: Vec<(u32, usize)> = Vec::new();
    let mut inner = vec![usize::MAX; walk.values.len()];
    let mut repeat = vec![1.0; walk.values.len()];
    for (step, reader) in walk.steps.iter().zip(&reader_of) {
        for value in step.node.outputs.iter().flatten() {
            inner[value.index()] = *reader;
            repeat[value.index()] = step.repeat;
        }
        if step.work.backward == Backward::Nothing {
            continue;
        }
        let trained = step.node.inputs.iter().flatten().filter(|value| {
            let tensor = walk.tensor(**value);
            tensor.is_some_and(|tensor| tensor.trained && tensor.origin == Origin::Activation)
        });
        readers
            .extend(trained.filter(|value| inner[value.index()] != *reader).map(|value| (value.0, *reader)));
    }
    readers.sort_unstable();
    readers.dedup();
    let same_value = |a: &(u32, usize), b: &(u32, usize)| a.0 == b.0;
    readers
        .chunk_by(same_value)
        .filter(|chunk| chunk.len() > 1)
        .filter_map(|chunk| sum(walk, chunk, precision, &repeat))
        .collect()
}

fn sum(walk: &Walk, readers: &[(u32, usize)], precision: Precision, repeat: &[f64]) -> Option<Kernel> {
    let value = readers.first()?.0 as usize;
    let tensor = walk.values[value].as_ref()?;
    let sums = readers.len() as f64 - 1.0;
    let backward = Pass {
        flop: sums * tensor.size(),
        // Two are read and one is written.
        activation_bytes: sums * 3.0 * tensor.bytes(precision),
        weight_bytes: 0.0,
        launches: sums,
    };
    Some(Kernel {
        forward: Pass::default(),
        backward,
        class: Class::Vector,
        parallel: tensor.size(),
        repeat: repeat[value],
    })
}
