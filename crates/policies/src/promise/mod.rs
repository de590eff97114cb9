//! The promise: every job is done by when its fair share alone would have it done, and all the freedom that leaves is spent on speed.
//!
//! ```text
//! promise   P_i   the end of job i in a virtual system in which everybody present holds its fair share (`fluid.rs`) of what starting again leaves of the GPUs (`overhead.rs`)
//! due       d_i = max( a_i + (1 + theta_i) (P_i - a_i) , now + R_i )    theta_i a tolerance ;  what cannot be kept is moved to what can
//! slack     S(t)  GPU-time until t that nobody needs to be done when due (`slack.rs`)
//! risk      rho_i = max_x (now + tau_i + x - a_i) / ((1 + theta_i) F_i(x))    how late job i may be if it waits for tau_i (`ahead.rs`), where
//!                 x is the least, the guess or the most of what may be left, and F_i(x) what its fair share would take for it ;
//!                 gangs of more than M / 8 have to be done the sooner the more others like them are to come after them (`turns.rs`)
//! spread    sigma_i the deviation of the logarithm of its size, as far as that is unknown ;  theta_i = theta + 2 sigma_i
//! horizon   C     by when all the work that is there can be done, fixed when work arrives (`horizon.rs`, `drain.rs`)
//! ```
//!
//! Who runs, in this order, as far as there are GPUs (`order.rs`):
//!
//! 0. whoever was started again only just now, until it has worked for as long as that took: so everybody gets on, whatever starting again costs ;
//! 1. whoever is at risk, rho_i > 1: who will be late anyway, or would be if it were stopped, by rho_i^2 / R_i, then who need not be by its laxity, but before all that if its
//!    rho_i^2 / (g_i R_i) is 100 times that of one who will: where not all promises can be kept, few are broken, and nobody's by far;
//! 2. whoever would pass the horizon by waiting for the next look, C - now - min(Rhigh_i, 1.25 R_i) < max(h tau, R_i / 100), if sigma_i <= ln 1.8; gangs of more than M / 8 the
//!    sooner the more others like them are to be done (`drain.rs`), but nobody for one GPU of fewer than 8;
//! 3. the smallest q_i R_i s_i (g_i / s_i)^max(1 - (1 + theta_i) rho_i, min(1, 5 sigma_i)), s_i = min(g_i, max(1, M / 64)), where q_i is larger the more is left of its app
//!    (`searches.rs`), as far as it can be lent what it takes until others can have it: S(t) >= g_i tau_i for every t before its own latest start (tau instead of
//!    tau_i on several GPU models); but whoever will have GPUs soon anyway stops nobody for it (`soon.rs`);
//! 4. the others, the earliest due first.
//!
//! On which GPU model: those who run are exchanged between models as long as sum_i omega_i sqrt(g_i) ln(r_ij / max_j r_ij) grows (`matching.rs`), with omega_i larger
//! the closer job i is to where even its fastest model would not help it any more (`hurry.rs`), and as far as limits of tenants go. Whoever has left for another model
//! goes on to it, as long as there is room and nothing suits all of them better (`bound.rs`).
//!
//! R_i is the time left: the guess of its forecast, Rhigh_i what one in ten exceeds. Of a job of which nothing at all is known as much is expected to be
//! left as it has done: it comes in the order of least attained service, and no risk is seen in it.

mod ahead;
mod bound;
mod case;
mod drain;
mod entitled;
mod expected;
mod fluid;
mod hurry;
mod matching;
mod order;
mod overhead;
mod searches;
mod slack;
mod soon;
mod telling;
mod turns;

use crate::fill::{PREEMPT_ANYTIME, Preempt, Room};
use crate::horizon::Horizon;
use crate::registry::{Entry, Promise};
use ahead::Ahead;
use case::{Case, promise};
use entitled::{Between, Entitled};
use evenhand_core::{
    Limits, Memory, Occasion, Others, ParameterSpec, Plan, Policy, PolicyError, Snapshot, Span,
};
use fluid::Fluid;
use hurry::Hurry;
use order::{Desk, Heard};
use overhead::Overhead;
use serde::{Deserialize, Serialize};

const TOLERANCE: ParameterSpec = ParameterSpec {
    name: "tolerance",
    default: "0.1",
    summary: "how much later than promised a job may be, as a part of its fair time, 0 to 1: the freedom that speed comes from",
};
const HORIZON: ParameterSpec = ParameterSpec {
    name: "horizon",
    default: "0.12",
    summary: "room in the horizon, as a part of the time that all the work takes at least, or of two and a half times what its jobs take if that is less; 100: no horizon",
};
const HURRY: ParameterSpec = ParameterSpec {
    name: "hurry",
    default: "0.82",
    summary: "on several GPU models: a job that would take this part of its fair time even if it had its fastest model from now on is given faster GPUs, 0 to 1; smaller is further ahead of promises where GPUs are not short, and slower on the whole",
};
const BETWEEN: ParameterSpec = ParameterSpec {
    name: "between",
    default: "jobs",
    summary: "who has a fair share: `jobs` (by the weight of their tenant), `apps` (the same, an app being promised its end as a whole) or `tenants` (by weight, group and quota; their jobs share it)",
};
const BETWEEN_WHOM: [(&str, Between); 3] =
    [("jobs", Between::Jobs), ("apps", Between::Apps), ("tenants", Between::Tenants)];
const ROUND: ParameterSpec = ParameterSpec {
    name: "round",
    default: "120s",
    summary: "the length of a round where the world ends rounds itself (that of the run under --semantics original)",
};

pub(crate) const ENTRY: Entry = Entry {
    name: "promise",
    summary: "Every job is done by when its fair share would have it done; the rest is spent on speed.",
    paper: "ours, after Fair Sojourn Protocol, SIGMETRICS 2003",
    promises: &[Promise::WorkConserving],
    parameters: &[TOLERANCE, HORIZON, HURRY, BETWEEN, PREEMPT_ANYTIME, ROUND],
    divide: None,
    build: |parameters| {
        Ok(Box::new(Promised {
            tolerance: parameters.number(&TOLERANCE, 0.0, 1.0)?,
            horizon: parameters.number(&HORIZON, 0.0, 100.0)?,
            hurry: parameters.number(&HURRY, 0.0, 1.0)?,
            between: parameters.word(&BETWEEN, &BETWEEN_WHOM)?,
            preempt: Preempt::read(parameters, &PREEMPT_ANYTIME)?,
            round: parameters.span(&ROUND)?,
        }))
    },
};

struct Promised {
    /// theta.
    tolerance: f64,
    /// eps of the horizon.
    horizon: f64,
    /// T0: from which part of its fair time on the speed of a job counts more.
    hurry: f64,
    between: Between,
    preempt: Preempt,
    round: Span,
}

/// What is remembered from decision to decision.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    fluid: Fluid,
    #[serde(default)]
    overhead: Overhead,
    horizon: Horizon,
    /// tau: the length of a round.
    round: Span,
}

impl Policy for Promised {
    fn decide(&self, snapshot: &Snapshot, _limits: Limits) -> Result<Plan, PolicyError> {
        let kept = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Books>());
        let mut books = kept.map_or_else(Books::default, |books| (*books).clone());
        let mut cases = Case::all(snapshot, self.tolerance);
        let entitled = Entitled::new(&snapshot.tenants, self.between);
        let longest_s = promise(snapshot, &entitled, &mut books.fluid, &mut books.overhead, &mut cases);
        if let Some(longest_s) = longest_s {
            books.horizon.extend(snapshot.now, drain::within_s(snapshot, &cases, longest_s, self.horizon));
        }
        books.round = self.length(snapshot, books.round);
        let plan = self.plan(snapshot, &cases, &mut books);
        Ok(Plan { memory: Memory::new(books), ..plan })
    }
}

impl Promised {
    /// The length of a round: the engine's, unless the world ends rounds itself.
    fn length(&self, snapshot: &Snapshot, before: Span) -> Span {
        let next = snapshot.next_round.since(snapshot.now);
        match snapshot.occasion {
            Occasion::Regular if next > Span::ZERO => next,
            _ if before > Span::ZERO => before,
            _ => self.round,
        }
    }

    fn plan(&self, snapshot: &Snapshot, cases: &[Case<'_>], books: &mut Books) -> Plan {
        let due = self.preempt.is_due(snapshot);
        let room = || if due { Room::whole(snapshot) } else { Room::left_over(snapshot) };
        let ahead = Ahead::new(snapshot, cases, books.round, self.preempt == Preempt::Anytime);
        let mut desk = Desk::new(snapshot, cases, books, ahead);
        let mut claims = desk.claims();
        claims.retain(|claim| due || cases[claim.at].view.job.is_queued());
        let mut heard = desk.hear(claims, &mut room());
        if snapshot.cluster.models.len() > 1 {
            let run = heard.granted.iter().map(|(claim, _)| claim.at);
            let hurry = Hurry::new(snapshot, cases, books.round, run, self.hurry);
            let is_pressed = |at: usize| desk.passes_horizon(at) && !cases[at].large;
            let omega: Vec<f64> = (0..cases.len()).map(|at| hurry.omega(at, is_pressed(at))).collect();
            matching::exchange(snapshot, cases, &omega, &mut heard.granted);
            heard = seat(snapshot, cases, heard, &mut room());
        }
        let (again, bears) = (desk.again(&heard), desk.bears(&heard));
        let others = if due { Others::Release } else { Others::Keep };
        let refused =
            heard.refused.iter().map(|(claim, why)| (cases[claim.at].id(), desk.why(claim.at, *why)));
        let refused = refused.collect();
        let promises = telling::tell(snapshot, cases, &desk, &heard, others, &mut books.fluid);
        let grants = heard.granted.into_iter().map(|(_, grant)| grant).collect();
        Plan { others, grants, refused, promises, again, bears, ..Plan::default() }
    }
}

/// Grants everybody the model that it was given. That fits model by model, but limits of tenants may be in the way, and room may have
/// come free for somebody who had none.
fn seat(snapshot: &Snapshot, cases: &[Case<'_>], heard: Heard, room: &mut Room<'_>) -> Heard {
    let mut seated = Heard::default();
    let mut again = Vec::new();
    for (claim, grant) in heard.granted {
        let view = &cases[claim.at].view;
        let on = grant.model(snapshot);
        match on.and_then(|model| room.grant_on(view.index, view.job, model, claim.reason)) {
            Some(grant) => seated.granted.push((claim, grant)),
            None => again.push(claim),
        }
    }
    for claim in again.into_iter().chain(heard.refused.into_iter().map(|(claim, _)| claim)) {
        let view = &cases[claim.at].view;
        match room.grant(view.index, view.job, claim.reason) {
            Ok(grant) => seated.granted.push((claim, grant)),
            Err(why) => seated.refused.push((claim, why)),
        }
    }
    seated
}
