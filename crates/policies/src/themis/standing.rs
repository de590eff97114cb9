//! Apps as they stand before an auction: what is left to do, what runs on, and what could use GPUs.
//!
//! A job that belongs to no app is an app of its own.

use evenhand_core::{
    AgentSeat, App, Goal, GpuCount, Job, JobIndex, JobState, Lease, Locality, ModelIndex, Party, Snapshot,
    Span, Time,
};
use evenhand_fairness::AppJob;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where a job stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stance<'a> {
    /// Its lease is not over.
    Runs(&'a Lease),
    /// Its lease is over unless it is won again.
    IsUp(&'a Lease),
    /// It waits for GPUs.
    Waits,
    /// It cannot use GPUs now: on hold, or on its way out.
    IsAway,
}

/// One job of an app.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member<'a> {
    pub index: JobIndex,
    pub job: &'a Job,
    pub stance: Stance<'a>,
    /// What is left of it.
    pub left: AppJob,
    /// The mean of its speeds over the GPUs of the cluster that it can use, in steps per second.
    pub mean_rate: f64,
}

/// An app, or a job that is none's.
#[derive(Clone, Debug)]
pub(super) struct Standing<'a> {
    pub party: Party,
    pub goal: Goal,
    pub agent: AgentSeat,
    pub opened: Time,
    /// Its jobs in the order in which they are given GPUs: those that run already, then by what the goal needs.
    pub members: Vec<Member<'a>>,
}

impl<'a> Member<'a> {
    fn new(snapshot: &'a Snapshot, index: JobIndex, job: &'a Job, lease: Span) -> Self {
        let forecast = snapshot.forecast(index);
        let mean_rate = mean_rate(snapshot, index, job);
        let done = snapshot.done(index, job).steps();
        let a_lease = mean_rate * lease.seconds();
        let left = match forecast.total_after(snapshot.done(index, job)) {
            Some(total) if total.mean.steps() > done => total.mean.steps() - done,
            // A job that has outrun its forecast is not done: it is taken to need what is thought possible, or a lease.
            Some(total) => (total.high.steps() - done).max(a_lease),
            // Of a job that nothing is known of, as much is expected to be left as it has done, and a lease's worth.
            None => done + a_lease,
        };
        let alone_s = if mean_rate > 0.0 { left / mean_rate } else { 0.0 };
        let left = AppJob { alone_s, gang: f64::from(job.spec.gpus.min.0) };
        Self { index, job, stance: stance(snapshot, job), left, mean_rate }
    }

    /// Seconds that what it has done takes alone on its gang.
    pub fn done_s(&self, snapshot: &Snapshot) -> f64 {
        let done = snapshot.done(self.index, self.job).steps();
        if self.mean_rate > 0.0 { done / self.mean_rate } else { 0.0 }
    }

    /// Its speed on a gang of a model spread so far, against its mean speed in one place.
    pub fn pace(&self, snapshot: &Snapshot, model: ModelIndex, gpus: GpuCount, span: Locality) -> f64 {
        let rate = snapshot.forecast(self.index).rate(model, self.job.spec.gpus, gpus, span).get();
        if self.mean_rate > 0.0 { rate / self.mean_rate } else { 0.0 }
    }

    /// The same on the GPUs of a lease.
    pub fn pace_on(&self, snapshot: &Snapshot, lease: &Lease) -> f64 {
        let span = snapshot.cluster.span_of(&lease.gpus);
        snapshot.model_of(lease).map_or(0.0, |model| self.pace(snapshot, model, lease.gpus.count(), span))
    }

    /// Whether it could be given GPUs of a model. A lease that is up can only be won again where it is.
    pub fn takes(&self, snapshot: &Snapshot, model: ModelIndex) -> bool {
        match self.stance {
            Stance::Runs(_) | Stance::IsAway => false,
            Stance::IsUp(lease) => snapshot.model_of(lease) == Some(model),
            Stance::Waits => {
                self.job.spec.models.allows(model)
                    && snapshot.forecast(self.index).speed[model].mean.get() > 0.0
            }
        }
    }

    /// Whether placement matters to it.
    pub fn is_sensitive(&self, snapshot: &Snapshot) -> bool {
        let slowdowns = snapshot.forecast(self.index).scaling.by_span;
        self.gang() > GpuCount(1)
            && slowdowns
                .is_some_and(|by_span| by_span[Locality::Cluster as usize] > by_span[Locality::Node as usize])
    }

    /// The GPUs that it is given at a time.
    pub fn gang(&self) -> GpuCount {
        match self.stance {
            Stance::IsUp(lease) | Stance::Runs(lease) => lease.gpus.count(),
            Stance::Waits | Stance::IsAway => self.job.spec.gpus.min,
        }
    }
}

fn mean_rate(snapshot: &Snapshot, index: JobIndex, job: &Job) -> f64 {
    let forecast = snapshot.forecast(index);
    let (mut speed, mut gpus) = (0.0, 0.0);
    for model in snapshot.cluster.model_indices() {
        let (here, count) = (forecast.speed[model].mean.get(), f64::from(snapshot.cluster.capacity(model).0));
        if job.spec.models.allows(model) && here > 0.0 {
            speed += here * count;
            gpus += count;
        }
    }
    if gpus > 0.0 { speed / gpus } else { 0.0 }
}

fn stance<'a>(snapshot: &'a Snapshot, job: &Job) -> Stance<'a> {
    match snapshot.leases.of_job(Some(job)) {
        Some(lease) if !lease.is_lasting() => Stance::IsAway,
        Some(lease) if lease.expires <= snapshot.now => Stance::IsUp(lease),
        Some(lease) => Stance::Runs(lease),
        None if job.state == JobState::Held => Stance::IsAway,
        None => Stance::Waits,
    }
}

impl Standing<'_> {
    /// GPUs that it holds and keeps.
    pub fn held(&self) -> GpuCount {
        let runs = |member: &Member<'_>| matches!(member.stance, Stance::Runs(_)).then(|| member.gang());
        self.members.iter().filter_map(runs).sum()
    }

    /// GPUs that it could use on top of them.
    pub fn demand(&self) -> GpuCount {
        let open =
            self.members.iter().filter(|member| matches!(member.stance, Stance::IsUp(_) | Stance::Waits));
        open.map(Member::gang).sum()
    }

    /// How fast each member would go with what it holds and keeps, in the order of members.
    pub fn paces(&self, snapshot: &Snapshot) -> Vec<f64> {
        let pace = |member: &Member<'_>| match member.stance {
            Stance::Runs(lease) => member.pace_on(snapshot, lease),
            _ => 0.0,
        };
        self.members.iter().map(pace).collect()
    }

    /// Puts jobs in the order in which they are given GPUs.
    fn arrange(&mut self) {
        let goal = self.goal;
        self.members.sort_by_key(|member| {
            let left = (member.left.alone_s * 1e3) as u64;
            // To have all done soonest, the longest go first; to have one done soonest, the shortest.
            let by_goal = if goal == Goal::AllJobs { u64::MAX - left } else { left };
            let continues = matches!(member.stance, Stance::IsUp(_));
            (Reverse(continues), Reverse(member.job.spec.priority), by_goal, member.job.spec.id)
        });
    }
}

/// All apps that have jobs, by number.
pub(super) fn standings(snapshot: &Snapshot, lease: Span) -> Vec<Standing<'_>> {
    let mut parties: BTreeMap<Party, Standing<'_>> = BTreeMap::new();
    for (index, job) in snapshot.jobs.iter() {
        let app = job.spec.app.and_then(|app| snapshot.apps.get(&app));
        let standing = parties.entry(party(job, app)).or_insert_with_key(|party| Standing {
            party: *party,
            goal: app.map_or(Goal::AllJobs, |app| app.goal),
            agent: app.map_or(AgentSeat::Inside, |app| app.agent),
            opened: app.map_or(job.submitted, |app| app.opened),
            members: Vec::new(),
        });
        standing.members.push(Member::new(snapshot, index, job, lease));
    }
    let mut standings: Vec<_> = parties.into_values().collect();
    standings.iter_mut().for_each(Standing::arrange);
    standings
}

fn party(job: &Job, app: Option<&App>) -> Party {
    app.map_or(Party::Job(job.spec.id), |app| Party::App(app.id))
}
