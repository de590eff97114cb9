//! A job in progress: how far it is, how fast it goes, what is saved.

use crate::Curve;
use crate::truth::{self, Resident, TrueInterference};
use evenhand_core::{Cluster, GpuId, JobSpec, Lease, Rate, Sharing, SharingMode, Span, Time, Work};
use std::sync::Arc;

/// What happens next in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Finishes,
    Crashes,
    ChangesRegime,
    Reports,
}

/// One lease in progress.
#[derive(Debug)]
pub(crate) struct Progressing {
    pub lease: Lease,
    pub truth: Arc<JobSpec>,
    /// The kind of job that it was measured as, if any.
    pub profile: Option<Arc<str>>,
    /// How its loss falls, if it reports that.
    pub curve: Option<Arc<Curve>>,
    /// Work done at `since`.
    done: Work,
    /// Work in the last checkpoint.
    saved: Work,
    since: Time,
    /// When the job really began to work: after restoring.
    begins: Time,
    /// Speed without regime and neighbours.
    base: Rate,
    slowdown: f64,
    rate: Rate,
    crash: Option<Time>,
    /// Whether that crash is for lack of memory.
    pub out_of_memory: bool,
    /// When the engine last heard how far it is.
    reported: Time,
    /// A turn on the agenda counts only if it carries this number.
    pub turn: u32,
    /// Set once the job was told to stop: it works no more.
    pub stopping: bool,
}

impl Progressing {
    pub fn new(
        lease: Lease,
        (truth, profile, curve): (Arc<JobSpec>, Option<Arc<str>>, Option<Arc<Curve>>),
        saved: Work,
        begins: Time,
        crash_after: Option<Span>,
    ) -> Self {
        let crash = crash_after.map(|after| begins + after);
        let (base, rate) = (Rate::ZERO, Rate::ZERO);
        Self {
            lease,
            truth,
            profile,
            curve,
            done: saved,
            saved,
            since: begins,
            begins,
            base,
            slowdown: 1.0,
            rate,
            crash,
            out_of_memory: false,
            reported: begins,
            turn: 0,
            stopping: false,
        }
    }

    /// Lets the job fail for lack of memory at this time, unless it crashes before.
    pub fn run_out_of_memory(&mut self, at: Time) {
        if self.crash.is_none_or(|crash| at <= crash) {
            (self.crash, self.out_of_memory) = (Some(at), true);
        }
    }

    /// The job as one of those on a GPU.
    pub fn resident(&self) -> Resident<'_> {
        Resident { spec: &self.truth, profile: self.profile.as_ref() }
    }

    /// How the job is kept apart from others, if it may have any beside it.
    pub fn mode(&self) -> SharingMode {
        match self.lease.sharing {
            Sharing::Beside { mode, .. } => mode,
            Sharing::Alone => SharingMode::TimeSlicing,
        }
    }

    /// Takes the speed that follows from the GPUs, the state of their nodes and the neighbours.
    pub fn set_speed(&mut self, now: Time, cluster: &Cluster, node_speed: &[f64], slowdown: f64) {
        self.settle(now);
        self.base = truth::base_rate(&self.truth, cluster, &self.lease.gpus, node_speed);
        self.slowdown = slowdown;
        self.follow_regime();
    }

    fn follow_regime(&mut self) {
        let (_, factor, _) = truth::regime_at(&self.truth, self.done);
        self.rate = if self.stopping { Rate::ZERO } else { self.base.times(factor / self.slowdown) };
    }

    /// Brings the books up to `now`: work at the present speed, and the checkpoints on the way.
    pub fn settle(&mut self, now: Time) {
        if now <= self.since {
            return;
        }
        if let Some(checkpoint) = self.last_checkpoint(now).filter(|at| *at >= self.since) {
            self.saved = self.done_at(checkpoint);
        }
        self.done = self.done_at(now);
        self.since = now;
    }

    fn done_at(&self, at: Time) -> Work {
        let total = self.truth.work.unwrap_or(Work(u64::MAX));
        (self.done + self.rate.work_in(at.since(self.since))).min(total)
    }

    /// When the job last wrote a checkpoint by itself.
    fn last_checkpoint(&self, now: Time) -> Option<Time> {
        let interval = self.truth.restart.interval;
        let running = now.since(self.begins);
        if interval == Span::ZERO {
            return Some(now);
        }
        let count = running.0 / interval.0;
        (count > 0).then(|| self.begins + Span(count * interval.0))
    }

    /// What happens next if nobody interferes, and when.
    pub fn next_turn(&self) -> Option<(Time, Turn)> {
        let (end, turn) = self.stretch();
        let at = end.less(self.done).span_at(self.rate).map(|span| self.since + span);
        match (at, self.crash) {
            (Some(at), Some(crash)) if crash < at => Some((crash, Turn::Crashes)),
            (Some(at), _) => Some((at, turn)),
            (None, crash) => crash.map(|crash| (crash, Turn::Crashes)),
        }
    }

    /// Where the stretch of work ends that the job is in, and what that end is.
    fn stretch(&self) -> (Work, Turn) {
        let (_, _, end) = truth::regime_at(&self.truth, self.done);
        let total = self.truth.work.unwrap_or(Work(u64::MAX));
        let report = self.curve.as_ref().map(|curve| {
            let epoch = curve.epoch.0.max(1);
            Work((self.done.0 / epoch + 1).saturating_mul(epoch))
        });
        match report {
            Some(report) if report < end => (report, Turn::Reports),
            _ if end >= total => (end, Turn::Finishes),
            _ => (end, Turn::ChangesRegime),
        }
    }

    /// Arrives at the end of an epoch, of a regime or of the job: rounding must not leave a crumb.
    pub fn arrive(&mut self, now: Time) {
        let (end, _) = self.stretch();
        self.settle(now);
        self.done = end;
        self.follow_regime();
    }

    /// Works no more: it was told to stop, or its node is gone.
    pub fn halt(&mut self, now: Time) {
        self.settle(now);
        self.stopping = true;
        self.rate = Rate::ZERO;
    }

    /// Writes a checkpoint of all that is done, if the grace is long enough for it.
    pub fn save_within(&mut self, grace: Span) {
        if self.truth.restart.save <= grace {
            self.saved = self.done;
        }
    }

    /// How far the job is, if it has been silent for so long.
    pub fn report(&mut self, now: Time, every: Span) -> Option<(Work, Work)> {
        if now.since(self.reported) < every {
            return None;
        }
        self.reported = now;
        self.settle(now);
        Some(self.progress())
    }

    /// Work done and work that would survive a failure, as of the last settling.
    pub fn progress(&self) -> (Work, Work) {
        (self.done, self.saved)
    }
}

/// The slowdown of one job among the sharers of each of its GPUs.
pub(crate) fn slowdowns(
    own: &Progressing,
    neighbours: &[Vec<&Progressing>],
    cluster: &Cluster,
    interference: &dyn TrueInterference,
) -> Vec<f64> {
    let on = |(gpu, others): (GpuId, &Vec<&Progressing>)| {
        if others.is_empty() {
            return 1.0;
        }
        let model = cluster.nodes[gpu.node.index()].model;
        let residents: Vec<Resident<'_>> = others.iter().map(|other| other.resident()).collect();
        interference.slowdown(&own.resident(), &residents, model, mode_among(own, others))
    };
    own.lease.gpus.iter().zip(neighbours).map(on).collect()
}

/// How jobs on one GPU get along.
pub(crate) fn mode_among(own: &Progressing, others: &[&Progressing]) -> SharingMode {
    SharingMode::together(std::iter::once(own.mode()).chain(others.iter().map(|other| other.mode())))
}
