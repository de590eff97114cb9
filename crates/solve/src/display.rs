//! A program as a person would write it, with its names.

use crate::Problem;
use crate::problem::Relation;
use std::fmt;

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sense > 0.0 { "minimise" } else { "maximise" })?;
        let objective: Vec<(usize, f64)> = self.objective.iter().copied().enumerate().collect();
        self.sum(f, &objective)?;
        f.write_str("\nsubject to\n")?;
        for row in 0..self.constraints() {
            write!(f, "  {}:", self.row_names[row])?;
            self.sum(f, self.terms(row))?;
            let relation = match self.relations[row] {
                Relation::AtMost => "<=",
                Relation::AtLeast => ">=",
                Relation::Equal => "=",
            };
            writeln!(f, " {relation} {}", self.right[row])?;
        }
        for (at, name) in self.variable_names.iter().enumerate() {
            match (self.lower[at], self.upper[at]) {
                (lower, upper) if lower.is_finite() && upper.is_finite() => {
                    writeln!(f, "  {lower} <= {name} <= {upper}")?;
                }
                (lower, _) if lower.is_finite() => writeln!(f, "  {name} >= {lower}")?,
                (_, upper) if upper.is_finite() => writeln!(f, "  {name} <= {upper}")?,
                _ => writeln!(f, "  {name} free")?,
            }
        }
        Ok(())
    }
}

impl Problem {
    fn sum(&self, f: &mut fmt::Formatter<'_>, terms: &[(usize, f64)]) -> fmt::Result {
        let mut terms = terms.iter().filter(|(_, value)| value.abs() > 0.0).peekable();
        if terms.peek().is_none() {
            return f.write_str(" 0");
        }
        for (at, (variable, value)) in terms.enumerate() {
            let sign = match (at, *value < 0.0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => "+ ",
                (_, true) => "- ",
            };
            let name = &self.variable_names[*variable];
            if (value.abs() - 1.0).abs() > 0.0 {
                write!(f, " {sign}{} {name}", value.abs())?;
            } else {
                write!(f, " {sign}{name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_as_on_paper() {
        let mut problem = Problem::maximise();
        let x = problem.variable(("x", 0), 1.0, 0.0..);
        let y = problem.variable(("x", 1), -2.5, 0.0..=4.0);
        let t = problem.variable("t", 0.0, ..);
        problem.at_most(("capacity", 0), [(y, 1.0), (x, 2.0), (y, 0.5)], 8.0);
        problem.equal("level", [(x, -1.0), (t, 1.0)], 0.0);
        let text = "maximise x[1] - 2.5 x[2]
subject to
  capacity[1]: 2 x[1] + 1.5 x[2] <= 8
  level: -x[1] + t = 0
  x[1] >= 0
  0 <= x[2] <= 4
  t free
";
        assert_eq!(problem.to_string(), text);
    }
}
