//! Fairness between groups, and inside each by a rule of its own: water filling with weights that change on the way.
//!
//! ```text
//! water filling, and in every turn
//! inner=fairness   pi_i = part of i's tenant / number of its jobs that can still rise
//! inner=fifo       pi_i = part of i's tenant for the first of them in the queue, 0 for the others
//! part             the tree of tenants: the whole is split by weight among those with a job that can rise, and so on down
//! ```
//!
//! What a job cannot use goes to the others of its tenant, then to the others of its group, and only then to other groups. The
//! originals have two levels; here there are as many as the tree has.

use super::{Following, Program, Question, relative};
use crate::division::{Row, tree_weights};
use crate::fill::PREEMPT_AT_ROUNDS;
use crate::gavel_rounds::{RESET, ROUND, VARIANT};
use crate::registry::{DivideError, Entry, Promise};
use evenhand_core::{ParameterSpec, TenantId};
use evenhand_solve::{Division, rise_by};
use std::collections::{BTreeMap, BTreeSet};

const INNER: ParameterSpec = ParameterSpec {
    name: "inner",
    default: "fairness",
    summary: "how a tenant's part is divided among its jobs: by `fairness` or `fifo`",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "hierarchical",
    summary: "Throughput by the tree of tenants; inside a tenant fairly or first come first.",
    paper: "Gavel, OSDI 2020",
    promises: &[Promise::WorkConserving, Promise::CarriesBalances],
    parameters: &[INNER, PREEMPT_AT_ROUNDS, VARIANT, RESET, ROUND],
    divide: None,
    build: |parameters| {
        let inner = parameters.word(&INNER, &[("fairness", Inner::Fairness), ("fifo", Inner::Fifo)])?;
        Following::of(Hierarchical { inner }, parameters)
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    Fairness,
    Fifo,
}

struct Hierarchical {
    inner: Inner,
}

impl Program for Hierarchical {
    type Own = ();

    fn answer(&self, question: &Question<'_>, (): &mut ()) -> Result<Division, DivideError> {
        let market = relative(&question.jobs.market);
        market.check()?;
        let tenants: Vec<TenantId> = question.jobs.rows.iter().map(Row::tenant).collect();
        let tree = |active: &BTreeSet<TenantId>| tree_weights(question.snapshot, active);
        Ok(rise_by(&market, &question.effort, |gone| self.weights(&tenants, gone, tree)))
    }
}

impl Hierarchical {
    /// What everybody who can still rise counts for; jobs are in the order of the queue.
    fn weights(
        &self,
        tenants: &[TenantId],
        gone: &[bool],
        tree: impl Fn(&BTreeSet<TenantId>) -> BTreeMap<TenantId, f64>,
    ) -> Vec<f64> {
        let mut jobs_count: BTreeMap<TenantId, f64> = BTreeMap::new();
        let here = || tenants.iter().enumerate().filter(|(at, _)| !gone[*at]);
        for (_, tenant) in here() {
            *jobs_count.entry(*tenant).or_default() += 1.0;
        }
        let parts = tree(&jobs_count.keys().copied().collect());
        let mut weights = vec![0.0; tenants.len()];
        let mut served = BTreeSet::new();
        for (at, tenant) in here() {
            weights[at] = match self.inner {
                Inner::Fairness => parts[tenant] / jobs_count[tenant],
                Inner::Fifo if served.insert(*tenant) => parts[tenant],
                Inner::Fifo => 0.0,
            };
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_solve::{Effort, Market, Matrix};

    /// Two tenants of weights 1 and 2 on 9 GPUs of one model; the first has three jobs of 2, 2 and 8 GPUs, the other one of 4.
    fn shares(inner: Inner) -> Vec<f64> {
        let market =
            Market::new(Matrix::from_rows(&[[1.0]; 4]), vec![9.0]).demanding(vec![2.0, 2.0, 8.0, 4.0]);
        let tenants = [0, 0, 0, 1].map(TenantId);
        let tree = |active: &BTreeSet<TenantId>| {
            let total: f64 = active.iter().map(|tenant| f64::from(tenant.0 + 1)).sum();
            active.iter().map(|tenant| (*tenant, f64::from(tenant.0 + 1) / total)).collect()
        };
        let policy = Hierarchical { inner };
        let division = rise_by(&market, &Effort::default(), |gone| policy.weights(&tenants, gone, tree));
        division.shares.rows().map(|row| row[0]).collect()
    }

    #[test]
    fn what_one_cannot_use_goes_to_its_own_tenant_first() {
        let close = |found: Vec<f64>, expected: [f64; 4]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
        };
        // The tenant of weight 2 cannot use its 6; the other has 5, by thirds, or the first come first.
        close(shares(Inner::Fairness), [5.0 / 3.0, 5.0 / 3.0, 5.0 / 3.0, 4.0]);
        close(shares(Inner::Fifo), [2.0, 2.0, 1.0, 4.0]);
    }
}
