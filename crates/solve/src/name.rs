//! What the parts of a program are called: `capacity`, `u[3]`, `x[3,1]`.
//!
//! A name is a word and at most two numbers, so that naming every variable and row costs no allocation and no formatting;
//! a name becomes text only where a person reads it, in errors and in a printed program.

use std::fmt;

/// A word and whom it is of. Made from `"total"`, `("u", i)` or `("x", i, j)`; indices from 0 are printed from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    word: &'static str,
    of: Indices,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Indices {
    None,
    One(usize),
    Two(usize, usize),
}

impl From<&'static str> for Name {
    fn from(word: &'static str) -> Self {
        Self { word, of: Indices::None }
    }
}

impl From<(&'static str, usize)> for Name {
    fn from((word, i): (&'static str, usize)) -> Self {
        Self { word, of: Indices::One(i) }
    }
}

impl From<(&'static str, usize, usize)> for Name {
    fn from((word, i, j): (&'static str, usize, usize)) -> Self {
        Self { word, of: Indices::Two(i, j) }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            Indices::None => f.write_str(self.word),
            Indices::One(i) => write!(f, "{}[{}]", self.word, i + 1),
            Indices::Two(i, j) => write!(f, "{}[{},{}]", self.word, i + 1, j + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_count_from_one() {
        let names = [Name::from("total"), ("u", 0).into(), ("x", 2, 0).into()];
        assert_eq!(names.map(|name| name.to_string()), ["total", "u[1]", "x[3,1]"]);
    }
}
