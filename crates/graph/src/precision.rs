//! The precision of a training.

/// In what numbers a model is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Everything in four bytes.
    Fp32,
    /// Activations in two bytes, weights kept in four: autocast.
    #[default]
    Bf16,
}

impl Precision {
    /// All of them, with the names that users type.
    pub const ALL: [(&'static str, Self); 2] = [("bf16", Self::Bf16), ("fp32", Self::Fp32)];

    /// Bytes of an element of an activation, and of a weight as a kernel reads it.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Bf16 => 2.0,
        }
    }

    /// What users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Bf16 => "bf16",
        }
    }
}
