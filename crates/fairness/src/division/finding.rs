//! What a check comes to, and what is said of a property.

use evenhand_solve::{Market, Matrix, SolveError};

/// A violation up to this size, relative to what is due, is taken for the rounding of a solver.
pub const TOLERANCE: f64 = 1e-6;

/// Whether a division has a property, and how far it is from having it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Whether the worst violation is within the [tolerance](TOLERANCE).
    pub holds: bool,
    /// The worst violation, as a ratio that each property defines; 0 = none.
    pub worst: f64,
    /// Whom the worst violation concerns, by row; what they are to each other each property says. Empty if it holds.
    pub who: Vec<usize>,
}

impl Finding {
    /// Of the worst violation and those it concerns.
    pub fn of(worst: f64, who: Vec<usize>) -> Self {
        let holds = worst <= TOLERANCE;
        Self { holds, worst, who: if holds { Vec::new() } else { who } }
    }
}

/// What parties and GPU models are called.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// One per row.
    pub parties: &'a [String],
    /// One per column.
    pub models: &'a [String],
}

/// A property and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Its fixed name.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// What its ratio is called.
    pub measure: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// In symbols, and where it comes from.
    pub definition: &'static str,
    /// Looks for the worst violation. Fails only where a linear program is to be solved and is not.
    pub check: fn(&Market, &Matrix) -> Result<Finding, SolveError>,
    /// The worst violation in a sentence, for a finding of this property that does not hold.
    pub explain: fn(&Market, &Matrix, &Finding, Names<'_>) -> String,
}

/// A ratio as people read it.
pub(super) fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        value if !value.is_finite() => "infinitely".into(),
        value if value < 0.01 => "less than 0.01 %".into(),
        value if value < 9.95 => format!("{value:.2} %"),
        value => format!("{value:.1} %"),
    }
}
