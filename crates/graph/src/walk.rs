//! One walk over a model with all sizes bound: the shape of every value and the work of every operator.

use crate::binding::{Binding, stated};
use crate::error::GraphError;
use crate::limits::{CONTENT_TOTAL_MAX, REPEAT_MAX};
use crate::model::{Body, Model, Node, ValueId};
use crate::ops::work::{Backward, Class, Work};
use crate::ops::{Call, Eval, Fault, Role};
use crate::tensor::{Element, Origin, Tensor, is_possible};

/// One operator that was walked.
pub struct Step<'m> {
    /// The operator.
    pub node: &'m Node,
    /// What it asks for.
    pub work: Work,
    /// How often it runs.
    pub repeat: f64,
    /// Whether we know the operator, and could tell its shapes.
    pub known: bool,
}

/// Everything that a walk finds out.
pub struct Walk<'m> {
    model: &'m Model,
    binding: &'m Binding,
    /// What is known of every value.
    pub values: Vec<Option<Tensor>>,
    /// The value in whose storage each value lies.
    pub storage: Vec<u32>,
    /// The operators that run on the GPU, in order.
    pub steps: Vec<Step<'m>>,
    /// Loops whose number of rounds is not known; one round was taken.
    pub open_loops: usize,
    content_left: usize,
}

/// Rounds of a loop that are believed.
const ROUNDS_MAX: f64 = 1e9;

/// Walks a model whose inputs have these sizes.
pub fn walk<'m>(
    model: &'m Model,
    sizes: Vec<Vec<i64>>,
    binding: &'m Binding,
) -> Result<Walk<'m>, GraphError> {
    let count = model.declared.len();
    let mut walk = Walk {
        model,
        binding,
        values: vec![None; count],
        storage: (0..count as u32).collect(),
        steps: Vec::new(),
        open_loops: 0,
        content_left: CONTENT_TOTAL_MAX,
    };
    for (input, dims) in model.inputs.iter().zip(sizes) {
        let element = Element::from_onnx(input.declared.element);
        walk.values[input.value.index()] =
            Some(Tensor { origin: Origin::Activation, ..Tensor::new(element, dims) });
    }
    walk.body(&model.main, 1.0)?;
    Ok(walk)
}

impl<'m> Walk<'m> {
    /// What is known of a value.
    pub fn tensor(&self, value: ValueId) -> Option<&Tensor> {
        self.values[value.index()].as_ref()
    }

    fn body(&mut self, body: &'m Body, repeat: f64) -> Result<(), GraphError> {
        for own in &body.initialisers {
            let content = own.tensor.content.clone().filter(|_| self.content_left > 0);
            self.values[own.value.index()] = Some(Tensor { content, ..own.tensor.clone() });
        }
        for (index, node) in body.nodes.iter().enumerate() {
            match node.op.map(|op| op.role) {
                Some(Role::If) => self.choose(node, repeat, index)?,
                Some(Role::Loop) => self.repeat(node, repeat, index)?,
                Some(Role::Scan) => self.scan(node, repeat, index)?,
                _ => self.step(node, repeat, index)?,
            }
        }
        Ok(())
    }

    fn step(&mut self, node: &'m Node, repeat: f64, index: usize) -> Result<(), GraphError> {
        let inputs: Vec<Option<&Tensor>> = node.inputs.iter().map(|value| self.tensor((*value)?)).collect();
        let (eval, saves) =
            node.op.map_or((Eval::No, crate::ops::work::Saves::Nothing), |op| (op.eval, op.saves));
        let call = Call { node, eval, saves, inputs, opset: self.model.opset };
        let shapes = node.op.map_or(Err(Fault), |op| (op.shapes)(&call));
        let known = shapes.is_ok();
        let mut outputs = shapes.unwrap_or_else(|_| self.guess(&call));
        let impossible = || GraphError::ImpossibleShape { node: index, operator: node.name.clone() };
        if outputs.iter().any(|tensor| !is_possible(&tensor.dims)) {
            return Err(impossible());
        }
        let work = match node.op {
            Some(op) if known => (op.work)(&call, &outputs),
            _ => Work::vector(outputs.iter().map(Tensor::size).sum()),
        };
        let (origin, trained) = lineage(&call, &work);
        for out in &mut outputs {
            out.origin = origin;
            out.trained = trained && out.element == Element::Float;
        }
        let free = origin != Origin::Activation;
        self.write(node, outputs, &work);
        if !free {
            self.steps.push(Step { node, work, repeat, known });
        }
        Ok(())
    }

    /// What an operator writes whose shapes cannot be told: what the file states, else a copy of its first input.
    fn guess(&self, call: &Call) -> Vec<Tensor> {
        let copy = |value: &Option<ValueId>| {
            let declared = value.and_then(|value| self.model.declared[value.index()].as_ref());
            let stated = declared.and_then(|declared| {
                Some(Tensor::new(Element::from_onnx(declared.element), stated(declared, self.binding)?))
            });
            let first = || call.inputs.iter().copied().flatten().next();
            stated.unwrap_or_else(|| {
                first().map_or(Tensor::new(Element::Float, Vec::new()), |input| Tensor {
                    content: None,
                    ..input.clone()
                })
            })
        };
        call.node.outputs.iter().map(copy).collect()
    }

    fn write(&mut self, node: &Node, outputs: Vec<Tensor>, work: &Work) {
        let first = node.inputs.first().copied().flatten();
        for (value, mut tensor) in node.outputs.iter().zip(outputs) {
            let Some(value) = value else { continue };
            let content = tensor.content.as_ref().map_or(0, |content| content.len());
            if content > self.content_left {
                tensor.content = None;
                self.forget_contents();
            } else {
                self.content_left -= content;
            }
            self.values[value.index()] = Some(tensor);
            if let Some(input) = first.filter(|_| work.view) {
                self.storage[value.index()] = self.storage[input.index()];
            }
        }
    }

    /// Ends the computing of contents: without any to start from, nothing is computed only to be thrown away.
    fn forget_contents(&mut self) {
        self.content_left = 0;
        for tensor in self.values.iter_mut().flatten() {
            tensor.content = None;
        }
    }

    /// The branch that the condition chooses, if it is known, else the one that costs more.
    fn choose(&mut self, node: &'m Node, repeat: f64, index: usize) -> Result<(), GraphError> {
        let (Some(yes), Some(no)) = (node.body("then_branch"), node.body("else_branch")) else {
            return self.step(node, repeat, index);
        };
        let condition = node.inputs.first().copied().flatten().and_then(|value| self.tensor(value)?.scalar());
        if let Some(condition) = condition {
            let chosen = if condition == 0.0 { no } else { yes };
            self.body(chosen, repeat)?;
            self.pass(&chosen.outputs, &node.outputs, None);
            return Ok(());
        }
        let before = self.steps.len();
        self.body(yes, repeat)?;
        let first = self.steps.split_off(before);
        self.body(no, repeat)?;
        let cost = |steps: &[Step]| steps.iter().map(|step| step.work.flop * step.repeat).sum::<f64>();
        let chosen = if cost(&first) >= cost(&self.steps[before..]) {
            self.steps.truncate(before);
            self.steps.extend(first);
            yes
        } else {
            no
        };
        self.pass(&chosen.outputs, &node.outputs, None);
        Ok(())
    }

    /// A loop: iteration number, condition and carried values in; condition, carried and collected values out.
    fn repeat(&mut self, node: &'m Node, repeat: f64, index: usize) -> Result<(), GraphError> {
        let Some(body) = node.body("body") else { return self.step(node, repeat, index) };
        let trips = node.inputs.first().copied().flatten().and_then(|value| self.tensor(value)?.scalar());
        let rounds = self.rounds(trips);
        let scalar = |element| Tensor { origin: Origin::Constant, ..Tensor::new(element, Vec::new()) };
        let given = [scalar(Element::Integer(8)), scalar(Element::Bool)].into_iter().map(Some);
        let carried: Vec<Option<Tensor>> =
            node.inputs.iter().skip(2).map(|value| self.changing((*value)?)).collect();
        let carried_count = carried.len();
        for (value, tensor) in body.inputs.iter().zip(given.chain(carried)) {
            self.values[value.index()] = tensor;
        }
        self.body(body, (repeat * rounds).min(REPEAT_MAX))?;
        let results = body.outputs.get(1..).unwrap_or_default();
        let (last, collected) = results.split_at(carried_count.min(results.len()));
        let (outer, stacked) = node.outputs.split_at(last.len().min(node.outputs.len()));
        self.pass(last, outer, None);
        self.pass(collected, stacked, Some(rounds as i64));
        Ok(())
    }

    /// A body for every slice along the first axis: states and slices in, states and collected values out.
    fn scan(&mut self, node: &'m Node, repeat: f64, index: usize) -> Result<(), GraphError> {
        let Some(body) = node.body("body") else { return self.step(node, repeat, index) };
        let slices = node.int("num_scan_inputs").and_then(|count| usize::try_from(count).ok()).unwrap_or(1);
        let states = node.inputs.len().saturating_sub(slices);
        let mut length = None;
        for (at, (value, inner)) in node.inputs.iter().zip(&body.inputs).enumerate() {
            let mut tensor = value.and_then(|value| self.changing(value));
            if let Some(tensor) = tensor.as_mut().filter(|tensor| at >= states && !tensor.dims.is_empty()) {
                length = Some(tensor.dims.remove(0) as f64);
            }
            self.values[inner.index()] = tensor;
        }
        let rounds = self.rounds(length);
        self.body(body, (repeat * rounds).min(REPEAT_MAX))?;
        let (last, collected) = body.outputs.split_at(states.min(body.outputs.len()));
        let (outer, stacked) = node.outputs.split_at(last.len().min(node.outputs.len()));
        self.pass(last, outer, None);
        self.pass(collected, stacked, Some(rounds as i64));
        Ok(())
    }

    fn rounds(&mut self, known: Option<f64>) -> f64 {
        let known = known.filter(|rounds| rounds.is_finite());
        self.open_loops += usize::from(known.is_none());
        // A loop without a limit says so with the largest integer there is.
        known.filter(|rounds| *rounds < ROUNDS_MAX).unwrap_or(1.0).max(0.0)
    }

    /// A value as the body of a loop sees it: of the same shape in every round, of any content.
    fn changing(&self, value: ValueId) -> Option<Tensor> {
        self.tensor(value).map(|tensor| Tensor { content: None, ..tensor.clone() })
    }

    /// Hands values of a body to the values outside, stacked up if it ran several times.
    fn pass(&mut self, from: &[ValueId], to: &[Option<ValueId>], stacked: Option<i64>) {
        for (inner, outer) in from.iter().zip(to) {
            let Some(outer) = outer else { continue };
            let mut tensor = self.values[inner.index()].clone();
            if let (Some(tensor), Some(rounds)) = (&mut tensor, stacked) {
                tensor.dims.insert(0, rounds);
                tensor.content = None;
            }
            // What would be too large to exist is not known.
            self.values[outer.index()] = tensor.filter(|tensor| is_possible(&tensor.dims));
            self.storage[outer.index()] = self.storage[inner.index()];
        }
    }
}

/// Where what an operator writes comes from, and whether it needs a gradient.
fn lineage(call: &Call, work: &Work) -> (Origin, bool) {
    let given = || call.inputs.iter().copied().flatten();
    let most = given().map(|tensor| tensor.origin).max().unwrap_or(Origin::Constant);
    let trained = given().any(|tensor| tensor.trained) && work.backward != Backward::Nothing;
    let nothing = work.kernels < 1.0 && !work.view;
    let moved = work.class == Class::Memory && !work.sparse;
    match most {
        _ if nothing => (Origin::Constant, false),
        // A weight that is cut, joined or turned is still a weight, and prepared once.
        Origin::Parameter if !moved => (Origin::Activation, trained),
        origin => (origin, trained),
    }
}
