//! Each job with its promise: what is looked at when GPUs are given away.

use super::entitled::Entitled;
use super::fluid::{Fluid, Member};
use super::overhead::Overhead;
use super::turns;
use crate::view::View;
use evenhand_core::{JobId, JobState, Lease, Locality, RackId, Snapshot, Time};
use std::collections::BTreeMap;

/// How many deviations of the logarithm of its size a job may be later than promised.
const UNSURE: f64 = 2.0;
/// A promise is lost when its job will be this many times later than it may be.
const LOST: f64 = 1.25;
/// Not before a job has been there for so long.
const LOST_AFTER_S: f64 = 60.0;
/// Whoever was started again is left alone for this many times what that takes: until it has worked for as long as it took to start it.
const SETTLES_FOR: f64 = 2.0;

/// Of a job whose size is known less well than within this factor, give or take, nobody knows whether it sets the end of all work, or how much of its time starts take.
const SURE_WITHIN: f64 = 1.8;
/// As much as may be left is believed up to this many times what is expected, where the end of all work is concerned.
const HIGH_MAX: f64 = 1.25;

/// A job and its promise. Seconds of work are seconds on GPUs of average speed.
pub(super) struct Case<'a> {
    pub view: View<'a>,
    /// Whether it asks for so many GPUs that it has to take turns with others (`turns.rs`).
    pub large: bool,
    /// Its speed over all GPUs of the cluster, on average, against that on its fastest model.
    pub pace: f64,
    /// Whether anything is known of its size.
    pub sized: bool,
    /// R: expected to be left.
    pub left_s: f64,
    /// As little and as much as may well be left: one in ten needs less, and one more.
    pub low_s: f64,
    pub high_s: f64,
    /// T: from the first step to the last.
    pub total_s: f64,
    /// How sure its size is: the standard deviation of its logarithm.
    pub spread: f64,
    /// theta: how much later than promised it may be.
    pub tolerance: f64,
    /// Lost if it is stopped and started again.
    pub restart_s: f64,
    /// Lost when it is started: nothing for one that never ran.
    pub start_s: f64,
    pub runs: bool,
    /// For how long it is left alone, since it was started again only just now.
    pub settles_s: f64,
    /// When its fair share would have finished it, in seconds since the start of the run.
    pub promise_s: f64,
    /// When it came, or was last given a new promise.
    pub since_s: f64,
    /// What the virtual system has given it by now, and is to give it in all.
    progress_s: f64,
    goal_s: f64,
}

impl<'a> Case<'a> {
    /// All jobs that may be granted GPUs, by number; their promises are yet to come.
    pub fn all(snapshot: &'a Snapshot, tolerance: f64) -> Vec<Self> {
        let gpus = f64::from(snapshot.cluster.capacity_total().0.max(1));
        let parts: Vec<f64> = snapshot
            .cluster
            .model_indices()
            .map(|model| f64::from(snapshot.cluster.capacity(model).0) / gpus)
            .collect();
        let largest = Largest::of(snapshot);
        let views = View::all(snapshot).into_iter();
        let is_large = |view: &View<'_>| f64::from(view.gang) > gpus / turns::LARGE_PART;
        let new = |view| Self { large: is_large(&view), ..Self::new(snapshot, view, &parts, &largest) };
        views.map(new).map(|case| Self { tolerance: tolerance + UNSURE * case.spread, ..case }).collect()
    }

    fn new(snapshot: &'a Snapshot, view: View<'a>, parts: &[f64], largest: &Largest) -> Self {
        let forecast = snapshot.forecast(view.index);
        let spec = &view.job.spec;
        let pace: f64 = view.rates.iter().zip(parts).map(|(rate, part)| rate * part).sum();
        // A job that can run nowhere now has no pace; its promise does not matter.
        let pace = if pace > 0.0 { pace } else { 1.0 };
        let close = forecast.scaling.factor(spec.gpus, spec.gpus.min, largest.span(view.gang));
        let speed = if close > 0.0 { pace * close } else { pace };
        let over_s = overrun_s(snapshot, &view);
        let seconds = |left_s: f64| left_s.max(over_s) / speed;
        let (left_s, high_s) = (seconds(view.left_s), seconds(view.left_high_s));
        let lease = snapshot.leases.of_job(Some(view.job)).filter(|lease| lease.is_lasting());
        let restart_s = forecast.restart.mean.seconds();
        let again = lease.filter(|_| view.job.starts > 1);
        let runs_for_s = |lease: &Lease| snapshot.now.since(lease.starts.max(lease.taken)).seconds();
        let settles_s = again.map_or(0.0, |lease| SETTLES_FOR * restart_s - runs_for_s(lease));
        Self {
            large: false,
            pace,
            sized: forecast.total.is_some(),
            left_s,
            low_s: seconds(view.left_low_s),
            high_s,
            total_s: view.done_s / speed + left_s,
            spread: spread(snapshot, &view),
            tolerance: 0.0,
            restart_s,
            start_s: if view.job.starts > 0 { restart_s } else { 0.0 },
            runs: lease.is_some(),
            settles_s: settles_s.max(0.0),
            promise_s: f64::INFINITY,
            since_s: snapshot.now.seconds(),
            progress_s: 0.0,
            goal_s: 0.0,
            view,
        }
    }

    pub fn id(&self) -> JobId {
        self.view.job.spec.id
    }

    /// Whether it was started again only just now.
    pub fn settles(&self) -> bool {
        self.settles_s > 0.0
    }

    /// Whether the end of all work may hang on it: not if nobody knows how long it takes, and not for one GPU of a few, where the others would pay too much for it.
    pub fn sets_end(&self) -> bool {
        self.is_sure() && (self.view.gang > 1 || !self.large)
    }

    /// Whether its size is no mere guess.
    fn is_sure(&self) -> bool {
        self.sized && self.spread <= SURE_WITHIN.ln()
    }

    /// min( Rhigh , 1.25 R ) on its fastest GPU model: what has to be expected where the end of all work is concerned.
    pub fn sure_s(&self) -> f64 {
        self.high_s.min(HIGH_MAX * self.left_s) * self.pace
    }

    /// How long it takes on GPUs of a model, as a multiple of what it takes on those of average speed.
    pub fn times(&self, model: usize) -> f64 {
        let rate = self.view.rates.get(model).copied().filter(|rate| *rate > 0.0);
        rate.map_or(1.0, |rate| self.pace / rate)
    }

    /// R on its fastest GPU model.
    pub fn fastest_s(&self) -> f64 {
        self.left_s * self.pace
    }

    /// How long its fair share would take for it if so much were left of it: a job that proves to be short would have been over the sooner.
    pub fn fair_s(&self, left_s: f64, now_s: f64) -> f64 {
        let goal_s = self.goal_s - self.left_s + left_s;
        let (age_s, ahead_s) = (now_s - self.since_s, self.promise_s - now_s);
        let fair_s = if ahead_s <= 0.0 || self.goal_s <= self.progress_s {
            (self.promise_s - self.since_s) * goal_s / self.goal_s.max(1e-3)
        } else if goal_s <= self.progress_s {
            age_s * goal_s / self.progress_s
        } else {
            age_s + (goal_s - self.progress_s) * ahead_s / (self.goal_s - self.progress_s)
        };
        fair_s.max(1.0)
    }

    /// Whether its promise cannot be kept any more, by far: whatever was in its way, others are not to make good for it. It is given a new
    /// one, as if what is left of it came now.
    fn is_lost(&self, now: Time) -> bool {
        let fair_s = (1.0 + self.tolerance) * (self.promise_s - self.since_s).max(1.0);
        let waits_s = now.seconds() - self.since_s;
        self.sized && waits_s > LOST_AFTER_S && waits_s + self.left_s > LOST * fair_s
    }
}

/// GPUs that are close together: a gang that is larger than any node is not promised the speed of one node.
struct Largest {
    node: u32,
    rack: u32,
}

impl Largest {
    fn of(snapshot: &Snapshot) -> Self {
        let mut racks: BTreeMap<RackId, u32> = BTreeMap::new();
        let mut node = 0;
        for row in &snapshot.cluster.nodes {
            let gpus = row.usable().count();
            node = node.max(gpus);
            *racks.entry(row.rack).or_default() += gpus;
        }
        Self { node, rack: racks.into_values().max().unwrap_or(0) }
    }

    /// The closest that so many GPUs can be.
    fn span(&self, gang: u32) -> Locality {
        match gang {
            1 => Locality::Socket,
            gang if gang <= self.node => Locality::Node,
            gang if gang <= self.rack => Locality::Rack,
            _ => Locality::Cluster,
        }
    }
}

/// The standard deviation of the logarithm of a job's work.
fn spread(snapshot: &Snapshot, view: &View<'_>) -> f64 {
    let ends = snapshot.forecast(view.index).ends.as_ref();
    ends.map_or(0.0, |ends| ends.spread(snapshot.done(view.index, view.job)))
}

/// Of a job that has done more than was expected of it, as much again as it is over: nobody is believed to be all but done for ever.
fn overrun_s(snapshot: &Snapshot, view: &View<'_>) -> f64 {
    let Some(total) = snapshot.forecast(view.index).total else { return 0.0 };
    let done = snapshot.done(view.index, view.job);
    let over = done.less(total.mean).steps();
    if over > 0.0 { view.done_s * over / done.steps() } else { 0.0 }
}

/// Brings the virtual system up to now, and tells every job its promise. How long the longest of the newcomers takes on its fastest
/// GPU model, if there are any.
pub(super) fn promise(
    snapshot: &Snapshot,
    entitled: &Entitled<'_>,
    fluid: &mut Fluid,
    overhead: &mut Overhead,
    cases: &mut [Case<'_>],
) -> Option<f64> {
    let all = f64::from(snapshot.cluster.capacity_total().0);
    let elapsed_s = snapshot.now.since(fluid.then()).seconds();
    fluid.advance(snapshot.now, all * (1.0 - overhead.part()), entitled);
    let longest_s = meet(snapshot, fluid, overhead, cases, elapsed_s);
    let gpus = all * (1.0 - overhead.part());
    tell(fluid, gpus, entitled, cases);
    let late: Vec<usize> = (0..cases.len()).filter(|at| cases[*at].is_lost(snapshot.now)).collect();
    for at in &late {
        let case = &mut cases[*at];
        if let Some(member) = fluid.get_mut(case.id()) {
            member.begin_again(snapshot.now);
            case.since_s = member.since_s;
            (case.progress_s, case.goal_s) = (member.progress_s, member.total_s);
        }
    }
    if !late.is_empty() {
        tell(fluid, gpus, entitled, cases);
    }
    longest_s
}

/// Newcomers join, those who are gone stay as long as they are owed something, and everybody says how long it will be. Both lists are in
/// the order of numbers.
fn meet(
    snapshot: &Snapshot,
    fluid: &mut Fluid,
    overhead: &mut Overhead,
    cases: &mut [Case<'_>],
    elapsed_s: f64,
) -> Option<f64> {
    let mut longest_s: Option<f64> = None;
    let mut met = Vec::with_capacity(cases.len());
    let mut before = std::mem::take(&mut fluid.members).into_iter().peekable();
    let held = |id: JobId| snapshot.jobs.by_id(id).is_some_and(|job| job.state == JobState::Held);
    // Whoever is gone needs no more than it had; whoever is on hold has no share.
    let leave = |mut member: Member, met: &mut Vec<Member>| {
        if !member.is_over() && !held(member.job) {
            member.leave(elapsed_s);
            met.push(member);
        }
    };
    for case in cases.iter_mut() {
        while let Some(gone) = before.next_if(|member| member.job < case.id()) {
            leave(gone, &mut met);
        }
        let done_s = case.total_s - case.left_s;
        let mut member = before.next_if(|member| member.job == case.id()).unwrap_or_else(|| {
            longest_s = Some(case.fastest_s().max(longest_s.unwrap_or(0.0)));
            if case.is_sure() && case.view.rates.iter().any(|rate| *rate > 0.0) {
                overhead.came(case.view.gang, case.restart_s, case.total_s);
            }
            Member::new(&case.view.job.spec, case.view.gang, snapshot.now, done_s)
        });
        (member.done_s, member.runs, case.since_s) = (done_s, case.runs, member.since_s);
        member.revise(case.total_s - member.before_s);
        (case.progress_s, case.goal_s) = (member.progress_s, member.total_s);
        met.push(member);
    }
    before.for_each(|gone| leave(gone, &mut met));
    fluid.members = met;
    longest_s
}

fn tell(fluid: &Fluid, gpus: f64, entitled: &Entitled<'_>, cases: &mut [Case<'_>]) {
    let finishes = fluid.finishes(gpus, entitled);
    let mut told = fluid.members.iter().zip(finishes);
    for case in cases {
        let found = told.find(|(member, _)| member.job == case.id());
        case.promise_s = found.map_or(f64::INFINITY, |(_, finish_s)| finish_s);
    }
}
