//! How far jobs are, where nobody can see it: as far as their declared speed would have brought them.

use super::{Running, World};
use crate::runner::Ending;
use evenhand_core::{EndCause, JobId, JobSpec, Lease, Rate, Span, Time, Work};

/// The part of its work that a job is taken to have done at most, as long as it has not ended.
const PART_MAX: f64 = 0.99;

/// What is known of a job when it is heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// Work done.
    pub done: Work,
    /// What it would go on from.
    pub saved: Work,
    /// When that was.
    pub at: Time,
}

impl World {
    /// What a job that has just begun goes on from.
    pub(super) fn begin_counting(&mut self, job: JobId) {
        let now = self.clock.now();
        let far = self.far.entry(job).or_default();
        *far = Far { done: far.saved, saved: far.saved, at: now };
    }

    /// Work that a job has done when its lease ends so, and what of it is kept.
    pub(super) fn at_the_end(&mut self, running: &Running, ending: Ending) -> (Work, Work) {
        let (lease, now) = (&running.lease, self.clock.now());
        let before = self.far.get(&lease.job).copied().unwrap_or_default();
        let seen = self.runner.steps(lease.job);
        let spec = self.jobs.get(&lease.job).map(|job| job.spec.clone());
        let (declared, believed) = spec.map_or((None, before.done), |spec| {
            let ran = if running.started { now.since(before.at) } else { Span::ZERO };
            (spec.work, before.done + self.rate(&spec, lease).work_in(ran))
        });
        let (done, saved) = match (ending, seen) {
            // One that says nothing of itself and is over has done all that it had to do.
            (Ending::Done, seen) => {
                let all = declared.or(seen.filter(|seen| *seen > Work::ZERO)).unwrap_or(believed);
                (all, all)
            }
            (_, Some(seen)) => (seen, seen),
            // Whoever leaves in time is taken to have saved.
            (Ending::Left(EndCause::Stopped | EndCause::Expired), None) => {
                let most = declared.map(|work| Work::from_steps(work.steps() * PART_MAX));
                let done = most.map_or(believed, |most| believed.min(most)).max(before.saved);
                (done, done)
            }
            _ => (before.saved, before.saved),
        };
        // One that was cancelled is forgotten already.
        if let Some(far) = self.far.get_mut(&lease.job) {
            *far = Far { done, saved, at: now };
        }
        (done, saved)
    }

    /// Declared speed on the slowest of its GPUs. A job that declares work and no speed is of unknown speed; one that declares neither is
    /// measured in seconds.
    fn rate(&self, spec: &JobSpec, lease: &Lease) -> Rate {
        if spec.work.is_some() && spec.speeds.is_none() {
            return Rate::ZERO;
        }
        let nodes = lease.gpus.seats().iter().filter_map(|seat| self.nodes.get(&seat.node));
        nodes
            .map(|node| spec.speed(node.model))
            .reduce(|a, b| if b < a { b } else { a })
            .unwrap_or(Rate::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::program::Program;
    use crate::runner::{LiveJob, Seen};
    use crate::world::idle::Idle;
    use crate::world::{Arrival, Mail, Remembered};
    use evenhand_core::{
        Event, GpuMask, GpuModel, GpuSet, LeaseId, LeaseState, ModelIndex, Node, NodeId, PerModel, RackId,
        Reason, Sharing, TenantId,
    };
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    /// A job of 1000 steps at ten a second, of which 50 are saved, in a lease that began a minute ago.
    fn end(ending: Ending, speed: Option<f64>, work: Option<f64>) -> (f64, f64) {
        let (tell, inbox) = channel();
        let mut spec = JobSpec::new(JobId(1), TenantId(0), 1, work.map(Work::from_steps));
        spec.speeds = speed.map(|speed| PerModel::all(Rate::new(speed).unwrap()));
        let clock = Clock::resume(crate::clock::system_ms() - 60_000, Time(60_000));
        let lease = Lease {
            id: LeaseId(7),
            job: JobId(1),
            gpus: GpuSet::on(NodeId(0), GpuMask(1)),
            sharing: Sharing::Alone,
            starts: Time::ZERO,
            expires: Time::NEVER,
            reason: Reason::FirstCome,
            state: LeaseState::Held,
            taken: Time::ZERO,
            booked: Time::ZERO,
        };
        let program = Arc::new(Program::default());
        let remembered = Remembered {
            models: vec![GpuModel { name: "v100".to_owned() }],
            nodes: vec![Node::new(NodeId(0), RackId(0), ModelIndex(0), 8)],
            jobs: vec![LiveJob { spec: Arc::new(spec), program, user: None }],
            far: [(
                JobId(1),
                Far { done: Work::from_steps(50.0), saved: Work::from_steps(50.0), at: Time::ZERO },
            )]
            .into(),
            leases: vec![lease],
            ..Remembered::default()
        };
        let idle = Idle::default();
        *idle.seen.lock().unwrap() = Seen { started: true, ..Seen::default() };
        let mut world = World::recover(remembered, clock, Box::new(idle.clone()), inbox);
        *idle.seen.lock().unwrap() = Seen { started: true, ended: Some(ending), again: None };
        tell.send(Mail::Look(LeaseId(7))).unwrap();
        let told = std::iter::from_fn(|| world.ready()).find_map(|(_, arrival)| match arrival {
            Arrival::Seen(Event::LeaseEnded { done, saved, .. }) => Some((done.steps(), saved.steps())),
            _ => None,
        });
        told.unwrap()
    }

    #[test]
    fn a_job_that_nobody_sees_is_as_far_as_its_speed_has_brought_it_when_it_leaves_in_time() {
        let left = Ending::Left(EndCause::Stopped);
        let (done, saved) = end(left, Some(10.0), Some(1000.0));
        assert!((650.0..=700.0).contains(&done), "{done}");
        assert_eq!(done.to_bits(), saved.to_bits());
        assert_eq!(end(left, Some(100.0), Some(1000.0)), (990.0, 990.0), "it has not ended");
        assert_eq!(end(left, None, Some(1000.0)), (50.0, 50.0), "its speed is unknown");
        assert_eq!(end(Ending::Lost, Some(10.0), Some(1000.0)), (50.0, 50.0), "it could not save");
    }

    #[test]
    fn a_job_that_is_over_has_done_all_it_had_to_do_or_as_much_as_its_time_says() {
        assert_eq!(end(Ending::Done, Some(10.0), Some(1000.0)), (1000.0, 1000.0));
        let (done, _) = end(Ending::Done, None, None);
        assert!((110.0..=115.0).contains(&done), "in seconds: {done}");
    }
}
