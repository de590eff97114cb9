//! Themis: finish-time fairness by an auction of leases between apps.
//!
//! ```text
//! rho_i(G) = T_sh(G) / T_id                     finish with GPUs G, over finish on a private 1/N of the cluster
//! 1. every agent tells its rho ;  the ceil((1 - f) N) worst off are shown all free GPUs
//! 2. each bids a table: shapes of GPUs -> rho ;  V_i = 1 / rho_i
//! 3. X* = argmax prod_i V_i(X_i) ,  disjoint, only rows that were bid
//! 4. kappa_i = prod_{l != i} V_l(X*) / V_l(X*_-i)          i keeps the fraction kappa_i of X*_i: the rest is its payment
//! 5. what is left goes to apps that were not asked, in random order ;  what they cannot use, to those that were
//! 6. whoever got GPUs has them for a lease
//! ```
//!
//! Whole gangs cannot be cut: each gang that was won is kept with probability kappa, by lot, so that the expectation holds.
//!
//! The agent of an app may live outside, next to its tuner; it is then asked for its bid, and the decision is taken when the
//! bids are in. What an agent says of its speed or of its standing is not asked: rho is computed here, from progress that was
//! seen. An agent that says nothing bids for nothing.
//!
//! Differs from the paper, each for a reason that `docs/policies/themis.md` gives with figures: an app is measured by a private
//! part of the cluster that it could really use (`ideal=paper` is as printed); it looks one lease ahead and counts on its
//! part afterwards (`outlook=held`); leases end together (`ends=apart`); GPUs that nobody else can use are lent to bidders
//! (`spare=idle`). A job is given its least number of GPUs.

mod agent;
mod contention;
mod greedy;
#[cfg(test)]
mod lies;
mod lots;
mod market;
mod rho;
mod seating;
mod shelf;
mod standing;

pub(crate) use greedy::ENTRY as GREEDY;

use crate::registry::{Entry, Promise};
use contention::{Contention, Ended};
use evenhand_core::{
    JobId, Limits, Memory, ParameterError, ParameterSpec, Parameters, Plan, Policy, PolicyError, Reason,
    Snapshot, Span, Time,
};
use evenhand_fairness::Ideal;
use market::Market;
use rho::{First, Outlook, Yardstick};
use seating::Seating;
use standing::{Stance, Standing, standings};
use std::collections::BTreeSet;

const F: ParameterSpec = ParameterSpec {
    name: "f",
    default: "0.8",
    summary: "the fairness knob: the part of apps, the best off, that is not asked; 0 asks everybody, 1 the worst off only",
};

const LEASE: ParameterSpec = ParameterSpec {
    name: "lease",
    default: "20m",
    summary: "how long GPUs are given for; much longer than a checkpoint and a restart",
};

const ENDS: ParameterSpec = ParameterSpec {
    name: "ends",
    default: "together",
    summary: "when leases end: `together` (at multiples of their length, so that large gangs find room) or `apart`",
};

const IDEAL: ParameterSpec = ParameterSpec {
    name: "ideal",
    default: "share",
    summary: "what an app is measured by: `share` (the time on a private part of the cluster) or `paper` (the whole cluster's time, N times over)",
};

const FIRST: ParameterSpec = ParameterSpec {
    name: "first",
    default: "tried",
    summary: "an app that wants its first job to reach the target: all have to be `tried`, or the best is `foretold`",
};

const ENDED: ParameterSpec = ParameterSpec {
    name: "ended",
    default: "done",
    summary: "what a job that was given up adds to its app's ideal: what it has `done`, or the `whole` of it",
};

const OUTLOOK: ParameterSpec = ParameterSpec {
    name: "outlook",
    default: "lease",
    summary: "how an app values GPUs: `lease` (has them for a lease, then its part) or `held` (has them for ever)",
};

const SPARE: ParameterSpec = ParameterSpec {
    name: "spare",
    default: "lend",
    summary: "GPUs that no app without a bid can use: `lend` to bidders, or leave `idle` so that no payment comes back",
};

/// Shorter leases are refused.
const LEASE_MIN: Span = Span::from_secs(60);

pub(crate) const ENTRY: Entry = Entry {
    name: "themis",
    summary: "Apps that are worst off against a private part of the cluster bid for leases.",
    paper: "Themis, NSDI 2020",
    promises: &[Promise::WorkConserving],
    parameters: &[F, LEASE, ENDS, IDEAL, FIRST, ENDED, OUTLOOK, SPARE],
    divide: None,
    build: |parameters| {
        let f = parameters.number(&F, 0.0, 1.0)?;
        let lend = parameters.word(&SPARE, &[("lend", true), ("idle", false)])?;
        Ok(Box::new(Themis { f, lend, rules: Rules::read(parameters)? }))
    },
};

/// What apps are measured by, and for how long they are given GPUs.
#[derive(Clone, Copy, Debug)]
struct Rules {
    lease: Span,
    together: bool,
    ideal: Ideal,
    ended: Ended,
    outlook: Outlook,
    first: First,
}

impl Rules {
    fn read(parameters: &Parameters) -> Result<Self, ParameterError> {
        let lease = parameters.span(&LEASE)?;
        if lease < LEASE_MIN {
            let (name, value) = (LEASE.name.to_owned(), parameters.text(&LEASE).to_owned());
            let allowed = "a lease shorter than a minute would be spent on checkpoints and restarts".into();
            return Err(ParameterError::Value { name, value, allowed });
        }
        Ok(Self {
            lease,
            together: parameters.word(&ENDS, &[("together", true), ("apart", false)])?,
            ideal: parameters.word(&IDEAL, &[("paper", Ideal::Paper), ("share", Ideal::Share)])?,
            first: parameters.word(&FIRST, &[("tried", First::Tried), ("foretold", First::Foretold)])?,
            ended: parameters.word(&ENDED, &[("done", Ended::Done), ("whole", Ended::Whole)])?,
            outlook: parameters.word(&OUTLOOK, &[("lease", Outlook::Lease), ("held", Outlook::Held)])?,
        })
    }

    /// How long a lease lasts that is given now.
    fn term(&self, now: Time) -> Span {
        if !self.together {
            return self.lease;
        }
        // The next common end that is at least half a lease away.
        let ends = (now.0 + self.lease.0 / 2) / self.lease.0 + 1;
        Time(ends * self.lease.0).since(now)
    }
}

/// One decision: the apps as they stand, and the GPUs that are to be had.
struct Hearing<'a> {
    snapshot: &'a Snapshot,
    /// How long a lease lasts that is given now.
    term: Span,
    contention: Contention,
    standings: Vec<Standing<'a>>,
    /// What each of them is measured by.
    yardsticks: Vec<Yardstick>,
    /// Jobs that are here for the first time.
    new: BTreeSet<JobId>,
}

impl<'a> Hearing<'a> {
    fn new(snapshot: &'a Snapshot, rules: Rules) -> Self {
        let mut contention = Contention::recall(snapshot);
        let term = rules.term(snapshot.now);
        let standings = standings(snapshot, term);
        let mut new = BTreeSet::new();
        for standing in &standings {
            let ids = standing.members.iter().map(|member| member.job.spec.id);
            new.extend(ids.filter(|id| contention.is_new(standing.party, *id)));
        }
        contention.meet(snapshot, &standings);
        let measured = |standing| Yardstick::new(snapshot, &contention, standing, &rules, term);
        let yardsticks = standings.iter().map(measured).collect();
        Self { snapshot, term, contention, standings, yardsticks, new }
    }

    /// Apps that could use GPUs, the worst off first; of equals, who has waited longest.
    fn by_need(&self, seating: &Seating<'_>) -> Vec<usize> {
        let may = |at: &usize| {
            let standing = &self.standings[*at];
            standing.members.iter().any(|member| seating.may_take(member))
        };
        let demanding = (0..self.standings.len()).filter(may);
        let mut order: Vec<_> = demanding
            .map(|at| {
                let standing = &self.standings[at];
                let left: Vec<_> = standing.members.iter().map(|member| member.left).collect();
                let rho = self.yardsticks[at].rho(&left, &standing.paces(self.snapshot));
                (std::cmp::Reverse(rho.key()), standing.opened, standing.party, at)
            })
            .collect();
        order.sort_unstable();
        order.into_iter().map(|(.., at)| at).collect()
    }

    /// A plan in which leases that are not over go on.
    fn seating(&self) -> Seating<'a> {
        // In an order that does not depend on places in tables.
        let mut members: Vec<_> =
            self.standings.iter().flat_map(|standing| &standing.members).copied().collect();
        members.sort_unstable_by_key(|member| member.job.spec.id);
        Seating::new(self.snapshot, members.into_iter(), self.term)
    }

    /// The finished plan: says why others wait, when to decide again, and what to remember.
    fn close(&self, seating: Seating<'_>, waits: impl Fn(usize) -> Option<Reason>) -> Plan {
        let mut refused = Vec::new();
        for (at, standing) in self.standings.iter().enumerate() {
            let waiting = standing.members.iter().filter(|member| matches!(member.stance, Stance::Waits));
            for member in waiting.filter(|member| !seating.granted.contains(&member.job.spec.id)) {
                let id = member.job.spec.id;
                // Where nothing is on offer, whatever was said last holds; somebody new has not heard anything yet.
                let new = self.new.contains(&id).then_some(Reason::NoRoom);
                let why = seating.obstacle(member).or_else(|| waits(at)).or(new);
                refused.extend(why.map(|why| (id, why)));
            }
        }
        let mut plan = Plan { refused, ..seating.plan };
        plan.again = plan.grants.iter().filter_map(|grant| Some(self.snapshot.now + grant.term?)).min();
        plan.memory = Memory::new(self.contention.clone());
        plan
    }
}

struct Themis {
    f: f64,
    lend: bool,
    rules: Rules,
}

impl Policy for Themis {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let hearing = Hearing::new(snapshot, self.rules);
        let seating = hearing.seating();
        let order = hearing.by_need(&seating);
        // The knob is written in decimals: 0.3 of 10 are 3, whatever binary makes of it.
        let asked_count = ((1.0 - self.f) * order.len() as f64 - 1e-9).ceil().max(1.0) as usize;
        let (asked, others) = order.split_at(asked_count.min(order.len()));
        Market { hearing: &hearing, asked, others, lend: self.lend }.hold(seating)
    }
}
