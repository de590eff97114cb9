//! Planning ahead in rounds: a window is planned when something changes, its rounds are carried out one by one, and GPUs that it
//! leaves idle are filled.

use super::fair_finish::FairFinish;
use super::foresight::foreseen;
use crate::fill::Room;
use crate::horizon::Horizon;
use crate::view::{View, private_part};
use evenhand_core::{
    Ahead, GpuCount, Grant, Job, JobId, Memory, ModelIndex, Occasion, Others, Plan, PolicyError, Quality,
    Reason, Site, Snapshot, Span,
};
use evenhand_solve::{Window, WindowPlan, plan_window};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The room of the horizon for what cannot be packed.
const ROOM: f64 = 0.02;

/// What a window is planned for, and what is done with what it leaves.
pub(super) trait Objective {
    /// What is to be planned.
    fn window(&self, outlook: &Outlook<'_>) -> Window;
    /// Who is given idle GPUs first: the larger the sooner.
    fn backfill(&self, outlook: &Outlook<'_>, at: usize) -> f64;
}

/// All that an objective may look at.
pub(super) struct Outlook<'a> {
    pub snapshot: &'a Snapshot,
    pub views: &'a [View<'a>],
    pub fair: &'a FairFinish,
    /// C: by when everything should be done.
    pub horizon: Horizon,
    /// H: rounds of the window.
    pub rounds: usize,
    /// tau: seconds of a round.
    pub round_s: f64,
    /// How many times longer than alone everything takes, as reports count it: jobs over GPUs, at least 1.
    pub contention: f64,
}

/// How far is planned, and how often anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub rounds: usize,
    pub round: Span,
    pub replan: u64,
    /// Whether a change of batch size is a reason to plan anew.
    pub follows: bool,
}

/// What is remembered from round to round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Books {
    fair: FairFinish,
    horizon: Horizon,
    jobs: BTreeSet<JobId>,
    /// Batch sizes in force, to see that one has changed.
    batches: Vec<(JobId, u32)>,
    /// Rounds since the last planning.
    age: u64,
    plan: Vec<Vec<(JobId, ModelIndex)>>,
    gap: f64,
}

impl Pace {
    /// Decides: a round of the plan at regular rounds, idle GPUs filled at others.
    pub fn decide(&self, snapshot: &Snapshot, objective: &dyn Objective) -> Result<Plan, PolicyError> {
        let kept = snapshot.previous.as_ref().and_then(|plan| plan.memory.recall::<Books>());
        let mut books = kept.map_or_else(Books::default, |books| (*books).clone());
        let views: Vec<View<'_>> = View::all(snapshot);
        if snapshot.occasion != Occasion::Regular {
            return Ok(self.fill_idle(snapshot, objective, &views, books));
        }
        books.fair.age();
        books.age += 1;
        let jobs: BTreeSet<JobId> = views.iter().map(|view| view.job.spec.id).collect();
        let batches: Vec<_> = views.iter().map(|view| (view.job.spec.id, view.job.regime.batch)).collect();
        if jobs != books.jobs {
            books.fair.renew(snapshot, &views);
        }
        if !jobs.is_subset(&books.jobs) {
            let work = views.iter().map(|view| (view.gang, view.left_s));
            books.horizon.renew(snapshot.now, snapshot.cluster.capacity_total(), ROOM, work);
        }
        let changed = self.follows && batches != books.batches;
        if jobs != books.jobs || changed || books.age >= self.replan.min(self.rounds as u64) {
            let outlook = self.outlook(snapshot, &views, &books);
            let planned = plan(&outlook, objective, snapshot.seed)?;
            // Without GPUs nothing can be foreseen.
            let foresees = snapshot.cluster.capacity_total() > GpuCount::ZERO;
            let ahead = foresees.then(|| Arc::new(self.told(&outlook, &planned, &books.jobs)));
            (books.plan, books.gap) = (named(&outlook, &planned), planned.gap());
            (books.jobs, books.batches, books.age) = (jobs, batches, 0);
            let plan = self.carry_out(snapshot, objective, &views, books);
            return Ok(Plan { ahead, ..plan });
        }
        Ok(self.carry_out(snapshot, objective, &views, books))
    }

    fn outlook<'a>(&self, snapshot: &'a Snapshot, views: &'a [View<'a>], books: &'a Books) -> Outlook<'a> {
        // Without GPUs, as with one.
        let contention = (1.0 / private_part(snapshot, views.len())).min(views.len().max(1) as f64);
        let round_s = self.length(snapshot).seconds();
        let (fair, horizon) = (&books.fair, books.horizon);
        Outlook { snapshot, views, fair, horizon, rounds: self.rounds, round_s, contention }
    }

    /// The length of a round: the engine's, unless the world ends rounds itself.
    fn length(&self, snapshot: &Snapshot) -> Span {
        let next = snapshot.next_round.since(snapshot.now);
        if snapshot.occasion == Occasion::Regular && next > Span::ZERO { next } else { self.round }
    }

    /// The window as reports tell it: whoever runs in it, and whoever was not `known` before.
    fn told(&self, outlook: &Outlook<'_>, plan: &WindowPlan, known: &BTreeSet<JobId>) -> Ahead {
        let news =
            |item: &usize| plan.counts[*item] > 0 || !known.contains(&outlook.views[*item].job.spec.id);
        let mut ahead = Ahead {
            rounds: self.rounds as u32,
            round: self.length(outlook.snapshot),
            gain: plan.value - plan.empty,
            jobs: (0..outlook.views.len()).filter(news).map(|item| foreseen(outlook, plan, item)).collect(),
            ..Ahead::default()
        };
        // A job that gains without bound has no price, and a ledger cannot hold one.
        for (model, price) in plan.prices.iter().enumerate().filter(|(_, price)| price.is_finite()) {
            ahead.prices[ModelIndex(model as u16)] = *price;
        }
        ahead
    }

    /// One round of the plan, and whoever fits beside it.
    fn carry_out(
        &self,
        snapshot: &Snapshot,
        objective: &dyn Objective,
        views: &[View<'_>],
        books: Books,
    ) -> Plan {
        let mut room = Room::whole(snapshot);
        let mut plan = Plan::default();
        seat_planned(snapshot, &books, &mut room, &mut plan, |_| true);
        let outlook = self.outlook(snapshot, views, &books);
        backfill(&outlook, objective, &mut room, &mut plan, |_| true);
        plan.window = window_ahead(snapshot, &books);
        plan.quality =
            if books.gap <= 1e-9 { Quality::Optimal } else { Quality::Feasible { gap: books.gap } };
        plan.memory = Memory::new(books);
        plan
    }

    /// Between rounds: whoever waits and fits, without interrupting anybody. Whoever is planned comes first, where it is planned: it may have been
    /// stopped for no other reason than to go there.
    fn fill_idle(
        &self,
        snapshot: &Snapshot,
        objective: &dyn Objective,
        views: &[View<'_>],
        books: Books,
    ) -> Plan {
        let mut plan = Plan { others: Others::Keep, ..Plan::default() };
        let mut room = Room::left_over(snapshot);
        seat_planned(snapshot, &books, &mut room, &mut plan, Job::is_queued);
        let outlook = self.outlook(snapshot, views, &books);
        backfill(&outlook, objective, &mut room, &mut plan, Job::is_queued);
        plan.memory = Memory::new(books);
        plan
    }
}

/// The plan with the names of jobs and GPU models.
fn named(outlook: &Outlook<'_>, plan: &WindowPlan) -> Vec<Vec<(JobId, ModelIndex)>> {
    let turn = |(items, models): (&Vec<usize>, &Vec<usize>)| {
        let pairs = items.iter().zip(models);
        pairs.map(|(item, model)| (outlook.views[*item].job.spec.id, ModelIndex(*model as u16))).collect()
    };
    plan.rounds.iter().zip(&plan.models).map(turn).collect()
}

fn plan(outlook: &Outlook<'_>, objective: &dyn Objective, tie: u64) -> Result<WindowPlan, PolicyError> {
    let broken = |_| PolicyError::Numerical { step: "the window".into() };
    plan_window(&objective.window(outlook), tie).map_err(broken)
}

/// The rounds after this one.
fn window_ahead(snapshot: &Snapshot, books: &Books) -> Vec<Vec<Grant>> {
    let rest = books.plan.iter().skip(books.age as usize + 1);
    let grant = |(id, model): &(JobId, ModelIndex)| {
        let gpus = snapshot.jobs.by_id(*id)?.spec.gpus.min;
        Some(Grant::new(*id, gpus, Site::Model(*model), Reason::Planned))
    };
    rest.map(|turn| turn.iter().filter_map(grant).collect()).collect()
}

/// Those whom the plan has in this round, if they are open for it, each on the model that it says.
fn seat_planned(
    snapshot: &Snapshot,
    books: &Books,
    room: &mut Room<'_>,
    plan: &mut Plan,
    open: impl Fn(&Job) -> bool,
) {
    let mut turn = books.plan.get(books.age as usize).cloned().unwrap_or_default();
    // Large gangs are seated first, so that they are spread the least.
    turn.sort_by_key(|(id, _)| Reverse(snapshot.jobs.by_id(*id).map(|job| job.spec.gpus.min)));
    for (id, model) in &turn {
        let Some(index) = snapshot.jobs.index(*id) else { continue };
        let job = snapshot.jobs.get(index);
        if open(job) {
            plan.grants.extend(room.grant_on(index, job, *model, Reason::Planned));
        }
    }
}

/// Idle GPUs to whoever is open for them and not granted any.
fn backfill(
    outlook: &Outlook<'_>,
    objective: &dyn Objective,
    room: &mut Room<'_>,
    plan: &mut Plan,
    open: impl Fn(&Job) -> bool,
) {
    let granted: BTreeSet<JobId> = plan.grants.iter().map(|grant| grant.job).collect();
    let rest = |view: &View<'_>| open(view.job) && !granted.contains(&view.job.spec.id);
    let keys = outlook.views.iter().enumerate().filter(|(_, view)| rest(view));
    let mut order: Vec<(f64, usize)> = keys.map(|(at, _)| (objective.backfill(outlook, at), at)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (_, at) in order {
        let view = &outlook.views[at];
        match room.grant(view.index, view.job, Reason::Backfilled) {
            Ok(grant) => plan.grants.push(grant),
            Err(why) => plan.refused.push((view.job.spec.id, why)),
        }
    }
}
