//! The strawman that Themis is argued against: whoever is worst off takes what it can use.
//!
//! ```text
//! in order of falling rho_i: give i all free GPUs that it can use, for a lease
//! ```
//!
//! No bids, no payments, no filter: inefficient, because placement and gain do not count, and whoever claims to be
//! worst off gets most.

use super::{ENDED, ENDS, FIRST, Hearing, IDEAL, LEASE, OUTLOOK, Rules};
use crate::registry::{Entry, Promise};
use evenhand_core::{Limits, Plan, Policy, PolicyError, Reason, Snapshot};

pub(crate) const ENTRY: Entry = Entry {
    name: "themis-greedy",
    summary: "The app that is worst off against a private part of the cluster takes all it can use.",
    paper: "Themis, NSDI 2020 (as a strawman)",
    promises: &[Promise::WorkConserving],
    parameters: &[LEASE, ENDS, IDEAL, FIRST, ENDED, OUTLOOK],
    divide: None,
    build: |parameters| Ok(Box::new(Greedy { rules: Rules::read(parameters)? })),
};

struct Greedy {
    rules: Rules,
}

impl Policy for Greedy {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let hearing = Hearing::new(snapshot, self.rules);
        let mut seating = hearing.seating();
        let order = hearing.by_need(&seating);
        for member in order.into_iter().flat_map(|at| &hearing.standings[at].members) {
            seating.give_best(member);
        }
        Ok(hearing.close(seating, |_| Some(Reason::NoRoom)))
    }
}
