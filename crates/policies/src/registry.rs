//! Names of parts, and what is said of each.

use evenhand_core::{Choice, ParameterError, ParameterSpec, Parameters, Policy, nearest};
use evenhand_solve::{Division, Market, MarketError, SolveError};
use thiserror::Error;

/// Something that a policy says of itself and that a test holds it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// No job that could run on the GPUs left over is left waiting.
    WorkConserving,
    /// A job that runs is never interrupted for another.
    NeverPreempts,
    /// Over time every party receives what it is owed, as far as its jobs can use it.
    CarriesBalances,
    /// Nobody would rather have another's share, weight for weight.
    EnvyFree,
    /// Nobody is worse off than with its part of every GPU model.
    SharingIncentive,
    /// Nobody can be given more unless another is given less.
    ParetoEfficient,
    /// Everybody has the same throughput per weight.
    EqualThroughput,
    /// Nobody gains by reporting larger speedups than it has.
    InflationProof,
    /// Nobody gains by reporting other speedups than it has, larger or smaller.
    Truthful,
}

impl Promise {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkConserving => "work-conserving",
            Self::NeverPreempts => "never-preempts",
            Self::CarriesBalances => "carries-balances",
            Self::EnvyFree => "envy-free",
            Self::SharingIncentive => "sharing-incentive",
            Self::ParetoEfficient => "pareto-efficient",
            Self::EqualThroughput => "equal-throughput",
            Self::InflationProof => "inflation-proof",
            Self::Truthful => "truthful",
        }
    }
}

/// Divides a cluster once, among parties with these speedups.
pub type Divide = fn(&Market, &Parameters) -> Result<Division, DivideError>;

/// Why a cluster was not divided.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum DivideError {
    /// The market makes no sense.
    #[error(transparent)]
    Market(#[from] MarketError),
    /// A parameter does not fit.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The solver gave up.
    #[error(transparent)]
    Unsolved(#[from] SolveError),
}

/// A policy and what is said of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its fixed name.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// Where it comes from.
    pub paper: &'static str,
    /// What it is held to.
    pub promises: &'static [Promise],
    /// What can be set.
    pub parameters: &'static [ParameterSpec],
    /// How it divides a cluster once, all else left aside; `None` for a policy that only ranks jobs.
    pub divide: Option<Divide>,
    /// Makes one.
    pub build: fn(&Parameters) -> Result<Box<dyn Policy>, ParameterError>,
}

/// Anything with a fixed name.
pub trait Registered {
    /// The name.
    fn name(&self) -> &'static str;
}

impl Registered for Entry {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Entry {
    /// Makes the policy; refuses parameters that it does not have.
    pub fn make(&self, parameters: &Parameters) -> Result<Box<dyn Policy>, ParameterError> {
        parameters.only(self.parameters)?;
        (self.build)(parameters)
    }
}

/// A name that is not registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {what} `{name}`{}", suggestion(*.nearest, .known))]
pub struct NameError {
    /// A policy, a placer.
    pub what: &'static str,
    /// As given.
    pub name: String,
    /// The registered name that looks most like it.
    pub nearest: Option<&'static str>,
    /// All registered names.
    pub known: Vec<&'static str>,
}

fn suggestion(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None => format!("; known: {}", known.join(", ")),
    }
}

/// The part of this name.
pub fn find<'a, T: Registered>(parts: &'a [T], what: &'static str, name: &str) -> Result<&'a T, NameError> {
    parts.iter().find(|part| part.name() == name).ok_or_else(|| {
        let known: Vec<_> = parts.iter().map(Registered::name).collect();
        NameError { what, name: name.to_owned(), nearest: nearest(name, &known), known }
    })
}

/// The policy that a choice names, made.
pub fn make(choice: &Choice) -> Option<Box<dyn Policy>> {
    find(crate::POLICIES, "policy", &choice.name).ok()?.make(&choice.parameters).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_gets_a_suggestion() {
        let error = find(crate::POLICIES, "policy", "equal-shar").unwrap_err();
        assert_eq!(error.to_string(), "unknown policy `equal-shar`; did you mean `equal-share`?");
    }
}
