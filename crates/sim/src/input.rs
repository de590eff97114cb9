//! Input that is wrong: always with its place, its field, what was found and what is allowed.

use std::fmt;

/// What is wrong with an input, and where.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct InputError {
    /// The file, or the flag.
    pub place: String,
    /// The line in it, from 1; 0 if there are no lines.
    pub line: u64,
    /// The field.
    pub field: String,
    /// What was found; empty if nothing was.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl InputError {
    /// A field with a value that does not fit.
    pub fn field(line: u64, field: &str, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            line,
            field: field.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }

    /// Something that is wrong as a whole.
    pub fn whole(place: &str, allowed: impl Into<String>) -> Self {
        Self { place: place.into(), allowed: allowed.into(), ..Self::default() }
    }

    /// The same, in this file.
    pub fn within(mut self, place: &str) -> Self {
        place.clone_into(&mut self.place);
        self
    }
}

/// Refuses numbers outside of what is allowed: `(field, value, least, most)`.
pub(crate) fn within(numbers: &[(&str, f64, f64, f64)]) -> Result<(), InputError> {
    let wrong = numbers.iter().find(|(_, value, least, most)| !(least..=most).contains(&value));
    wrong.map_or(Ok(()), |(field, value, least, most)| {
        Err(InputError::field(0, field, value, format!("it must be from {least} to {most}")))
    })
}

/// Refuses gang sizes of which none can be drawn: GPUs, and how often that many come up.
pub(crate) fn gangs_within(gpus: &[(u32, f64)]) -> Result<(), InputError> {
    for (gang, weight) in gpus {
        within(&[("a gang of `gpus`", (*gang).into(), 1.0, 1e6), ("a weight of `gpus`", *weight, 0.0, 1e9)])?;
    }
    let total: f64 = gpus.iter().map(|(_, weight)| weight).sum();
    within(&[("the sum of the weights of `gpus`", total, 1e-9, 1e12)])
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if self.line > 0 {
            write!(f, "{}line {}", if self.place.is_empty() { "" } else { ": " }, self.line)?;
        }
        if !self.place.is_empty() || self.line > 0 {
            write!(f, ": ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{} is `{}`, but ", self.field, self.value)?;
        }
        write!(f, "{}", self.allowed)
    }
}

impl std::error::Error for InputError {}
