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
        let told = || self.runner.report(lease.id, lease.job).map(|report| report.done);
        let spec = self.jobs.get(&lease.job).map(|job| job.spec.clone());
        let declared = spec.as_ref().and_then(|spec| spec.work);
        let believed = |until: Time| {
            let ran =
                spec.as_ref().map(|spec| self.rate(spec, lease).work_in(ran(spec, lease, &before, until)));
            before.done + ran.filter(|_| running.started).unwrap_or(Work::ZERO)
        };
        let (done, saved) = match (ending, seen) {
            // One that says nothing of itself and is over has done all that it had to do.
            (Ending::Done, seen) => {
                let any = |work: &Work| *work > Work::ZERO;
                let all = declared.or(seen.filter(any)).or_else(|| told().filter(any));
                let all = all.unwrap_or_else(|| believed(now));
                (all, all)
            }
            (_, Some(seen)) => (seen, seen),
            // Whoever leaves in time is taken to have saved; who has to be killed, not.
            (Ending::Left(EndCause::Stopped | EndCause::Expired), None) => {
                let in_time = running.leaving.filter(|leaving| now <= leaving.until);
                let believed = in_time.map_or(before.saved, |leaving| believed(leaving.since));
                let most = declared.map_or(believed, |work| Work::from_steps(work.steps() * PART_MAX));
                let done = believed.min(most).max(before.saved);
                (done, done)
            }
            _ => (before.saved, before.saved),
        };
        if let Some(far) = self.far.get_mut(&lease.job) {
            *far = Far { done, saved, at: now };
        }
        (done, saved)
    }

    /// Declared speed on the slowest of its GPUs; nothing is known of a job that declares none.
    fn rate(&self, spec: &JobSpec, lease: &Lease) -> Rate {
        if spec.speeds.is_none() {
            return Rate::ZERO;
        }
        let nodes = lease.gpus.seats().iter().filter_map(|seat| self.nodes.get(&seat.node));
        nodes
            .map(|node| spec.speed(node.model))
            .reduce(|a, b| if b < a { b } else { a })
            .unwrap_or(Rate::ZERO)
    }
}

/// How long a job was at work in a lease: not while it was put where it had been.
fn ran(spec: &JobSpec, lease: &Lease, before: &Far, until: Time) -> Span {
    let restore = if before.saved > Work::ZERO { spec.restart.restore } else { Span::ZERO };
    until.since(before.at.max(lease.taken) + restore)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::runner::{LiveJob, Seen};
    use crate::world::idle::Idle;
    use crate::world::{Arrival, Mail, Remembered};
    use evenhand_core::{
        Event, GpuMask, GpuModel, GpuSet, LeaseId, LeaseState, ModelIndex, Node, NodeId, PerModel, RackId,
        Reason, Sharing, TenantId,
    };
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    /// What is said at the end of a job of which 50 steps were saved, in a lease that was taken over after a minute, told to leave with so much time to
    /// save, and ended so.
    fn end(ending: Ending, speed: Option<f64>, work: Option<f64>, grace: Span) -> (f64, f64) {
        let (tell, inbox) = channel();
        let mut spec = JobSpec::new(JobId(1), TenantId(0), 1, work.map(Work::from_steps));
        spec.speeds = speed.map(|speed| PerModel::all(Rate::new(speed).unwrap()));
        spec.restart.restore = Span::from_secs(10);
        let clock = Clock::resume(crate::clock::system_ms() - 60_000, Time(60_000));
        let remembered = Remembered {
            models: vec![GpuModel { name: "v100".to_owned() }],
            nodes: vec![Node::new(NodeId(0), RackId(0), ModelIndex(0), 8)],
            jobs: vec![LiveJob { spec: Arc::new(spec), program: Arc::default(), user: None }],
            far: [(JobId(1), far(50.0))].into(),
            leases: vec![lease(LeaseState::Held)],
            ..Remembered::default()
        };
        let idle = Idle::default();
        *idle.seen.lock().unwrap() = Seen { started: true, ..Seen::default() };
        let mut world = World::recover(remembered, clock, Box::new(idle.clone()), inbox);
        world.tell_to_leave(LeaseId(7), EndCause::Stopped, grace);
        if grace == Span::ZERO {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        *idle.seen.lock().unwrap() = Seen { started: true, ended: Some(ending), again: None };
        tell.send(Mail::Look(LeaseId(7))).unwrap();
        told(&mut world)
    }

    fn far(steps: f64) -> Far {
        Far { done: Work::from_steps(steps), saved: Work::from_steps(steps), at: Time::ZERO }
    }

    fn lease(state: LeaseState) -> Lease {
        Lease {
            id: LeaseId(7),
            job: JobId(1),
            gpus: GpuSet::on(NodeId(0), GpuMask(1)),
            sharing: Sharing::Alone,
            starts: Time::ZERO,
            expires: Time::NEVER,
            reason: Reason::FirstCome,
            state,
            taken: Time::ZERO,
            booked: Time::ZERO,
        }
    }

    fn told(world: &mut World) -> (f64, f64) {
        let told = std::iter::from_fn(|| world.ready()).find_map(|(_, arrival)| match arrival {
            Arrival::Seen(Event::LeaseEnded { done, saved, .. }) => Some((done.steps(), saved.steps())),
            _ => None,
        });
        told.unwrap()
    }

    const HOUR: Span = Span::from_minutes(60);

    #[test]
    fn a_job_that_nobody_sees_is_as_far_as_its_speed_has_brought_it_when_it_leaves_in_time() {
        let left = Ending::Left(EndCause::Stopped);
        let (done, saved) = end(left, Some(1.0), Some(1000.0), HOUR);
        // A minute, of which ten seconds went by before it was where it had been.
        assert!((100.0..=300.0).contains(&done), "{done}");
        assert_eq!(done.to_bits(), saved.to_bits());
        assert_eq!(end(left, Some(100.0), Some(1000.0), HOUR), (990.0, 990.0), "it has not ended");
        assert_eq!(end(left, None, Some(1000.0), HOUR), (50.0, 50.0), "its speed is unknown");
        assert_eq!(end(left, Some(1.0), Some(1000.0), Span::ZERO), (50.0, 50.0), "it had to be killed");
        assert_eq!(end(Ending::Lost, Some(1.0), Some(1000.0), HOUR), (50.0, 50.0), "it could not save");
    }

    #[test]
    fn a_job_that_is_over_has_done_all_it_had_to_do_or_as_much_as_its_speed_says() {
        assert_eq!(end(Ending::Done, Some(10.0), Some(1000.0), HOUR), (1000.0, 1000.0));
        let (done, _) = end(Ending::Done, Some(1.0), None, HOUR);
        assert!((100.0..=300.0).contains(&done), "{done}");
        assert_eq!(end(Ending::Done, None, None, HOUR), (50.0, 50.0), "it never said anything");
    }

    #[test]
    fn what_was_told_to_leave_by_an_earlier_server_did_nothing_since_then() {
        let (_tell, inbox) = channel();
        let mut spec = JobSpec::new(JobId(1), TenantId(0), 1, None);
        spec.speeds = Some(PerModel::all(Rate::ONE));
        let remembered = Remembered {
            nodes: vec![Node::new(NodeId(0), RackId(0), ModelIndex(0), 8)],
            jobs: vec![LiveJob { spec: Arc::new(spec), program: Arc::default(), user: None }],
            far: [(JobId(1), far(50.0))].into(),
            leases: vec![lease(LeaseState::Stopping)],
            grace: HOUR,
            ..Remembered::default()
        };
        let idle = Idle::default();
        let ended = Some(Ending::Left(EndCause::Stopped));
        *idle.seen.lock().unwrap() = Seen { started: true, ended, again: None };
        let clock = Clock::resume(crate::clock::system_ms() - 60_000, Time(60_000));
        let mut world = World::recover(remembered, clock, Box::new(idle), inbox);
        assert_eq!(told(&mut world), (50.0, 50.0));
    }
}
