//! A row of a comparison: a policy with its parameters, and its runs with one seed or several.

use crate::average::{Average, groups};
use crate::{Report, Summary};

/// Rows whose curves are drawn and whose runs are told one by one: more curves than this cannot be told apart, and every
/// run that is drawn has to be kept in memory until the end.
pub const DRAWN_MAX: usize = 40;

/// Runs that differ in nothing but their seeds.
pub struct Row<'a> {
    /// The policy, and the parameters that were given.
    pub name: String,
    /// A run for each seed; at least one.
    pub runs: Vec<&'a Summary>,
    /// All about one of them, if it is to be drawn.
    pub drawn: Option<(&'a Report, &'a Summary)>,
}

impl<'a> Row<'a> {
    /// The rows of these runs, of which some can be drawn.
    pub fn all(runs: &[&'a Summary], drawn: &[(&'a Report, &'a Summary)]) -> Vec<Self> {
        let same = |a: &Summary, b: &Summary| {
            (&a.policy, &a.parameters, a.seed) == (&b.policy, &b.parameters, b.seed)
        };
        let mut drawn = drawn.to_vec();
        let row = |seeds: Vec<usize>| {
            let runs: Vec<&Summary> = seeds.into_iter().map(|at| runs[at]).collect();
            let found = drawn.iter().position(|(_, one)| runs.iter().any(|run| same(run, one)));
            Self { name: name(runs[0]), drawn: found.map(|at| drawn.remove(at)), runs }
        };
        groups(runs).into_iter().map(row).collect()
    }

    /// A figure over its seeds.
    pub fn average(&self, figure: impl Fn(&Summary) -> f64) -> Average {
        Average::of(self.runs.iter().map(|run| figure(run)))
    }
}

/// What a run is called: its policy and the parameters that were given.
pub fn name(run: &Summary) -> String {
    let given = run.parameters.0.iter().map(|(name, value)| format!("{name}={value}"));
    std::iter::once(run.policy.clone()).chain(given).collect::<Vec<_>>().join(" ")
}
