//! Gavel's policies: linear programs over fractions of time, one file each, and what they have in common.
//!
//! ```text
//! y_ij   fraction of time that job i should run on GPU model j        r_ij  its speed there        g_i  its gang
//! base   y >= 0 ,  sum_i g_i y_ij <= m_j ,  sum_j y_ij <= 1           thr_i = sum_j r_ij y_ij
//! x_ij   = g_i y_ij, in GPUs: every program is one about a market with demands D_i = g_i
//! ```
//!
//! Here fractions are shares of the cluster (`x`, owed to each job), and whatever a round of whole gangs cannot give is made good
//! later, as under every policy that divides; newcomers are given GPUs that idle at once. With `variant=fork` they
//! are realised as in the published simulators: by priorities in rounds, with their delay.

mod centre;
mod combinations;
pub(crate) mod finish_time_fairness;
pub(crate) mod hierarchical;
pub(crate) mod max_min;
pub(crate) mod max_min_packed;
pub(crate) mod max_min_perf;
pub(crate) mod max_sum_throughput;
pub(crate) mod min_total_duration;
mod rho;
pub(crate) mod water_filling;

use crate::division::{Parties, Terms, hand_out, quality, shares};
use crate::fill::{PREEMPT_AT_ROUNDS, Preempt};
use crate::gavel_rounds::{Fractions, GavelRounds, RESET, ROUND, VARIANT, fork};
use crate::registry::DivideError;
use evenhand_core::{
    Limits, Memory, Others, ParameterError, ParameterSpec, Parameters, PerModel, Plan, Policy, PolicyError,
    Snapshot, Span,
};
use evenhand_solve::{Division, Effort, Market};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What every policy of the family can be told.
pub(crate) const PARAMETERS: &[ParameterSpec] = &[PREEMPT_AT_ROUNDS, VARIANT, RESET, ROUND];

/// What a program is asked.
pub(crate) struct Question<'a> {
    pub snapshot: &'a Snapshot,
    /// Every job that can run somewhere: its speeds relative to its fastest, its gang as its demand.
    pub jobs: &'a Parties<'a>,
    pub effort: Effort,
    /// Whether the answer of the published simulators is wanted.
    pub published: bool,
}

/// A program over fractions of time.
pub(crate) trait Program: Send + Sync {
    /// What it remembers from one answer to the next.
    type Own: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static;

    /// The GPUs that every job should have; there is at least one job.
    fn answer(&self, question: &Question<'_>, own: &mut Self::Own) -> Result<Division, DivideError>;
}

/// A policy that follows a program.
pub(crate) struct Following<P> {
    program: P,
    preempt: Preempt,
    /// How fractions were realised by the published simulators, if that is wanted.
    rounds: Option<GavelRounds>,
}

/// What is remembered from one decision to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Remembered<T> {
    /// The length of the last regular round.
    round: Span,
    /// The prices of the last division.
    prices: Vec<f64>,
    /// What the program itself remembers.
    own: T,
}

impl<P: Program + 'static> Following<P> {
    /// The policy of a program.
    pub fn of(program: P, parameters: &Parameters) -> Result<Box<dyn Policy>, ParameterError> {
        let preempt = Preempt::read(parameters, &PREEMPT_AT_ROUNDS)?;
        Ok(Box::new(Self { program, preempt, rounds: fork(parameters)? }))
    }

    fn decide_here(&self, snapshot: &Snapshot) -> Result<Plan, DivideError> {
        let before = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Remembered<P::Own>>());
        let mut memory = before.map_or_else(Remembered::default, |before| (*before).clone());
        let jobs = Parties::of_jobs(snapshot);
        let prices = Some(memory.prices).filter(|prices| prices.len() == jobs.market.models());
        let effort = Effort { prices, ..Effort::default() };
        let question = Question { snapshot, jobs: &jobs, effort, published: false };
        let division = if jobs.rows.is_empty() {
            Division::empty(&jobs.market)
        } else {
            self.program.answer(&question, &mut memory.own)?
        };
        let due = self.preempt.is_due(snapshot);
        if due || memory.round == Span::ZERO {
            memory.round = snapshot.next_round.since(snapshot.now);
        }
        let mut plan = Plan { others: if due { Others::Release } else { Others::Keep }, ..Plan::default() };
        let terms = Terms { due, round: memory.round, lends: true };
        hand_out(snapshot, &jobs, &division, terms, &mut plan);
        plan.quality = quality(&division);
        plan.shares = Some(shares(snapshot, &jobs, &division));
        memory.prices = division.prices;
        plan.memory = Memory::new(memory);
        Ok(plan)
    }

    /// y of every active job, as the published simulators work it out.
    fn fractions(&self, snapshot: &Snapshot, before: &Fractions, own: &mut P::Own) -> Fractions {
        let jobs = Parties::of_jobs(snapshot);
        let question = Question { snapshot, jobs: &jobs, effort: Effort::default(), published: true };
        // Without an answer the last one stands, as far as it goes.
        let last = |id| before.get(&id).copied().unwrap_or(PerModel::all(0.0));
        let mut fractions: Fractions =
            snapshot.jobs.iter().map(|(_, job)| (job.spec.id, last(job.spec.id))).collect();
        if !jobs.rows.is_empty()
            && let Ok(division) = self.program.answer(&question, own)
        {
            for (row, gpus) in jobs.rows.iter().zip(division.shares.rows()) {
                let fraction = fractions.entry(row.jobs[0].1.spec.id).or_insert(PerModel::all(0.0));
                for (model, gpus) in snapshot.cluster.model_indices().zip(gpus) {
                    fraction[model] = gpus / f64::from(row.gang.0);
                }
            }
        }
        fractions
    }
}

impl<P: Program + 'static> Policy for Following<P> {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        match &self.rounds {
            Some(rounds) => Ok(rounds.decide(snapshot, |snapshot, before, own: &mut P::Own| {
                self.fractions(snapshot, before, own)
            })),
            None => {
                self.decide_here(snapshot).map_err(|error| PolicyError::Numerical { step: error.to_string() })
            }
        }
    }
}

/// The same market, every row relative to what its party would have with its part of every model.
///
/// ```text
/// r_ij / rprop_i ,   rprop_i = sum_j r_ij m_j / M
/// ```
pub(crate) fn relative(market: &Market) -> Market {
    let total: f64 = market.capacity.iter().sum();
    let mut relative = market.clone();
    for party in 0..market.parties() {
        let proportional = market.throughput(party, &market.capacity) / total;
        for value in relative.speedups.row_mut(party) {
            *value /= proportional;
        }
    }
    relative
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Promise;
    use evenhand_core::Random;
    use evenhand_fairness::division::{pareto, sharing_incentive};
    use evenhand_solve::instances::{FAMILIES, small};

    #[test]
    fn divisions_keep_what_their_policies_promise() {
        let entries = [max_min::ENTRY, max_min_perf::ENTRY, water_filling::ENTRY, max_sum_throughput::ENTRY];
        let mut random = Random::new(41);
        for round in 0..300 {
            let mut market = small(FAMILIES[round % 3], &mut random);
            for party in 0..market.parties() {
                market.weights[party] = random.between(0.5, 4.0);
                if random.chance(0.2) {
                    let barred = random.below(market.models() as u64) as usize;
                    market.speedups.row_mut(party)[barred] = 0.0;
                }
            }
            for entry in entries {
                let divide = entry.divide.expect("it divides");
                let division = divide(&market, &Parameters::default()).unwrap();
                let place = format!("{}, round {round}", entry.name);
                let promises = |promise| entry.promises.contains(&promise);
                assert!(division.gap() < 1e-6, "{place}");
                assert!(
                    !promises(Promise::SharingIncentive)
                        || sharing_incentive(&market, &division.shares).holds,
                    "{place}"
                );
                assert!(
                    !promises(Promise::ParetoEfficient) || pareto(&market, &division.shares).unwrap().holds,
                    "{place}: {}",
                    division.shares
                );
            }
        }
    }
}
