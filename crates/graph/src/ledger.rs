//! Adds up the work of a walk: operations, bytes, kernels, what is kept.

use crate::costs::{Export, Kernel, OperatorCost, Pass, Unknown};
use crate::fuse::{Group, Pattern};
use crate::model::ValueId;
use crate::ops::Role;
use crate::ops::work::{Backward, Class, Saves};
use crate::precision::Precision;
use crate::tensor::{Element, Origin, Tensor};
use crate::walk::{Step, Walk};
use std::collections::BTreeMap;

/// Bytes of a mean, a sum or a mask that are kept whatever the precision.
const WIDE_BYTES: f64 = 4.0;

/// Sums over a walk.
pub struct Ledger<'w, 'm> {
    walk: &'w Walk<'m>,
    precision: Precision,
    kept: Vec<bool>,
    /// Elements of all activations.
    pub activations: f64,
    /// Bytes kept until the backward pass.
    pub saved_bytes: f64,
    /// Kernels in order.
    pub kernels: Vec<Kernel>,
    /// Operators by name.
    pub operators: BTreeMap<&'m str, OperatorCost>,
    /// Operators that we do not know.
    pub unknown: BTreeMap<&'m str, Unknown>,
}

impl<'w, 'm> Ledger<'w, 'm> {
    /// An empty ledger.
    pub fn new(walk: &'w Walk<'m>, precision: Precision) -> Self {
        Self {
            walk,
            precision,
            kept: vec![false; walk.values.len()],
            activations: 0.0,
            saved_bytes: 0.0,
            kernels: Vec::new(),
            operators: BTreeMap::new(),
            unknown: BTreeMap::new(),
        }
    }

    /// Books every step, those of a group as one kernel.
    pub fn book(&mut self, groups: &[Group]) {
        let walk = self.walk;
        let mut group_of = vec![None; walk.steps.len()];
        for (index, group) in groups.iter().enumerate() {
            group.members.iter().for_each(|step| group_of[*step] = Some(index));
        }
        for (index, step) in walk.steps.iter().enumerate() {
            let kernel = self.kernel(step);
            let group = group_of[index].map(|group: usize| &groups[group]);
            let last = group.is_none_or(|group| group.members.last() == Some(&index));
            let booked = match group {
                Some(group) if last => self.group(group),
                Some(_) => Kernel { forward: Pass::default(), backward: Pass::default(), ..kernel },
                None => {
                    self.keep(step);
                    kernel
                }
            };
            if last && !step.work.view {
                self.activations += step.repeat * self.written(step);
            }
            if booked.forward.launches > 0.0 {
                self.kernels.push(booked);
            }
            self.note(step, &kernel, &booked);
        }
    }

    /// Adds an operator to those of its name. Its operations are its own, its bytes those of the kernel it runs in.
    fn note(&mut self, step: &Step<'m>, own: &Kernel, booked: &Kernel) {
        let name = step.node.name.as_str();
        let role = step.node.op.map_or(Role::Other, |op| op.role);
        let operator = self.operators.entry(name).or_insert_with(|| OperatorCost {
            name: name.to_owned(),
            role,
            count: 0,
            forward_flop: 0.0,
            backward_flop: 0.0,
            bytes: 0.0,
        });
        operator.count += 1;
        operator.forward_flop += own.forward.flop * step.repeat;
        operator.backward_flop += own.backward.flop * step.repeat;
        operator.bytes += (booked.forward.bytes() + booked.backward.bytes()) * step.repeat;
        if !step.known {
            let unknown = self.unknown.entry(name).or_insert_with(|| Unknown {
                name: name.to_owned(),
                count: 0,
                forward_flop: 0.0,
            });
            unknown.count += 1;
            unknown.forward_flop += own.forward.flop * step.repeat;
        }
    }

    /// Elements of the activations that a step writes.
    fn written(&self, step: &Step) -> f64 {
        // What a normalisation writes besides are statistics.
        let most = if step.node.op.is_some_and(|op| op.role == Role::Norm) { 1 } else { usize::MAX };
        let outputs =
            step.node.outputs.iter().take(most).flatten().filter_map(|value| self.walk.tensor(*value));
        outputs.filter(|tensor| tensor.element == Element::Float).map(Tensor::size).sum()
    }

    fn bytes(&self, tensor: &Tensor) -> f64 {
        tensor.bytes(self.precision)
    }

    /// Adds reading or writing a tensor to a pass.
    fn touch(&self, pass: &mut Pass, tensor: &Tensor) {
        if tensor.origin == Origin::Parameter {
            pass.weight_bytes += self.bytes(tensor);
        } else {
            pass.activation_bytes += self.bytes(tensor);
        }
    }

    fn inputs(&self, step: &Step<'m>) -> impl Iterator<Item = (usize, &'w Tensor)> + use<'w, 'm> {
        let walk = self.walk;
        let values = step.node.inputs.iter().enumerate();
        values.filter_map(move |(index, value)| Some((index, walk.tensor((*value)?)?)))
    }

    fn outputs(&self, step: &Step<'m>) -> impl Iterator<Item = &'w Tensor> + use<'w, 'm> {
        let walk = self.walk;
        step.node.outputs.iter().filter_map(move |value| walk.tensor((*value)?))
    }

    /// A step as a kernel of its own.
    fn kernel(&self, step: &Step<'m>) -> Kernel {
        let work = &step.work;
        let mut forward = Pass { flop: work.flop, launches: work.kernels, ..Pass::default() };
        let parallel = self.outputs(step).map(Tensor::size).sum();
        if !work.view {
            let written: f64 = self.outputs(step).map(|tensor| self.bytes(tensor)).sum();
            forward.activation_bytes += written;
            for (index, tensor) in self.inputs(step) {
                if work.sparse && index == 0 {
                    forward.activation_bytes += written;
                } else {
                    self.touch(&mut forward, tensor);
                }
            }
        }
        Kernel { forward, backward: self.backward(step), class: work.class, parallel, repeat: step.repeat }
    }

    fn backward(&self, step: &Step<'m>) -> Pass {
        let work = &step.work;
        let trained: Vec<(usize, &Tensor)> = self.inputs(step).filter(|(_, tensor)| tensor.trained).collect();
        let mut pass = Pass::default();
        if trained.is_empty() || work.backward == Backward::Nothing || work.view {
            return pass;
        }
        let Some(out) = self.outputs(step).next() else { return pass };
        if work.backward == Backward::Operands {
            for (index, tensor) in trained.iter().filter(|(index, _)| *index < 2) {
                pass.flop += work.flop;
                pass.launches += 1.0;
                self.touch(&mut pass, out);
                self.touch(&mut pass, tensor);
                if let Some((_, other)) = self.inputs(step).find(|(other, _)| *other == 1 - index) {
                    self.touch(&mut pass, other);
                }
            }
            return pass;
        }
        pass.flop = work.flop * if work.backward == Backward::Twice { 2.0 } else { 1.0 };
        if step.node.op.is_some_and(|op| matches!(op.role, Role::Add | Role::Sub)) {
            // The gradient of a sum is handed on; only what was broadcast is summed up.
            for (_, tensor) in trained.iter().filter(|(_, tensor)| tensor.count() != out.count()) {
                pass.launches += 1.0;
                self.touch(&mut pass, out);
                self.touch(&mut pass, tensor);
            }
            return pass;
        }
        pass.launches = work.kernels * if work.backward == Backward::Twice { 2.0 } else { 1.0 };
        self.touch(&mut pass, out);
        if work.sparse {
            // Only the rows that were chosen get a gradient.
            pass.activation_bytes += self.bytes(out);
            return pass;
        }
        for (_, tensor) in &trained {
            self.touch(&mut pass, tensor);
        }
        let saved = match work.saves {
            Saves::Nothing | Saves::Mask => None,
            Saves::Output => Some(out),
            _ => self.inputs(step).next().map(|(_, tensor)| tensor),
        };
        if let Some(tensor) = saved {
            self.touch(&mut pass, tensor);
        }
        pass
    }

    /// A group as one kernel: the operations of all, the bytes of what goes in and comes out.
    fn group(&mut self, group: &Group) -> Kernel {
        let walk = self.walk;
        let steps = || group.members.iter().map(|member| &walk.steps[*member]);
        let inner: Vec<ValueId> =
            steps().flat_map(|step| step.node.outputs.iter().flatten().copied()).collect();
        let mut outer: Vec<ValueId> =
            steps().flat_map(|step| step.node.inputs.iter().flatten().copied()).collect();
        outer.retain(|value| !inner.contains(value));
        outer.sort_unstable();
        outer.dedup();
        let last = group.members.last().map(|member| &walk.steps[*member]);
        let result = last.and_then(|step| self.outputs(step).next());
        let (mut forward, mut backward) = (Pass::default(), Pass::default());
        for step in steps() {
            forward.flop += step.work.flop;
            backward.flop += self.backward(step).flop;
        }
        forward.launches = 1.0;
        let trained = |value: &ValueId| walk.tensor(*value).is_some_and(|tensor| tensor.trained);
        backward.launches = f64::from(u8::from(outer.iter().any(trained)));
        for tensor in outer.iter().filter_map(|value| walk.tensor(*value)) {
            self.touch(&mut forward, tensor);
            // Read again, and its gradient written.
            let times = if tensor.trained { 2 } else { 1 };
            (0..times).for_each(|_| self.touch(&mut backward, tensor));
        }
        if let Some(result) = result {
            self.touch(&mut forward, result);
            // The result of attention is read besides its gradient.
            let times = if group.pattern == Pattern::Attention { 2 } else { 1 };
            (0..times).for_each(|_| self.touch(&mut backward, result));
        }
        if group.pattern == Pattern::Linear {
            // Only the way there is one kernel: input, weight and bias get their gradients one by one.
            backward = steps().map(|step| self.backward(step)).fold(Pass::default(), Pass::plus);
        }
        if backward.launches < 1.0 {
            backward = Pass::default();
        } else {
            let repeat = last.map_or(1.0, |step| step.repeat);
            group.keeps.iter().for_each(|value| self.keep_value(*value, repeat));
            self.saved_bytes += group.kept_wide * WIDE_BYTES * repeat;
        }
        let class =
            if steps().any(|step| step.work.class == Class::Tensor) { Class::Tensor } else { Class::Vector };
        let parallel = result.map_or(0.0, Tensor::size);
        Kernel { forward, backward, class, parallel, repeat: last.map_or(1.0, |step| step.repeat) }
    }

    /// Keeps what a step needs for its backward pass.
    fn keep(&mut self, step: &Step<'m>) {
        let work = &step.work;
        if work.backward == Backward::Nothing || !self.inputs(step).any(|(_, tensor)| tensor.trained) {
            return;
        }
        let input = |index: usize| step.node.inputs.get(index).copied().flatten();
        let output = step.node.outputs.first().copied().flatten();
        let trained = |index: usize| {
            input(index).and_then(|value| self.walk.tensor(value)).is_some_and(|tensor| tensor.trained)
        };
        let kept = match work.saves {
            Saves::Nothing | Saves::Mask => [None; 4],
            Saves::Input => [input(0), None, None, None],
            Saves::Output => [output, None, None, None],
            Saves::Both => [input(0), output, None, None],
            Saves::Attention => [input(0), input(1), input(2), output],
            Saves::Crosswise => {
                [input(0).filter(|_| trained(1)), input(1).filter(|_| trained(0)), None, None]
            }
        };
        kept.into_iter().flatten().for_each(|value| self.keep_value(value, step.repeat));
        let mask =
            if work.saves == Saves::Mask { self.outputs(step).next().map_or(0.0, Tensor::size) } else { 0.0 };
        let besides = work.kept * self.precision.bytes() + work.kept_wide * WIDE_BYTES + mask;
        self.saved_bytes += besides * step.repeat;
    }

    /// Keeps a tensor, unless it is a weight or its storage is kept already.
    fn keep_value(&mut self, value: ValueId, repeat: f64) {
        let walk = self.walk;
        let storage = walk.storage[value.index()] as usize;
        let Some(tensor) = walk.values[storage].as_ref().or_else(|| walk.tensor(value)) else { return };
        if tensor.origin == Origin::Activation && !self.kept[storage] {
            self.kept[storage] = true;
            self.saved_bytes += self.bytes(tensor) * repeat;
        }
    }

    /// The longest chain of kernels.
    pub fn depth(&self) -> usize {
        let mut depth = vec![0_usize; self.walk.values.len()];
        let mut most = 0;
        for step in &self.walk.steps {
            let inputs = step.node.inputs.iter().flatten().map(|value| depth[value.index()]);
            let own = inputs.max().unwrap_or(0) + usize::from(!step.work.view);
            step.node.outputs.iter().flatten().for_each(|value| depth[value.index()] = own);
            most = most.max(own);
        }
        most
    }

    /// How the model was exported, as far as it shows.
    pub fn export(&self) -> Export {
        let training = self.walk.steps.iter().any(|step| {
            step.work.saves == Saves::Mask || step.node.int("training_mode").is_some_and(|mode| mode != 0)
        });
        if training { Export::Training } else { Export::Plain }
    }
}
