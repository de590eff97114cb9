//! Watches leases, and says how fast their jobs were.
//!
//! What is normalised, with what the submitter declared: GPUs beyond `gpus.min` and GPUs apart (the job's scaling), the
//! regime in force, time to restore after a restart. What is left out: leases that share GPUs or mix GPU models; stints that
//! began in another regime than the last one heard of; stints shorter than [`STINT_MIN`] or without a step; and the last
//! stint of a job that crashed, lost its node or was not renewed, because it may have done more than it could say.
//!
//! A job that reports the time in which it really worked is measured by that; otherwise a stint lasts until the next word of
//! the job, or until it was asked to stop: what it does afterwards is saving.

use evenhand_core::{
    Cluster, EndCause, JobSpec, Lease, LeaseId, ModelIndex, Rate, Regime, Sharing, Span, Time, Work,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Shorter stints say more about the moment than about the job.
pub const STINT_MIN: Span = Span::from_secs(30);

/// How fast a job was on a GPU model: alone on `gpus.min` GPUs in one place, in its first regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Where.
    pub model: ModelIndex,
    /// How fast.
    pub speed: Rate,
}

/// A job as one of its leases starts.
#[derive(Clone, Copy, Debug)]
pub struct Runner<'a> {
    /// What was asked for.
    pub spec: &'a JobSpec,
    /// Work done until now.
    pub done: Work,
    /// Time in which it really worked until now, if it reports that.
    pub worked: Option<Span>,
    /// The regime in force.
    pub regime: Regime,
    /// Leases that began, this one included.
    pub starts: u32,
}

/// What is watched of one lease.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stint {
    model: ModelIndex,
    /// Of the number of GPUs and of how far they are apart.
    factor: f64,
    regime: Regime,
    since: Time,
    done: Work,
    worked: Option<Span>,
}

/// The leases that run now.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Watch {
    stints: BTreeMap<LeaseId, Stint>,
}

impl Watch {
    /// A lease has started.
    pub fn start(&mut self, now: Time, job: &Runner<'_>, lease: &Lease, cluster: &Cluster) {
        let [model] = cluster.models_of(&lease.gpus)[..] else { return };
        let spec = job.spec;
        let factor = spec.scaling.factor(spec.gpus, lease.gpus.count(), cluster.span_of(&lease.gpus));
        if lease.sharing != Sharing::Alone || factor <= 0.0 {
            return;
        }
        let again = job.starts > 1;
        let since = now + if again { spec.restart.restore } else { Span::ZERO };
        let worked = if again { job.worked } else { Some(Span::ZERO) };
        let stint = Stint { model, factor, regime: job.regime, since, done: job.done, worked };
        self.stints.insert(lease.id, stint);
    }

    /// A job says how far it is, for how long it has really worked, and whether its regime is another from now on.
    pub fn progress(
        &mut self,
        now: Time,
        lease: LeaseId,
        done: Work,
        worked: Option<Span>,
        regime: Option<Regime>,
    ) -> Option<Pace> {
        let stint = self.stints.get_mut(&lease)?;
        let took = match (stint.worked, worked) {
            (Some(before), Some(after)) => after.less(before),
            _ => now.since(stint.since),
        };
        let short = took < STINT_MIN && regime.is_none();
        if short {
            // It goes on until it is long enough.
            return None;
        }
        let pace = stint.pace(done, took);
        (stint.since, stint.done) = (stint.since.max(now), done);
        stint.worked = worked;
        stint.regime = regime.unwrap_or(stint.regime);
        pace
    }

    /// A lease has ended; its job was asked to stop then, if it was.
    pub fn end(
        &mut self,
        now: Time,
        lease: LeaseId,
        done: Work,
        cause: EndCause,
        halted: Option<Time>,
    ) -> Option<Pace> {
        let stint = self.stints.remove(&lease)?;
        let knows = matches!(cause, EndCause::Finished { .. } | EndCause::Stopped);
        let until = halted.unwrap_or(now);
        knows.then(|| stint.pace(done, until.since(stint.since))).flatten()
    }

    /// A lease goes on with other GPUs, or never ran.
    pub fn forget(&mut self, lease: LeaseId) {
        self.stints.remove(&lease);
    }
}

impl Stint {
    fn pace(&self, done: Work, took: Span) -> Option<Pace> {
        let (work, regime) = (done.less(self.done), self.regime.speed.get());
        let known = self.done >= self.regime.from && regime > 0.0;
        if !known || took < STINT_MIN || work == Work::ZERO {
            return None;
        }
        let speed = work.steps() / took.seconds() / self.factor / regime;
        Some(Pace { model: self.model, speed: Rate::new(speed).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenhand_core::{
        GpuMask, GpuModel, GpuSet, JobId, LeaseState, Node, NodeId, RackId, Ratio, Reason, Restart, TenantId,
    };

    const LEASE: LeaseId = LeaseId(1);

    fn cluster() -> Cluster {
        let mut cluster = Cluster::new(["k80", "v100"].map(|name| GpuModel { name: name.into() }).into());
        for id in 0..3 {
            cluster.put(Node::new(NodeId(id), RackId(0), ModelIndex(u16::from(id == 2)), 2), GpuMask(0));
        }
        cluster
    }

    fn spec() -> JobSpec {
        let mut spec = JobSpec::new(JobId(1), TenantId(0), 2, None);
        spec.scaling.by_span = Some([1.0, 1.0, 2.0, 2.0].map(|slowdown| Ratio::new(slowdown).unwrap()));
        spec.restart = Restart { restore: Span::from_secs(100), ..Restart::default() };
        spec
    }

    /// Watches a lease on these nodes from the start, the first or another.
    fn started(nodes: &[(u32, u64)], starts: u32, sharing: Sharing) -> Watch {
        let gpus =
            GpuSet::new(nodes.iter().map(|(node, mask)| (NodeId(*node), GpuMask(*mask)).into()).collect());
        let (taken, expires) = (Time(0), Time::NEVER);
        let (reason, state) = (Reason::FirstCome, LeaseState::Held);
        let lease = Lease {
            id: LEASE,
            job: JobId(1),
            gpus,
            sharing,
            starts: taken,
            expires,
            reason,
            state,
            taken,
            booked: taken,
        };
        let (done, worked, regime) = (Work::ZERO, None, Regime::default());
        let mut watch = Watch::default();
        watch.start(Time(0), &Runner { spec: &spec(), done, worked, regime, starts }, &lease, &cluster());
        watch
    }

    fn speed(pace: Option<Pace>) -> Option<f64> {
        pace.map(|pace| pace.speed.get())
    }

    fn stopped(mut watch: Watch, halted_s: u64) -> Option<f64> {
        let halted = Some(Time(halted_s * 1000));
        speed(watch.end(Time(1_000_000), LEASE, Work::from_steps(600.0), EndCause::Stopped, halted))
    }

    #[test]
    fn a_lease_is_measured_without_restoring_saving_and_distance() {
        assert_eq!(stopped(started(&[(0, 3)], 1, Sharing::Alone), 600), Some(1.0));
        assert_eq!(stopped(started(&[(0, 3)], 2, Sharing::Alone), 700), Some(1.0));
        assert_eq!(stopped(started(&[(0, 1), (1, 1)], 1, Sharing::Alone), 600), Some(2.0));
    }

    #[test]
    fn what_says_nothing_of_the_job_alone_is_left_out() {
        assert_eq!(stopped(started(&[(0, 1), (2, 1)], 1, Sharing::Alone), 600), None, "mixed models");
        let beside =
            Sharing::Beside { slowdown_max: Ratio::ONE, mode: evenhand_core::SharingMode::TimeSlicing };
        assert_eq!(stopped(started(&[(0, 3)], 1, beside), 600), None, "a shared GPU");
        assert_eq!(stopped(started(&[(0, 3)], 1, Sharing::Alone), 29), None, "too short");
        let mut watch = started(&[(0, 3)], 1, Sharing::Alone);
        let crashed = watch.end(Time(600_000), LEASE, Work::from_steps(600.0), EndCause::Crashed, None);
        assert_eq!(crashed, None, "it may have done more than it could say");
    }

    #[test]
    fn every_word_begins_a_stint_and_a_regime_is_taken_out() {
        let mut watch = started(&[(0, 3)], 1, Sharing::Alone);
        let at = |seconds: u64| Time(seconds * 1000);
        let steps = Work::from_steps;
        let double = Regime { batch: 64, from: steps(60.0), speed: Ratio::new(2.0).unwrap() };
        assert_eq!(speed(watch.progress(at(60), LEASE, steps(60.0), None, Some(double))), Some(1.0));
        assert_eq!(
            speed(watch.progress(at(70), LEASE, steps(80.0), None, None)),
            None,
            "too short: it goes on"
        );
        assert_eq!(speed(watch.progress(at(100), LEASE, steps(140.0), None, None)), Some(1.0));
        let finished = EndCause::Finished { alone: None };
        assert_eq!(speed(watch.end(at(200), LEASE, steps(440.0), finished, None)), Some(1.5));
    }

    #[test]
    fn a_job_that_reports_its_working_time_is_measured_by_it() {
        let mut watch = started(&[(2, 3)], 1, Sharing::Alone);
        let worked = Some(Span::from_secs(50));
        let pace = watch.progress(Time(100_000), LEASE, Work::from_steps(100.0), worked, None);
        assert_eq!(pace, Some(Pace { model: ModelIndex(1), speed: Rate::new(2.0).unwrap() }));
    }
}
