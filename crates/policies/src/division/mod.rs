//! Policies that divide the cluster: a rule says what everybody is owed, and rounds of whole GPUs make it good.
//!
//! ```text
//! parties    (tenant, class) pairs: each class of jobs of a tenant is a virtual tenant with an equal part of its weight
//! w_ij       speed of the class on model j over its speed on the reference model, the one that most jobs are slowest on
//! D_i        GPUs that its jobs can use in all
//! m_j        GPUs of model j that whole gangs can use
//! x          = rule(w, m, pi, D), from now on
//! claim_ij   = x_ij + balance_ij / round: GPUs that i should hold of j in the round to come, debts included
//! ```
//!
//! What is owed and what was received is booked by the engine, so that whatever a round cannot give in whole GPUs and whole
//! gangs is made good later. A rule knows nothing of jobs, and the mechanism nothing of rules.

mod handing_out;
mod parties;
mod probing;
pub(crate) mod rounding;
mod weights;

pub(crate) use handing_out::{Terms, hand_out};
pub(crate) use parties::{Parties, Row};
pub(crate) use weights::tree_weights;

use crate::fill::{PREEMPT_AT_ROUNDS, Preempt};
use crate::registry::DivideError;
use evenhand_core::{
    Limits, Memory, Others, ParameterError, ParameterSpec, Parameters, PerModel, Plan, Policy, PolicyError,
    Quality, Shares, Snapshot, Span,
};
use evenhand_solve::{Division, Effort, Market};
use serde::{Deserialize, Serialize};

/// What every dividing policy can be told.
pub(crate) const PARAMETERS: &[ParameterSpec] = &[PREEMPT_AT_ROUNDS];

/// Divides a market; `Effort` says how well, and brings the prices of the last round.
pub(crate) type Rule = fn(&Market, &Effort) -> Result<Division, DivideError>;

/// A policy that divides the cluster by a rule.
pub(crate) struct Dividing {
    rule: Rule,
    preempt: Preempt,
    /// Whether GPUs that nobody has a claim to go to whoever can use them.
    lends: bool,
}

/// What is remembered from one decision to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered {
    /// The length of the last regular round.
    round: Span,
    /// The prices of the last division.
    prices: Vec<f64>,
}

impl Dividing {
    /// The policy of a rule.
    pub fn by(rule: Rule, parameters: &Parameters) -> Result<Self, ParameterError> {
        Ok(Self { rule, preempt: Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?, lends: true })
    }

    /// The same, lending what nobody has a claim to or not.
    pub fn lending(self, lends: bool) -> Self {
        Self { lends, ..self }
    }

    fn divide(&self, parties: &Parties<'_>, before: &Remembered) -> Result<Division, DivideError> {
        if parties.rows.is_empty() {
            return Ok(Division::empty(&parties.market));
        }
        let prices = (before.prices.len() == parties.market.models()).then(|| before.prices.clone());
        (self.rule)(&parties.market, &Effort { prices, ..Effort::default() })
    }
}

impl Policy for Dividing {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let before = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Remembered>());
        let mut memory = before.map_or_else(Remembered::default, |before| (*before).clone());
        let parties = Parties::of(snapshot);
        let division = self
            .divide(&parties, &memory)
            .map_err(|error| PolicyError::Numerical { step: error.to_string() })?;
        let due = self.preempt.is_due(snapshot);
        if due || memory.round == Span::ZERO {
            memory.round = snapshot.next_round.since(snapshot.now);
        }
        memory.prices.clone_from(&division.prices);
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        let terms = Terms { due, round: memory.round, lends: self.lends };
        hand_out(snapshot, &parties, &division, terms, &mut plan);
        plan.passes_over = self.lends && self.preempt == Preempt::AtRounds;
        plan.quality = quality(&division);
        plan.shares = Some(shares(snapshot, &parties, &division));
        plan.memory = Memory::new(memory);
        Ok(plan)
    }
}

/// What is known of how good a division is.
pub(crate) fn quality(division: &Division) -> Quality {
    /// The gap up to which a division counts as the best there is.
    const OPTIMAL: f64 = 1e-6;
    let gap = division.gap();
    if gap <= OPTIMAL { Quality::Optimal } else { Quality::Feasible { gap } }
}

/// What everybody is owed from now on.
pub(crate) fn shares(snapshot: &Snapshot, parties: &Parties<'_>, division: &Division) -> Shares {
    let rows = parties.rows.iter().zip(division.shares.rows()).map(|(row, shares)| {
        let mut gpus = PerModel::all(0.0);
        for (model, share) in snapshot.cluster.model_indices().zip(shares) {
            gpus[model] = *share;
        }
        (row.party, gpus)
    });
    Shares { rows: rows.collect() }
}
