//! Who writes and who reads every value.

use crate::model::ValueId;
use crate::ops::Role;
use crate::tensor::Origin;
use crate::walk::Walk;

/// The steps of a walk as a graph.
pub struct Links<'w, 'm> {
    /// The walk.
    pub walk: &'w Walk<'m>,
    producer: Vec<Option<u32>>,
    uses: Vec<Vec<u32>>,
}

impl<'w, 'm> Links<'w, 'm> {
    /// The links of a walk.
    pub fn new(walk: &'w Walk<'m>) -> Self {
        let mut producer = vec![None; walk.values.len()];
        let mut uses = vec![Vec::new(); walk.values.len()];
        for (step, found) in walk.steps.iter().enumerate() {
            for value in found.node.outputs.iter().flatten() {
                producer[value.index()] = Some(step as u32);
            }
            for value in found.node.inputs.iter().flatten() {
                let uses: &mut Vec<u32> = &mut uses[value.index()];
                if uses.last() != Some(&(step as u32)) {
                    uses.push(step as u32);
                }
            }
        }
        Self { walk, producer, uses }
    }

    /// What an operator means; nothing if its shapes could not be told.
    pub fn role(&self, step: usize) -> Role {
        let step = &self.walk.steps[step];
        step.node.op.filter(|_| step.known).map_or(Role::Other, |op| op.role)
    }

    /// Whether a step only looks at its first input under another shape.
    pub fn is_view(&self, step: usize) -> bool {
        self.walk.steps[step].work.view
    }

    /// An input.
    pub fn input(&self, step: usize, index: usize) -> Option<ValueId> {
        self.walk.steps[step].node.inputs.get(index).copied().flatten()
    }

    /// The first output.
    pub fn output(&self, step: usize) -> Option<ValueId> {
        self.walk.steps[step].node.outputs.first().copied().flatten()
    }

    /// Who writes a value.
    pub fn producer(&self, value: ValueId) -> Option<usize> {
        self.producer[value.index()].map(|step| step as usize)
    }

    /// Who reads a value.
    pub fn uses(&self, value: ValueId) -> impl ExactSizeIterator<Item = usize> {
        self.uses[value.index()].iter().map(|step| *step as usize)
    }

    /// The only one who reads a value.
    pub fn only_use(&self, value: ValueId) -> Option<usize> {
        let mut uses = self.uses(value);
        uses.next().filter(|_| uses.len() == 0)
    }

    /// The only one who reads what a step writes, if it has this role.
    pub fn next(&self, step: usize, role: Role) -> Option<usize> {
        self.only_use(self.output(step)?).filter(|next| self.role(*next) == role)
    }

    /// Whether a value is the same in every step of the training.
    pub fn is_constant(&self, value: ValueId) -> bool {
        self.walk.tensor(value).is_none_or(|tensor| tensor.origin == Origin::Constant)
    }

    /// Whether a value is a trained weight.
    pub fn is_parameter(&self, value: ValueId) -> bool {
        self.walk.tensor(value).is_some_and(|tensor| tensor.origin == Origin::Parameter)
    }

    /// The other one of two operands.
    pub fn other(&self, step: usize, value: ValueId) -> Option<ValueId> {
        let (first, second) = (self.input(step, 0)?, self.input(step, 1)?);
        Some(if first == value { second } else { first })
    }

    /// The operand of a step that is not constant, if the other one is.
    pub fn scaled(&self, step: usize) -> Option<ValueId> {
        let (first, second) = (self.input(step, 0)?, self.input(step, 1)?);
        match (self.is_constant(first), self.is_constant(second)) {
            (false, true) => Some(first),
            (true, false) => Some(second),
            _ => None,
        }
    }
}
