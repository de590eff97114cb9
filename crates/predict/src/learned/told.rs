//! What a graph tells of a training step before anything has run, and what physics makes of it.
//!
//! ```text
//! gpu      BELOW_PEAK x the sum over kernels of  max(flop / peak, bytes / bandwidth, launch)          `evenhand_graph::step_time`
//! host     HOST_US x operators                      a Python loop starts what an operator needs, one kernel after the other
//! step     max(gpu, host)
//! duty     gpu / step ;   tensor, bandwidth: work over what the GPU could do in a step
//! memory   alpha x saved for backward + weights, gradients, optimiser + the loss over the outputs + delta
//! ```
//!
//! Both constants are middles over the profiles under `experiments/horus`: kernels of PyTorch without a compiler take 2 to 9 times as long as the
//! roofline allows, and an operator starts two to three of them.

use evenhand_graph::{Costs, FEATURES, Features, Gpu, Optimiser, Precision, step_time};

/// Microseconds that the host needs for one operator of a training step.
const HOST_US: f64 = 65.0;

/// How many times longer kernels take than the roofline allows.
const BELOW_PEAK: f64 = 3.3;

/// Bytes per output in the loss: in four bytes, its softmax, and both gradients.
const LOSS_BYTES: f64 = 14.0;

/// Names of the numbers that trees see: those of a graph, what is known of the training, and what physics says.
pub fn feature_names() -> Vec<String> {
    let own = [
        "optimiser_bytes",
        "ln_outputs",
        "ln_prior_step_ms",
        "prior_duty",
        "prior_tensor",
        "prior_bandwidth",
        "ln_kernel_us",
    ];
    FEATURES.into_iter().chain(own).map(str::to_owned).collect()
}

/// What a graph tells of a training step on one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The numbers of [`feature_names`].
    pub features: Vec<f64>,
    /// Milliseconds of a step, by physics.
    pub step_ms: f64,
    /// The share of it in which the GPU is busy.
    pub duty: f64,
    /// The share of the tensor cores in use.
    pub tensor: f64,
    /// The share of the memory bandwidth in use.
    pub bandwidth: f64,
    /// Megabytes kept for the backward pass.
    pub saved_mb: f64,
    /// Megabytes of weights, gradients, the optimiser's state and the loss.
    pub state_mb: f64,
    /// Megabytes by the formula of the Horus paper: (B A + P) + B G elements of four bytes, G read as P.
    pub printed_mb: f64,
}

impl Told {
    /// What the costs of a graph tell of a step on a GPU.
    pub fn of(costs: &Costs, gpu: &Gpu, precision: Precision, optimiser: Optimiser) -> Self {
        let batch = costs.batch.size();
        let gpu_ms = 1e3 * BELOW_PEAK * step_time(costs, gpu, optimiser).total_s();
        let launches = costs.forward_launches + costs.backward_launches;
        let step_ms = gpu_ms.max(launches * HOST_US / 1e3).max(1e-3);
        let duty = (gpu_ms / step_ms).clamp(0.0, 1.0);
        let share = |work: f64, peak: f64| (1e3 * work / peak / step_ms).clamp(0.0, 1.0);
        let tensor = share(costs.forward_flop + costs.backward_flop, gpu.tensor_flop_s);
        let bandwidth = share(costs.forward_bytes + costs.backward_bytes, gpu.memory_bytes_s);
        let mb = 1.0 / f64::from(1 << 20);
        let mut features = Features::of(costs, gpu, batch, precision).to_vec();
        let kernel_us = (1e3 * gpu_ms / launches.max(1.0)).ln_1p();
        features.extend([
            optimiser.state_bytes(),
            costs.outputs.ln_1p(),
            step_ms.ln(),
            duty,
            tensor,
            bandwidth,
            kernel_us,
        ]);
        Self {
            features,
            step_ms,
            duty,
            tensor,
            bandwidth,
            saved_mb: costs.saved_bytes * mb,
            state_mb: (costs.parameters * (8.0 + optimiser.state_bytes()) + costs.outputs * LOSS_BYTES) * mb,
            printed_mb: 4.0 * mb * (costs.activations + costs.parameters * (1.0 + batch as f64)),
        }
    }
}
