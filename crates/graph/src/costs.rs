//! What a training step of a model costs.

use crate::binding::{Batch, Binding, bind};
use crate::error::GraphError;
use crate::fuse::{Pattern, groups};
use crate::gradients::gradient_sums;
use crate::ledger::Ledger;
use crate::model::Model;
use crate::ops::Role;
use crate::ops::work::Class;
use crate::parameters::parameters;
use crate::precision::Precision;
use crate::tensor::{Element, Tensor};
use crate::walk::walk;

/// One pass of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pass {
    /// Floating-point operations; a multiply-accumulate is two.
    pub flop: f64,
    /// Bytes of activations and their gradients that are read and written.
    pub activation_bytes: f64,
    /// Bytes of weights and their gradients that are read and written.
    pub weight_bytes: f64,
    /// Kernels started.
    pub launches: f64,
}

impl Pass {
    /// All bytes.
    pub fn bytes(&self) -> f64 {
        self.activation_bytes + self.weight_bytes
    }

    /// Two passes after each other.
    pub fn plus(self, other: Self) -> Self {
        Self {
            flop: self.flop + other.flop,
            activation_bytes: self.activation_bytes + other.activation_bytes,
            weight_bytes: self.weight_bytes + other.weight_bytes,
            launches: self.launches + other.launches,
        }
    }

    /// The same for a larger batch: weights stay.
    fn scaled(self, factor: f64) -> Self {
        let Self { flop, activation_bytes, weight_bytes, launches } = self;
        Self { flop: flop * factor, activation_bytes: activation_bytes * factor, weight_bytes, launches }
    }
}

/// An operator, or several that run as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// The way there.
    pub forward: Pass,
    /// The way back.
    pub backward: Pass,
    /// Which part of a GPU is busy.
    pub class: Class,
    /// Elements written, each of which could be computed at the same time.
    pub parallel: f64,
    /// How often it runs in a step.
    pub repeat: f64,
}

/// All operators of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCost {
    /// Its name in the model.
    pub name: String,
    /// What it means.
    pub role: Role,
    /// How many there are.
    pub count: usize,
    /// Operations of the forward pass.
    pub forward_flop: f64,
    /// Operations of the backward pass.
    pub backward_flop: f64,
    /// Bytes moved in both passes; those of several that run as one stand under the last of them.
    pub bytes: f64,
}

/// Operators that we do not know, or whose shapes we could not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Its name in the model.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// Operations of the forward pass, if it worked element by element.
    pub forward_flop: f64,
}

/// How the model was exported, as far as it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Export {
    /// With dropout or batch normalisation as training has them.
    Training,
    /// Without: for inference, where normalisations may be folded into weights, or a model that has neither.
    Plain,
}

/// What a training step costs, for one batch and one precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// What became of the batch.
    pub batch: Batch,
    /// The length of sequences that was asked for.
    pub sequence: Option<i64>,
    /// In what numbers.
    pub precision: Precision,
    /// How the model was exported.
    pub export: Export,
    /// Operations of the forward pass.
    pub forward_flop: f64,
    /// Operations of the backward pass.
    pub backward_flop: f64,
    /// Trained weights, each name once.
    pub parameters: f64,
    /// Elements of all activations.
    pub activations: f64,
    /// Elements of the outputs: what a loss is computed from, outside of the graph.
    pub outputs: f64,
    /// Bytes of activations kept until the backward pass, each once.
    pub saved_bytes: f64,
    /// The same if every operator ran as it stands in the graph: what a model keeps whose own code is in pieces.
    pub saved_bytes_in_pieces: f64,
    /// Bytes moved in the forward pass.
    pub forward_bytes: f64,
    /// Bytes moved in the backward pass.
    pub backward_bytes: f64,
    /// Bytes moved in both passes if every operator ran as it stands in the graph.
    pub bytes_in_pieces: f64,
    /// Kernels of the forward pass.
    pub forward_launches: f64,
    /// Kernels of the backward pass.
    pub backward_launches: f64,
    /// The longest chain of kernels that need each other.
    pub depth: usize,
    /// Operators that run on the GPU.
    pub operator_count: usize,
    /// Kernels in order, those that run as one together.
    pub kernels: Vec<Kernel>,
    /// Operators by name.
    pub operators: Vec<OperatorCost>,
    /// Operators whose cost is a guess.
    pub unknown: Vec<Unknown>,
    /// Patterns that were recognised: attentions, activations, normalisations, linear layers.
    pub fused: [usize; 4],
    /// Loops whose number of rounds is not known; one round was taken.
    pub open_loops: usize,
}

impl Costs {
    /// The costs of a model for a batch and a precision.
    pub fn of(model: &Model, binding: &Binding, precision: Precision) -> Result<Self, GraphError> {
        let (sizes, batch) = bind(model, binding)?;
        let walk = walk(model, sizes, binding)?;
        let groups = groups(&walk);
        let mut ledger = Ledger::new(&walk, precision);
        ledger.book(&groups);
        ledger.kernels.extend(gradient_sums(&walk, &groups, precision));
        let mut pieces = Ledger::new(&walk, precision);
        pieces.book(&[]);
        pieces.kernels.extend(gradient_sums(&walk, &[], precision));
        let moved = |kernel: &Kernel| {
            let both = kernel.forward.plus(kernel.backward).scaled(batch.factor());
            both.bytes() * kernel.repeat
        };
        let outputs = model.main.outputs.iter().filter_map(|value| walk.tensor(*value));
        let outputs: f64 = outputs.filter(|tensor| tensor.element == Element::Float).map(Tensor::size).sum();
        let count = |pattern| groups.iter().filter(|group| group.pattern == pattern).count();
        let fused = [Pattern::Attention, Pattern::Activation, Pattern::Norm, Pattern::Linear].map(count);
        let mut costs = Self {
            batch,
            sequence: binding.sequence,
            precision,
            export: ledger.export(),
            forward_flop: 0.0,
            backward_flop: 0.0,
            parameters: parameters(model),
            activations: ledger.activations * batch.factor(),
            outputs: outputs * batch.factor(),
            saved_bytes: ledger.saved_bytes * batch.factor(),
            saved_bytes_in_pieces: pieces.saved_bytes * batch.factor(),
            forward_bytes: 0.0,
            backward_bytes: 0.0,
            bytes_in_pieces: pieces.kernels.iter().map(moved).sum(),
            forward_launches: 0.0,
            backward_launches: 0.0,
            depth: ledger.depth(),
            operator_count: walk.steps.len(),
            kernels: ledger.kernels,
            operators: ledger.operators.into_values().collect(),
            unknown: ledger.unknown.into_values().collect(),
            fused,
            open_loops: walk.open_loops,
        };
        costs.scale(batch.factor());
        costs.add_up();
        Ok(costs)
    }

    /// The share of the forward operations that is a guess.
    pub fn unknown_share(&self) -> f64 {
        let guessed: f64 = self.unknown.iter().map(|unknown| unknown.forward_flop).sum();
        if guessed > 0.0 { guessed / self.forward_flop } else { 0.0 }
    }

    /// Operators with one of these roles.
    pub fn count(&self, roles: &[Role]) -> usize {
        self.operators
            .iter()
            .filter(|operator| roles.contains(&operator.role))
            .map(|operator| operator.count)
            .sum()
    }

    fn scale(&mut self, factor: f64) {
        for kernel in &mut self.kernels {
            kernel.forward = kernel.forward.scaled(factor);
            kernel.backward = kernel.backward.scaled(factor);
            kernel.parallel *= factor;
        }
        for operator in &mut self.operators {
            operator.forward_flop *= factor;
            operator.backward_flop *= factor;
            operator.bytes *= factor;
        }
        for unknown in &mut self.unknown {
            unknown.forward_flop *= factor;
        }
    }

    fn add_up(&mut self) {
        for Kernel { forward, backward, repeat, .. } in &self.kernels {
            self.forward_flop += forward.flop * repeat;
            self.backward_flop += backward.flop * repeat;
            self.forward_bytes += forward.bytes() * repeat;
            self.backward_bytes += backward.bytes() * repeat;
            self.forward_launches += forward.launches * repeat;
            self.backward_launches += backward.launches * repeat;
        }
    }
}
