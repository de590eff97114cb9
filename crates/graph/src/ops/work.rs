//! What one operator asks of a GPU, before anything is known of precision or of the GPU.

/// Which part of a GPU an operator keeps busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Products of matrices: tensor cores, where the precision allows.
    Tensor,
    /// Arithmetic element by element.
    Vector,
    /// Moving data.
    Memory,
}

/// What the backward pass costs, in forward passes of the same operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backward {
    /// Nothing: it has no gradient.
    Nothing,
    /// One for every one of the first two inputs that needs a gradient.
    Operands,
    /// One if anything needs a gradient.
    Once,
    /// Two if anything needs a gradient: inputs and weights of a recurrent layer.
    Twice,
}

/// What training keeps of an operator until its backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saves {
    /// Nothing.
    Nothing,
    /// Its first input.
    Input,
    /// Its first output.
    Output,
    /// Of two inputs each for the gradient of the other.
    Crosswise,
    /// A byte per element written.
    Mask,
    /// Query, key, value and result.
    Attention,
    /// Its first input and its first output.
    Both,
}

/// What one operator asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations of the forward pass; a multiply-accumulate is two.
    pub flop: f64,
    /// What the backward pass costs.
    pub backward: Backward,
    /// Which part of a GPU is busy.
    pub class: Class,
    /// Kernels of the forward pass.
    pub kernels: f64,
    /// What is kept.
    pub saves: Saves,
    /// Elements kept besides, in the precision of activations.
    pub kept: f64,
    /// Elements kept besides, in four bytes each.
    pub kept_wide: f64,
    /// Only the storage of input 0 under another shape.
    pub view: bool,
    /// Input 0 is read in part: as much of it as is written.
    pub sparse: bool,
}

impl Work {
    /// A kernel that computes `flop` operations element by element.
    pub fn vector(flop: f64) -> Self {
        Self {
            flop,
            backward: Backward::Once,
            class: Class::Vector,
            kernels: 1.0,
            saves: Saves::Nothing,
            kept: 0.0,
            kept_wide: 0.0,
            view: false,
            sparse: false,
        }
    }

    /// A product of matrices.
    pub fn matrix(flop: f64) -> Self {
        Self {
            backward: Backward::Operands,
            class: Class::Tensor,
            saves: Saves::Crosswise,
            ..Self::vector(flop)
        }
    }

    /// A kernel that only moves data.
    pub fn memory() -> Self {
        Self { class: Class::Memory, ..Self::vector(0.0) }
    }

    /// No kernel at all.
    pub fn view() -> Self {
        Self { kernels: 0.0, view: true, ..Self::memory() }
    }

    /// Nothing at all: a constant, or something the host computes.
    pub fn nothing() -> Self {
        Self { kernels: 0.0, backward: Backward::Nothing, ..Self::memory() }
    }

    /// The same, keeping this for the backward pass.
    pub fn saving(self, saves: Saves) -> Self {
        Self { saves, ..self }
    }

    /// The same without a gradient.
    pub fn without_gradient(self) -> Self {
        Self { backward: Backward::Nothing, ..self }
    }
}
