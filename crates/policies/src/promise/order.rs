//! Who runs: claims in the order in which they are heard, and what each of them takes from the others.

use super::Books;
use super::ahead::Ahead;
use super::bound::Bound;
use super::case::Case;
use super::drain;
use super::searches;
use super::slack::Slack;
use super::soon::Soon;
use super::turns::{self, Turn};
use crate::fill::Room;
use evenhand_core::{GpuCount, Grant, JobId, Occasion, Ratio, Reason, Snapshot, Time};
use std::collections::BTreeMap;

/// Between rounds, a job that runs gives way only to one that is this much smaller, or to one at risk that has this much more to lose.
const INTERRUPTED_FOR: f64 = 2.0;
const RISKED_FOR: f64 = 1.2;
/// At a round, a job at risk that runs gives way only to one that has this much more to lose.
const STOPPED_FOR: f64 = 1.02;
/// A job at risk that runs counts as one that will be late if it has less than this many times to spare what starting it again takes.
const KEPT_FOR: f64 = 2.0;
/// Nobody is stopped for a job that will have GPUs within this many times what starting again takes, if that is no more than this part of what it takes at least: to a short job
/// it matters.
const WAITS_FOR: f64 = 2.0;
const WAITS_PART: f64 = 0.1;
/// A job that need not be late goes before one that will be if a GPU that runs it is worth this much more.
const OVERTAKES_FOR: f64 = 100.0;
/// A job that runs and was at risk counts as such until its risk is below this.
const STILL_AT_RISK: f64 = 0.95;

/// Gangs count in full up to one in so many GPUs: whoever is smaller than that is as good as fluid.
const FLUID_PART: f64 = 64.0;

/// How soon the gang of a job counts as much as its time: from a spread of one over this on.
const GANG_COUNTS: f64 = 5.0;

/// A job is about to pass the horizon when it has less to spare than this part of what is left of it: whoever sets the end of all work gains nothing by waiting. Nobody
/// asks to decide again for that, though.
const SPARE_PART: f64 = 0.01;

/// The most that the risk of a large gang grows to because its turn has come.
const TURN_HAS_COME: f64 = 1.05;

/// A job's place in the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Its place among the cases.
    pub at: usize,
    pub reason: Reason,
}

/// What came of claims, in the order in which they were heard.
#[derive(Default)]
pub(super) struct Heard {
    pub granted: Vec<(Claim, Grant)>,
    pub refused: Vec<(Claim, Reason)>,
}

impl Heard {
    /// Takes the answer to a claim; whether it was granted.
    fn add(&mut self, claim: Claim, answer: Result<Grant, Reason>) -> bool {
        let granted = answer.is_ok();
        match answer {
            Ok(grant) => self.granted.push((claim, grant)),
            Err(why) => self.refused.push((claim, why)),
        }
        granted
    }
}

/// Where claims are weighed.
pub(super) struct Desk<'a> {
    cases: &'a [Case<'a>],
    /// d, in seconds from now.
    due_s: Vec<f64>,
    /// rho.
    risk: Vec<f64>,
    /// l = a + (1 + theta) (P - a) - now - Rhigh: seconds for which a job can wait and still be done when due; of large gangs, all of them.
    laxity_s: Vec<f64>,
    /// Seconds for which a job can wait and still be done by the horizon, on its fastest GPU model; of large gangs, all of them.
    spare_s: Vec<f64>,
    /// q: by how much a job that has time counts as larger for its app.
    larger: Vec<f64>,
    slack: Slack,
    bound: Bound,
    now: Time,
    ahead: Ahead,
    round_s: f64,
    gpus: f64,
    /// Whether this is no regular round.
    between: bool,
}

impl<'a> Desk<'a> {
    pub fn new(snapshot: &Snapshot, cases: &'a [Case<'a>], books: &Books, ahead: Ahead) -> Self {
        let (now_s, round_s) = (snapshot.now.seconds(), books.round.seconds());
        let fair_s = |case: &Case<'_>| (1.0 + case.tolerance) * (case.promise_s - case.since_s).max(1.0);
        let due = |case: &Case<'_>| (case.since_s + fair_s(case) - now_s).max(case.left_s);
        // However long a job proves to be, it is held against what its share would have brought for that.
        let sizes = |case: &Case<'_>| [case.low_s, case.left_s, case.high_s];
        let fair_of = |case: &Case<'_>, left_s: f64| (1.0 + case.tolerance) * case.fair_s(left_s, now_s);
        let risk = |case: &Case<'_>| {
            let then_s = now_s + ahead.wait_s(case) - case.since_s;
            let risk = |left_s: f64| (then_s + left_s) / fair_of(case, left_s);
            sizes(case).into_iter().map(risk).fold(0.0, f64::max)
        };
        let laxity = |case: &Case<'_>| {
            let laxity = |left_s: f64| case.since_s + fair_of(case, left_s) - now_s - left_s;
            sizes(case).into_iter().map(laxity).fold(f64::INFINITY, f64::min)
        };
        let within_s = books.horizon.seconds() - now_s;
        let mut spare_s: Vec<f64> = cases.iter().map(|case| within_s - case.sure_s()).collect();
        for (at, start_s) in drain::latest_starts_s(snapshot, cases, within_s) {
            spare_s[at] = start_s;
        }
        let due_s: Vec<f64> = cases.iter().map(due).collect();
        let sized = cases.iter().zip(&due_s).filter(|(case, _)| case.sized);
        let jobs = sized.map(|(case, due_s)| (f64::from(case.view.gang), due_s - case.left_s, *due_s));
        let desk = Self {
            slack: Slack::new(f64::from(snapshot.cluster.capacity_total().0), jobs),
            laxity_s: cases.iter().map(laxity).collect(),
            due_s,
            risk: cases.iter().map(risk).collect(),
            bound: if ahead.is_one_model() { Bound::default() } else { Bound::new(snapshot) },
            spare_s,
            larger: searches::count(cases),
            cases,
            now: snapshot.now,
            ahead,
            round_s,
            gpus: f64::from(snapshot.cluster.capacity_total().0),
            between: snapshot.occasion != Occasion::Regular,
        };
        if desk.ahead.is_one_model() { desk.with_turns(snapshot.cluster.capacity_total()) } else { desk }
    }

    /// Large gangs cannot wait for their own latest start if others have to be done before or after them (`turns.rs`).
    fn with_turns(mut self, gpus: GpuCount) -> Self {
        let takes_turns = |at: &usize| {
            let case = &self.cases[*at];
            let dated = case.sized && self.laxity_s[*at].is_finite();
            dated && case.large && case.left_s > self.ahead.short_s()
        };
        let mut large: Vec<usize> = (0..self.cases.len()).filter(takes_turns).collect();
        large.sort_by(|a, b| self.laxity_s[*a].total_cmp(&self.laxity_s[*b]).then(a.cmp(b)));
        large.truncate(turns::MOST);
        let turn = |at: &usize| {
            let case = &self.cases[*at];
            let takes_s = case.left_s + case.start_s;
            Turn { gang: case.view.gang, takes_s: vec![takes_s], due_s: self.laxity_s[*at] + takes_s }
        };
        let turns: Vec<Turn> = large.iter().map(turn).collect();
        for (at, start_s) in large.into_iter().zip(turns::latest_starts(&[gpus], &turns)) {
            let case = &self.cases[at];
            let sooner_s = self.laxity_s[at] - start_s;
            let ends_s = self.now.seconds() - case.since_s + self.ahead.wait_s(case) + case.left_s;
            let allowed_s = (ends_s / self.risk[at] - sooner_s).max(1.0);
            self.risk[at] = self.risk[at].max((ends_s / allowed_s).min(TURN_HAS_COME));
            self.laxity_s[at] = start_s;
        }
        self
    }

    /// Everybody, in the order of the first three rules.
    pub fn claims(&self) -> Vec<Claim> {
        let everybody = 0..self.cases.len();
        let (settling, rest): (Vec<usize>, Vec<usize>) = everybody.partition(|at| self.cases[*at].settles());
        let (mut first, rest): (Vec<usize>, Vec<usize>) =
            rest.into_iter().partition(|at| self.is_at_risk(*at));
        // Also between rounds: whoever sets the horizon has no time to wait for the next one.
        let (mut long, mut rest): (Vec<usize>, Vec<usize>) =
            rest.into_iter().partition(|at| self.passes_horizon(*at));
        let by = |list: &mut Vec<usize>, key: &dyn Fn(usize) -> f64| {
            let mut keyed: Vec<(f64, usize)> = list.iter().map(|at| (key(*at), *at)).collect();
            keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            *list = keyed.into_iter().map(|(_, at)| at).collect();
        };
        let (mut late, mut tight): (Vec<usize>, Vec<usize>) =
            first.drain(..).partition(|at| self.laxity_s[*at] < self.kept_s(*at));
        by(&mut late, &|at| -self.worth(at));
        by(&mut tight, &|at| self.patience_s(at));
        first = self.merged(&late, &tight);
        by(&mut long, &|at| self.spare_s[at]);
        by(&mut rest, &|at| self.larger[at] * self.size(at));
        if self.ahead.is_one_model() {
            rest = self.patient(rest, first.iter().chain(&long));
        }
        let claims = |list: Vec<usize>, reason| list.into_iter().map(move |at| Claim { at, reason });
        let lent = claims(long, Reason::BeforeHorizon).chain(rest.into_iter().map(|at| self.lent(at)));
        let settling = claims(settling, Reason::Settling);
        settling.chain(claims(first, Reason::LeastSlack)).chain(lent).collect()
    }

    /// Below this laxity a job counts as one that will be late. Whoever runs counts so if it would be late by being stopped: one more promise would be broken for another that is
    /// broken already.
    fn kept_s(&self, at: usize) -> f64 {
        let case = &self.cases[at];
        if case.runs { KEPT_FOR * case.restart_s } else { 0.0 }
    }

    /// Whoever need not stop anybody comes after those who run (`soon.rs`). `before`: who comes before all of these.
    fn patient<'b>(&self, rest: Vec<usize>, before: impl Iterator<Item = &'b usize>) -> Vec<usize> {
        let gang = |at: usize| i64::from(self.cases[at].view.gang);
        let runs = |case: &&Case<'_>| case.runs;
        let running = || self.cases.iter().filter(runs).map(|case| (case.left_s, case.view.gang));
        let taken: i64 = running().map(|(_, gang)| i64::from(gang)).sum();
        let first: i64 = before.filter(|at| !self.cases[**at].runs).map(|at| gang(*at)).sum();
        let ahead_s = self.cases.iter().map(|case| case.restart_s).fold(0.0, f64::max) * WAITS_FOR;
        let mut soon = Soon::new(self.gpus as i64 - taken - first, running(), ahead_s);
        let (mut now, mut later) = (Vec::with_capacity(rest.len()), Vec::new());
        for at in rest {
            let case = &self.cases[at];
            let starts = case.runs || !case.sized || soon.take_now(case.view.gang);
            let within_s = (WAITS_FOR * case.restart_s).min(WAITS_PART * case.low_s);
            let waits = !starts && soon.take_within(case.view.gang, within_s);
            if waits { &mut later } else { &mut now }.push(at);
        }
        now.append(&mut later);
        now
    }

    /// The claim of a job that has time, and the reason why it may run before others: what is known of its size.
    fn lent(&self, at: usize) -> Claim {
        let sized = self.cases[at].sized;
        Claim { at, reason: if sized { Reason::ShortestRemaining } else { Reason::LeastAttained } }
    }

    /// Grants what can be granted. Whoever can be lent nothing comes last, the earliest due first.
    pub fn hear(&mut self, claims: Vec<Claim>, room: &mut Room<'_>) -> Heard {
        let (mut heard, mut last) = (Heard::default(), Vec::new());
        for claim in claims {
            let case = &self.cases[claim.at];
            let start_s = self.due_s[claim.at] - case.left_s;
            let taken = f64::from(case.view.gang) * self.ahead.lent_s(case).min(case.left_s);
            let keeps = self.between && case.runs;
            let asks = matches!(claim.reason, Reason::ShortestRemaining | Reason::LeastAttained) && !keeps;
            if asks && self.slack.before(start_s) < taken {
                last.push(Claim { reason: Reason::EarliestPromise, ..claim });
            } else if heard.add(claim, self.grant(claim, room)) {
                self.slack.lend(start_s, taken);
            }
        }
        last.sort_by(|a, b| self.due_s[a.at].total_cmp(&self.due_s[b.at]));
        for claim in last {
            heard.add(claim, self.grant(claim, room));
        }
        heard
    }

    /// Grants a job what it asks for, on the model for which it is bound if there is room.
    fn grant(&self, claim: Claim, room: &mut Room<'_>) -> Result<Grant, Reason> {
        let view = &self.cases[claim.at].view;
        let bound = self.bound.of(view.job.spec.id);
        let there = bound.and_then(|model| room.grant_on(view.index, view.job, model, claim.reason));
        there.map_or_else(|| room.grant(view.index, view.job, claim.reason), Ok)
    }

    /// When the first of those who wait will be at risk, or about to pass the horizon, or when those who were started again no longer keep it from the GPUs if it is: it is to be
    /// decided again by then.
    pub fn again(&self, heard: &Heard) -> Option<Time> {
        let settling = self.cases.iter().filter(|case| case.settles());
        let settled_s = settling.map(|case| case.settles_s).fold(f64::INFINITY, f64::min);
        let in_s = |at: usize| {
            if !self.cases[at].sized {
                return f64::INFINITY;
            }
            if self.is_at_risk(at) || self.passes_horizon(at) {
                return settled_s;
            }
            let spare_s = if self.cases[at].sets_end() { self.spare_s[at] } else { f64::INFINITY };
            (self.laxity_s[at] - self.ahead.wait_s(&self.cases[at])).min(spare_s - self.ahead.look_s())
        };
        let first_s = heard.refused.iter().map(|(claim, _)| in_s(claim.at)).fold(f64::INFINITY, f64::min);
        self.ahead.again_in(first_s).map(|span| self.now + span)
    }

    /// By how much guests may slow down those who run: as long as they are done when due if it stays like that. Whoever is at risk is left alone.
    pub fn bears(&self, heard: &Heard) -> BTreeMap<JobId, Ratio> {
        let bears = |at: usize| {
            let case = &self.cases[at];
            let slack_s = (self.laxity_s[at] - self.ahead.wait_s(case)).max(0.0);
            Ratio::new(1.0 + slack_s / case.high_s.max(1.0)).ok().map(|ratio| (case.id(), ratio))
        };
        let sized = heard.granted.iter().filter(|(claim, _)| self.cases[claim.at].sized);
        sized.filter_map(|(claim, _)| bears(claim.at)).collect()
    }

    /// Why a job waits, in the words of promises where GPUs are all that it lacks.
    pub fn why(&self, at: usize, why: Reason) -> Reason {
        match why {
            Reason::NoRoom if !self.cases[at].sized => why,
            Reason::NoRoom if self.risk[at] > 1.0 => Reason::AtRisk,
            Reason::NoRoom => Reason::HasTime,
            _ => why,
        }
    }

    fn is_at_risk(&self, at: usize) -> bool {
        let case = &self.cases[at];
        let most = if case.runs { STILL_AT_RISK } else { 1.0 };
        case.sized && (self.risk[at] > most || self.between && case.runs && self.passes_horizon(at))
    }

    /// For how long a job can wait without being late, unless it is at risk already.
    pub fn can_wait_s(&self, at: usize) -> Option<f64> {
        (!self.is_at_risk(at)).then(|| self.laxity_s[at].max(0.0))
    }

    /// Whether a job would pass the horizon if it waited for the next look.
    pub fn passes_horizon(&self, at: usize) -> bool {
        let case = &self.cases[at];
        let least_s = self.ahead.look_s().max(SPARE_PART * case.fastest_s());
        case.sets_end() && self.spare_s[at] < least_s
    }

    /// Of those at risk, first whoever will be late anyway, by what it is worth to run it, then whoever need not be, by its laxity: whoever is a
    /// little late is then not put off for ever. But a job that takes next to nothing against one that is late does not wait for it.
    fn merged(&self, late: &[usize], tight: &[usize]) -> Vec<usize> {
        let (mut late, mut tight) = (late.iter().peekable(), tight.iter().peekable());
        let mut all = Vec::new();
        while let (Some(one), Some(other)) = (late.peek(), tight.peek()) {
            let overtakes = self.worth_per_gpu(**other) > OVERTAKES_FOR * self.worth_per_gpu(**one);
            let first = if overtakes { &mut tight } else { &mut late };
            all.extend(first.next());
        }
        all.extend(late.chain(tight));
        all
    }

    /// In which order those go who need not be late: by laxity, but whoever is done within a round delays the others by no more than that, and
    /// goes by its due. Whoever runs is ahead by what stopping it would cost.
    fn patience_s(&self, at: usize) -> f64 {
        let case = &self.cases[at];
        let held_s = if case.runs { case.restart_s + 1.0 } else { 0.0 };
        self.laxity_s[at] - held_s + case.left_s.min(self.round_s)
    }

    fn worth_per_gpu(&self, at: usize) -> f64 {
        self.worth(at) / f64::from(self.cases[at].view.gang)
    }

    /// What it is worth to run a job at risk: rho^2 / R. The later it may be the more, and the longer it takes the less.
    fn worth(&self, at: usize) -> f64 {
        let held = if self.between { RISKED_FOR } else { STOPPED_FOR };
        let risk = if self.cases[at].runs { self.risk[at] * held } else { self.risk[at] };
        risk.powi(2) / self.size(at).max(1.0)
    }

    /// The smaller the sooner: seconds left, less what stopping it would cost, times a power of the gang. Of a job of unknown size,
    /// GPU-seconds done.
    fn size(&self, at: usize) -> f64 {
        let case = &self.cases[at];
        let saved_s = if case.runs { case.restart_s } else { 0.0 };
        let gang = f64::from(case.view.gang);
        let size = if case.sized {
            let small = gang.min((self.gpus / FLUID_PART).max(1.0));
            (case.left_s - saved_s).max(1.0) * small * (gang / small).powf(self.gang_counts(at))
        } else {
            gang * case.left_s
        };
        if self.between && case.runs { size / INTERRUPTED_FOR } else { size }
    }

    /// How much the gang counts beside the time left, beyond what always counts in full: the more, the further the job is ahead of its promise,
    /// because small GPU-time first is what brings the mean down, and the less sure its time is, because the gang is known. Not at all for one that is as late as its promise:
    /// fair times do not depend on gangs, and large ones would all be put off to their latest start.
    fn gang_counts(&self, at: usize) -> f64 {
        let case = &self.cases[at];
        let ahead = 1.0 - (1.0 + case.tolerance) * self.risk[at];
        ahead.max(GANG_COUNTS * case.spread).clamp(0.0, 1.0)
    }
}
