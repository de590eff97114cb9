//! What the runner and the thread that talks to Slurm both know. Nobody holds it while waiting for Slurm.

use super::jobs::{SlurmId, SlurmJob, State};
use super::next::{Around, Blame, Leased, Next, Order, next};
use super::submit::marked;
use super::tool::Act;
use crate::runner::{Ending, LiveJob};
use evenhand_core::{EndCause, JobId, Lease, LeaseId, NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A job of Evenhand and what it is in Slurm.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub live: LiveJob,
    /// As whom it runs, if it is handed to Slurm from here.
    pub user_id: u32,
    /// What Slurm calls it, once that is known.
    pub slurm: Option<SlurmId>,
    /// Its submitter holds it back in Slurm, and Evenhand was told.
    pub held: bool,
    /// Polls in a row in which it was not there.
    pub missed: u32,
}

impl Known {
    pub(super) fn is_own(&self) -> bool {
        self.live.program.outside.is_none()
    }
}

/// What became of a job that was found in Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discovery {
    /// The service was asked to take it.
    Asked,
    /// It is left alone, until the next start.
    LeftAlone,
    /// It has ended for Evenhand.
    Over,
}

/// Something to do outside, after the desk is let go.
#[derive(Clone, Debug)]
pub(super) enum Errand {
    /// Hand a job to Slurm, for a lease.
    Submit(LeaseId, LiveJob),
    /// Note which run of which job a lease is, and start it.
    Claim(LeaseId, SlurmId, u32),
    /// Do something to a job, for a lease or for nobody.
    Act(Option<LeaseId>, SlurmId, Act),
}

/// News for the world.
#[derive(Clone, Debug)]
pub(super) enum News {
    Look(LeaseId),
    Gone(JobId),
    Hold(JobId, bool),
    Found(Box<SlurmJob>),
}

/// All that is known.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub store: String,
    pub home: String,
    pub run: String,
    /// Everything from before a restart has been told: now it may be acted upon.
    pub begun: bool,
    pub names: BTreeMap<NodeId, String>,
    pub jobs: BTreeMap<JobId, Known>,
    pub leases: BTreeMap<LeaseId, Leased>,
    /// Starts as the engine ordered them, for the environment of jobs.
    pub orders: BTreeMap<LeaseId, Lease>,
    /// Jobs that have ended for Evenhand and are to end in Slurm.
    pub ending: BTreeSet<SlurmId>,
    pub discoveries: BTreeMap<SlurmId, Discovery>,
    /// What submitters are to be told.
    pub comments: Vec<(SlurmId, String)>,
    /// All machines are to be told again.
    pub tell_machines: bool,
}

/// What Slurm says now, by number.
pub(super) type Picture = BTreeMap<SlurmId, SlurmJob>;

impl Desk {
    /// Takes in what Slurm says, and says what is to be done about it.
    pub(super) fn take(&mut self, picture: &Picture, now: Time) -> (Vec<Errand>, Vec<News>) {
        let (mut errands, mut news) = (Vec::new(), Vec::new());
        self.link(picture, &mut errands);
        self.follow_leases(picture, now, &mut errands, &mut news);
        self.bring_home(picture, &mut errands, &mut news);
        self.end_what_ended(picture, &mut errands);
        self.discover(picture, &mut errands, &mut news);
        let comments = std::mem::take(&mut self.comments).into_iter();
        errands.extend(comments.map(|(id, comment)| Errand::Act(None, id, Act::Tell(comment))));
        (errands, news)
    }

    /// Which job of ours this is, handed to Slurm from here. A comment is anybody's own words, so the user must be the one whom it was handed over
    /// for; what says that it is a job that has ended is nobody else's either.
    fn handed_over(&self, job: &SlurmJob) -> Option<JobId> {
        let id = marked(&self.store, job)?;
        let is_theirs = |known: &Known| known.is_own() && known.user_id == job.user_id;
        self.jobs.get(&id).is_none_or(is_theirs).then_some(id)
    }

    /// Jobs of ours that went to Slurm are known by their mark. Of two for one job, the second is not wanted: an answer came too late.
    fn link(&mut self, picture: &Picture, errands: &mut Vec<Errand>) {
        for job in picture.values().filter(|job| matches!(job.state, State::Pending | State::Running)) {
            let Some(id) = self.handed_over(job) else { continue };
            let is_leased = self.claimed().any(|slurm| slurm == job.id);
            match self.jobs.get_mut(&id) {
                Some(known) if known.slurm.is_none_or(|slurm| !picture.contains_key(&slurm)) => {
                    known.slurm = Some(job.id);
                }
                Some(known) if known.slurm == Some(job.id) => {}
                _ if is_leased => {}
                _ => errands.push(Errand::Act(None, job.id, Act::Cancel)),
            }
        }
    }

    fn claimed(&self) -> impl Iterator<Item = SlurmId> {
        self.leases.values().filter_map(|lease| Some(lease.claim.as_ref()?.slurm))
    }

    /// The Slurm jobs that are Evenhand's.
    pub(super) fn ours(&self) -> BTreeSet<SlurmId> {
        let known = self.jobs.values().filter_map(|known| known.slurm);
        known.chain(self.claimed()).chain(self.ending.iter().copied()).collect()
    }

    fn follow_leases(
        &mut self,
        picture: &Picture,
        now: Time,
        errands: &mut Vec<Errand>,
        news: &mut Vec<News>,
    ) {
        let Self { leases, jobs, home, .. } = self;
        for (id, lease) in leases.iter_mut().filter(|(_, lease)| lease.ended.is_none()) {
            let known = jobs.get(&lease.job);
            let slurm = lease.claim.as_ref().map(|claim| claim.slurm).or(known.and_then(|known| known.slurm));
            let found = slurm.and_then(|slurm| picture.get(&slurm));
            lease.missed = if found.is_some() { 0 } else { lease.missed + 1 };
            let is_own = known.is_some_and(Known::is_own);
            let around = Around { now, home, is_wanted: known.is_some(), is_own };
            match next(lease, found, &around) {
                Next::Wait => {}
                Next::Submit => {
                    errands.extend(known.map(|known| Errand::Submit(*id, known.live.clone())));
                }
                Next::Claim => errands.extend(found.map(|job| Errand::Claim(*id, job.id, job.restarts))),
                Next::Do(act) => {
                    if act == Act::Home && lease.order == Order::Run {
                        lease.blame = found.map_or(Blame::Nobody, |job| Blame::for_waiting(&job.reason));
                    }
                    errands.extend(slurm.map(|slurm| Errand::Act(Some(*id), slurm, act)));
                }
                Next::Runs => {
                    lease.devices = found.map(SlurmJob::devices).unwrap_or_default();
                    if lease.order == Order::GiveUp {
                        lease.order = Order::Run;
                    }
                    if !std::mem::replace(&mut lease.started, true) {
                        news.push(News::Look(*id));
                    }
                }
                Next::End(ending) => {
                    let is_launched = !matches!(ending, Ending::NotLaunched(_));
                    lease.started |= is_launched && lease.claim.is_some();
                    lease.ended = Some(ending);
                    news.push(News::Look(*id));
                }
                Next::TakenBack => {
                    lease.ended = Some(Ending::Left(EndCause::Stopped));
                    news.extend([News::Gone(lease.job), News::Look(*id)]);
                }
            }
        }
    }

    /// A job without a lease waits in the queue; whatever else it does is put right.
    fn bring_home(&mut self, picture: &Picture, errands: &mut Vec<Errand>, news: &mut Vec<News>) {
        let leased: BTreeSet<JobId> = self
            .leases
            .values()
            .filter(|lease| lease.claim.is_some() || lease.ended.is_some())
            .map(|lease| lease.job)
            .collect();
        for (id, known) in self.jobs.iter_mut().filter(|(id, _)| !leased.contains(id)) {
            let Some(slurm) = known.slurm else { continue };
            let Some(job) = picture.get(&slurm) else {
                known.missed += 1;
                if known.missed >= super::next::MISSED_MAX {
                    news.push(News::Gone(*id));
                }
                continue;
            };
            known.missed = 0;
            let mut act = |act| errands.push(Errand::Act(None, slurm, act));
            match job.state {
                State::Pending if job.partition != self.home => act(Act::Home),
                // Whether it is tried again is not Slurm's to say.
                State::Pending if job.launch_failed => act(Act::Release),
                State::Pending if job.held != known.held => {
                    known.held = job.held;
                    news.push(News::Hold(*id, job.held));
                }
                State::Pending | State::Completing => {}
                State::Running | State::Failed | State::NodeFailed => act(Act::Requeue),
                // Nobody but its submitter ends a job that waits.
                State::Cancelled | State::Completed => news.push(News::Gone(*id)),
            }
        }
    }

    fn end_what_ended(&mut self, picture: &Picture, errands: &mut Vec<Errand>) {
        let leased: BTreeSet<SlurmId> = self.claimed().collect();
        let goes_on = |id: &SlurmId| {
            picture
                .get(id)
                .is_some_and(|job| matches!(job.state, State::Pending | State::Running | State::Completing))
        };
        self.ending.retain(goes_on);
        for id in self.ending.iter().filter(|id| !leased.contains(id)) {
            errands.push(Errand::Act(None, *id, Act::Cancel));
        }
    }

    /// Jobs that wait where jobs wait and are not known are told of; strays are moved there.
    fn discover(&mut self, picture: &Picture, errands: &mut Vec<Errand>, news: &mut Vec<News>) {
        const NOT_YET: [&str; 3] = ["Dependency", "DependencyNeverSatisfied", "BeginTime"];
        self.discoveries.retain(|id, _| picture.contains_key(id));
        let ours = self.ours();
        for job in picture.values().filter(|job| job.state == State::Pending && !ours.contains(&job.id)) {
            if self.handed_over(job).is_some() {
                continue;
            }
            if job.partition == self.run {
                errands.push(Errand::Act(None, job.id, Act::Home));
                continue;
            }
            let waits = job.held || NOT_YET.contains(&job.reason.as_str());
            match self.discoveries.get(&job.id) {
                Some(Discovery::Over) => errands.push(Errand::Act(None, job.id, Act::Cancel)),
                None if job.partition == self.home && !waits => {
                    self.discoveries.insert(job.id, Discovery::Asked);
                    news.push(News::Found(Box::new(job.clone())));
                }
                _ => {}
            }
        }
    }
}
