//! How long a step takes at least: every kernel is bound by arithmetic, by memory or by its start.
//!
//! `t = max(flop / (peak * efficiency), bytes / bandwidth, launches * launch)`, summed over all kernels both ways, and the
//! optimiser's pass over all weights. A prior for a learned predictor, not a forecast by itself.

use crate::costs::{Costs, Pass};
use crate::gpu::Gpu;
use crate::ops::work::Class;

/// The share of the peak that large products of matrices reach: 0.6 to 0.75 in published measurements of cuBLAS and cuDNN.
const TENSOR_EFFICIENCY: f64 = 0.65;

/// The same for arithmetic element by element, which memory mostly binds anyway.
const VECTOR_EFFICIENCY: f64 = 0.8;

/// From one kernel to the next on an otherwise idle GPU, in seconds: an empty kernel takes 3 to 5 microseconds.
const LAUNCH_S: f64 = 4e-6;

/// Weights that one kernel of the optimiser updates; frameworks update many tensors at once.
const WEIGHTS_PER_LAUNCH: f64 = 16e6;

/// How weights are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Optimiser {
    /// Plain gradient descent.
    Sgd,
    /// Gradient descent with momentum.
    Momentum,
    /// Adam and its kin.
    #[default]
    Adam,
}

impl Optimiser {
    /// Bytes of state per weight.
    pub fn state_bytes(self) -> f64 {
        match self {
            Self::Sgd => 0.0,
            Self::Momentum => 4.0,
            Self::Adam => 8.0,
        }
    }

    /// Bytes moved per weight: weight and gradient are read, the weight is written, the state both.
    fn traffic_bytes(self) -> f64 {
        12.0 + 2.0 * self.state_bytes()
    }
}

/// How long a step takes at least, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// The forward pass.
    pub forward_s: f64,
    /// The backward pass.
    pub backward_s: f64,
    /// The optimiser.
    pub optimiser_s: f64,
    /// Time in kernels that arithmetic binds.
    pub compute_s: f64,
    /// Time in kernels that memory binds.
    pub memory_s: f64,
    /// Time in kernels that their start binds.
    pub launch_s: f64,
}

impl StepTime {
    /// All of it.
    pub fn total_s(&self) -> f64 {
        self.forward_s + self.backward_s + self.optimiser_s
    }

    /// A part of the whole, 0 if there is none.
    pub fn share(&self, part_s: f64) -> f64 {
        if self.total_s() > 0.0 { part_s / self.total_s() } else { 0.0 }
    }

    /// One pass, `repeat` times: its time, noted under what binds it.
    fn add(&mut self, pass: &Pass, peak_flop_s: f64, gpu: &Gpu, repeat: f64) -> f64 {
        let compute = pass.flop / peak_flop_s;
        let memory = pass.bytes() / gpu.memory_bytes_s;
        let launch = pass.launches * LAUNCH_S;
        let time = compute.max(memory).max(launch) * repeat;
        if launch >= compute && launch >= memory {
            self.launch_s += time;
        } else if compute >= memory {
            self.compute_s += time;
        } else {
            self.memory_s += time;
        }
        time
    }
}

/// How long a step takes at least on a GPU model.
pub fn step_time(costs: &Costs, gpu: &Gpu, optimiser: Optimiser) -> StepTime {
    let mut time = StepTime::default();
    for kernel in &costs.kernels {
        let efficiency = if kernel.class == Class::Tensor { TENSOR_EFFICIENCY } else { VECTOR_EFFICIENCY };
        let peak = gpu.peak_flop_s(kernel.class, costs.precision) * efficiency;
        time.forward_s += time.add(&kernel.forward, peak, gpu, kernel.repeat);
        time.backward_s += time.add(&kernel.backward, peak, gpu, kernel.repeat);
    }
    let update = Pass {
        weight_bytes: costs.parameters * optimiser.traffic_bytes(),
        launches: (costs.parameters / WEIGHTS_PER_LAUNCH).ceil(),
        ..Pass::default()
    };
    time.optimiser_s = time.add(&update, gpu.fp32_flop_s, gpu, 1.0);
    time
}
