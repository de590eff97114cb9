//! A model on a GPU as a row of numbers for a predictor.

use crate::costs::Costs;
use crate::gpu::Gpu;
use crate::ops::Role;
use crate::ops::work::Class;
use crate::precision::Precision;
use crate::roofline::{Optimiser, step_time};

/// What the numbers are called, in their order. A trained predictor names those it was trained on, so the order may grow but a
/// name never changes its meaning. `ln_` is the natural logarithm of one more than the value.
pub const FEATURES: [&str; 46] = [
    "ln_forward_flop",
    "ln_backward_flop",
    "ln_parameters",
    "ln_activations",
    "ln_saved_bytes",
    "ln_traffic_bytes",
    "ln_flop_per_byte",
    "ln_batch",
    "ln_sequence",
    "ln_conv",
    "ln_gemm",
    "ln_relu",
    "ln_flatten",
    "ln_recurrent",
    "ln_norm",
    "ln_softmax",
    "ln_gather",
    "ln_dropout",
    "ln_operators",
    "ln_depth",
    "ln_kernels",
    "ln_flop_per_kernel_mean",
    "ln_flop_per_kernel_p10",
    "ln_parallel_mean",
    "ln_parallel_p10",
    "tensor_flop_share",
    "vector_flop_share",
    "unknown_flop_share",
    "activation_bytes",
    "ln_gpu_tensor_flop_s",
    "ln_gpu_fp32_flop_s",
    "ln_gpu_memory_bytes_s",
    "gpu_sm_count",
    "ln_gpu_l2_bytes",
    "ln_gpu_memory_bytes",
    "ln_step_us",
    "ln_forward_us",
    "ln_backward_us",
    "ln_optimiser_us",
    "compute_share",
    "memory_share",
    "launch_share",
    "ln_saved_bytes_in_pieces",
    "ln_traffic_bytes_in_pieces",
    "ln_saved_bytes_per_sample",
    "saved_share_of_gpu_memory",
];

/// Makes rows of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Features;

impl Features {
    /// The numbers of [`FEATURES`] for one model, GPU, batch and precision, all of them finite.
    pub fn of(costs: &Costs, gpu: &Gpu, batch: i64, precision: Precision) -> [f64; FEATURES.len()] {
        let flop = costs.forward_flop + costs.backward_flop;
        let bytes = costs.forward_bytes + costs.backward_bytes;
        let launches = costs.forward_launches + costs.backward_launches;
        let there = || costs.kernels.iter().filter(|kernel| kernel.forward.launches > 0.0);
        let flops: Vec<f64> = there().map(|kernel| kernel.forward.flop).collect();
        let parallel: Vec<f64> = there().map(|kernel| kernel.parallel).collect();
        let count = |roles: &[Role]| (costs.count(roles) as f64).ln_1p();
        let time = step_time(costs, gpu, Optimiser::default());
        let us = |seconds: f64| (seconds * 1e6).ln_1p();
        let batch = batch.max(1) as f64;
        let row = [
            costs.forward_flop.ln_1p(),
            costs.backward_flop.ln_1p(),
            costs.parameters.ln_1p(),
            costs.activations.ln_1p(),
            costs.saved_bytes.ln_1p(),
            bytes.ln_1p(),
            ratio(flop, bytes).ln_1p(),
            batch.ln_1p(),
            (costs.sequence.unwrap_or(0).max(0) as f64).ln_1p(),
            count(&[Role::Conv]),
            count(&[Role::Gemm, Role::MatMul]),
            count(&[Role::Relu]),
            count(&[Role::Flatten]),
            count(&[Role::Recurrent]),
            count(&[Role::Norm]),
            count(&[Role::Softmax, Role::Attention]),
            count(&[Role::Gather]),
            count(&[Role::Dropout]),
            (costs.operator_count as f64).ln_1p(),
            (costs.depth as f64).ln_1p(),
            launches.ln_1p(),
            ratio(flop, launches).ln_1p(),
            tenth(flops).ln_1p(),
            mean(&parallel).ln_1p(),
            tenth(parallel).ln_1p(),
            share(costs, Class::Tensor),
            share(costs, Class::Vector),
            costs.unknown_share(),
            precision.bytes(),
            gpu.tensor_flop_s.ln_1p(),
            gpu.fp32_flop_s.ln_1p(),
            gpu.memory_bytes_s.ln_1p(),
            f64::from(gpu.sm_count),
            gpu.l2_bytes.ln_1p(),
            gpu.memory_bytes.ln_1p(),
            us(time.total_s()),
            us(time.forward_s),
            us(time.backward_s),
            us(time.optimiser_s),
            time.share(time.compute_s),
            time.share(time.memory_s),
            time.share(time.launch_s),
            costs.saved_bytes_in_pieces.ln_1p(),
            costs.bytes_in_pieces.ln_1p(),
            (costs.saved_bytes / batch).ln_1p(),
            costs.saved_bytes / gpu.memory_bytes,
        ];
        row.map(|value| if value.is_finite() { value } else { 0.0 })
    }
}

fn ratio(whole: f64, parts: f64) -> f64 {
    if parts > 0.0 { whole / parts } else { 0.0 }
}

fn mean(values: &[f64]) -> f64 {
    ratio(values.iter().sum(), values.len() as f64)
}

/// The value that a tenth of them lie below.
fn tenth(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 10).copied().unwrap_or(0.0)
}

/// The share of the forward operations in kernels of a class.
fn share(costs: &Costs, class: Class) -> f64 {
    let own = costs.kernels.iter().filter(|kernel| kernel.class == class);
    ratio(own.map(|kernel| kernel.forward.flop * kernel.repeat).sum(), costs.forward_flop)
}
