//! What a point makes of a program, and programs that no method should be given.

use crate::SolveError;
use crate::name::Name;
use crate::problem::{Problem, Relation};

impl Problem {
    /// The objective at a point.
    pub fn value_at(&self, values: &[f64]) -> f64 {
        crate::dot(&self.objective, values)
    }

    /// How far a point is outside the row or range that it breaks most.
    pub fn violation_at(&self, values: &[f64]) -> f64 {
        let rows = (0..self.constraints()).map(|row| {
            let left: f64 = self.terms(row).iter().map(|(variable, value)| value * values[*variable]).sum();
            match self.relations[row] {
                Relation::AtMost => left - self.right[row],
                Relation::AtLeast => self.right[row] - left,
                Relation::Equal => (left - self.right[row]).abs(),
            }
        });
        let ranges = values.iter().zip(&self.lower).zip(&self.upper);
        let ranges = ranges.map(|((value, lower), upper)| (lower - value).max(value - upper));
        rows.chain(ranges).fold(0.0, f64::max)
    }

    /// Refuses numbers that no method can work with.
    pub(crate) fn check(&self) -> Result<(), SolveError> {
        let wrong = |what: &str, name: &Name, value: f64| {
            Err(SolveError::Number { what: format!("{what} of {name}"), value })
        };
        for (at, name) in self.variable_names.iter().enumerate() {
            if !self.objective[at].is_finite() {
                return wrong("the coefficient in the objective", name, self.objective[at]);
            }
            let (lower, upper) = (self.lower[at], self.upper[at]);
            if lower.is_nan() || lower == f64::INFINITY {
                return wrong("the lower end", name, lower);
            }
            if upper.is_nan() || upper == f64::NEG_INFINITY {
                return wrong("the upper end", name, upper);
            }
            if lower > upper {
                return Err(SolveError::Infeasible { conflict: vec![format!("the range of {name}")] });
            }
        }
        for (row, name) in self.row_names.iter().enumerate() {
            if !self.right[row].is_finite() {
                return wrong("the right side", name, self.right[row]);
            }
            if let Some((_, value)) = self.terms(row).iter().find(|(_, value)| !value.is_finite()) {
                return wrong("a coefficient", name, *value);
            }
        }
        Ok(())
    }
}
