//! What GPU models can do, from their makers' data sheets: dense peaks, without sparsity.

use crate::ops::work::Class;
use crate::precision::Precision;

/// A GPU model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// The name that users type.
    pub name: &'static str,
    /// Products of matrices in two bytes, with sums in four: operations a second.
    pub tensor_flop_s: f64,
    /// Anything in four bytes: operations a second.
    pub fp32_flop_s: f64,
    /// Memory traffic: bytes a second.
    pub memory_bytes_s: f64,
    /// Multiprocessors.
    pub sm_count: u32,
    /// The second-level cache in bytes.
    pub l2_bytes: f64,
    /// Memory in bytes.
    pub memory_bytes: f64,
}

/// All GPU models. A K80 board holds two GPUs; this is one. The P100 and the K80 have no tensor cores.
pub const GPUS: &[Gpu] = &[
    gpu("h200", 989e12, 67e12, 4.8e12, 132, 50e6, 141e9),
    gpu("h100", 989e12, 67e12, 3.35e12, 132, 50e6, 80e9),
    gpu("a100", 312e12, 19.5e12, 2.039e12, 108, 40e6, 80e9),
    gpu("v100", 125e12, 15.7e12, 0.9e12, 80, 6e6, 16e9),
    gpu("p100", 21.2e12, 10.6e12, 0.732e12, 56, 4e6, 16e9),
    gpu("k80", 4.37e12, 4.37e12, 0.24e12, 13, 1.5e6, 12e9),
    gpu("t4", 65e12, 8.1e12, 0.32e12, 40, 4e6, 16e9),
    gpu("rtx3090", 71e12, 35.6e12, 0.936e12, 82, 6e6, 24e9),
];

const fn gpu(
    name: &'static str,
    tensor: f64,
    fp32: f64,
    bandwidth: f64,
    sm_count: u32,
    l2: f64,
    memory: f64,
) -> Gpu {
    Gpu {
        name,
        tensor_flop_s: tensor,
        fp32_flop_s: fp32,
        memory_bytes_s: bandwidth,
        sm_count,
        l2_bytes: l2,
        memory_bytes: memory,
    }
}

impl Gpu {
    /// A GPU model by name.
    pub fn find(name: &str) -> Option<&'static Self> {
        GPUS.iter().find(|gpu| gpu.name == name)
    }

    /// Operations a second at best, for a kind of kernel in a precision.
    pub fn peak_flop_s(&self, class: Class, precision: Precision) -> f64 {
        match (class, precision) {
            (Class::Tensor, Precision::Bf16) => self.tensor_flop_s,
            _ => self.fp32_flop_s,
        }
    }
}
