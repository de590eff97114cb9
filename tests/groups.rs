//! Jobs that belong together: those that wait for others, and arrays of which only so many may run at a time.

use evenhand_core::{
    Abilities, Command, EngineConfig, Event, GpuModel, JobId, JobSpec, Member, Node, NodeId, Note, Outcome,
    RackId, Span, Tenant, TenantId, Time,
};
use evenhand_engine::{Engine, Step};
use evenhand_tests::{engine_with, policy};
use std::sync::Arc;

struct Stage {
    engine: Engine,
    now: u64,
}

impl Stage {
    fn new() -> Self {
        let engine = engine_with(policy("fifo"), EngineConfig::default(), Abilities::default());
        let mut stage = Self { engine, now: 0 };
        stage.step(&Event::TenantChanged(Tenant::new(TenantId(0), "ann")));
        stage
    }

    fn step(&mut self, event: &Event) -> Step {
        self.now += 1;
        self.engine.step(Time(self.now), event)
    }

    fn submit(&mut self, job: u64, change: impl FnOnce(&mut JobSpec)) {
        let mut spec = JobSpec::new(JobId(job), TenantId(0), 1, None);
        change(&mut spec);
        self.step(&Event::Submitted(Arc::new(spec)));
    }

    /// Jobs that wait for GPUs and nothing else, by number.
    fn queued(&self) -> Vec<u64> {
        let snapshot = self.engine.snapshot();
        let queued = snapshot.jobs.iter().filter(|(_, job)| job.is_queued());
        let mut queued: Vec<u64> = queued.map(|(_, job)| job.spec.id.0).collect();
        queued.sort_unstable();
        queued
    }
}

fn ends(step: &Step) -> Vec<(u64, Outcome)> {
    let ends = step.commands.iter().filter_map(|command| match command {
        Command::End { job, outcome, .. } => Some((job.0, *outcome)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_job_that_needs_a_good_end_is_cancelled_with_all_that_need_it() {
    let mut stage = Stage::new();
    stage.submit(1, |_| {});
    stage.submit(2, |spec| spec.after_ok = vec![JobId(1)]);
    stage.submit(3, |spec| spec.after_ok = vec![JobId(1), JobId(2)]);
    stage.submit(4, |spec| spec.after = vec![JobId(2)]);
    assert_eq!(stage.queued(), [1]);
    let step = stage.step(&Event::Cancelled(JobId(1)));
    let mut ended = ends(&step);
    ended.sort_unstable();
    let cancelled = Outcome::Cancelled;
    assert_eq!(ended, [(1, cancelled), (2, cancelled), (3, cancelled)], "each once");
    assert!(step.notes.contains(&Note::Forsaken { job: JobId(2), by: JobId(1), outcome: cancelled }));
    assert_eq!(stage.queued(), [4], "any end will do for it");
}

#[test]
fn a_job_waits_until_all_that_it_needs_have_ended() {
    let mut stage = Stage::new();
    stage.submit(1, |_| {});
    stage.submit(2, |_| {});
    stage.submit(3, |spec| (spec.after_ok, spec.after) = (vec![JobId(1)], vec![JobId(2)]));
    stage.step(&Event::Retired(JobId(1)));
    assert_eq!(stage.queued(), [2]);
    stage.step(&Event::Cancelled(JobId(2)));
    assert_eq!(stage.queued(), [3]);
}

#[test]
fn a_long_chain_falls_without_breaking_anything() {
    let mut stage = Stage::new();
    let last = 20_000;
    stage.submit(1, |_| {});
    for job in 2..=last {
        stage.submit(job, |spec| spec.after_ok = vec![JobId(job - 1)]);
    }
    let step = stage.step(&Event::Cancelled(JobId(1)));
    assert_eq!(ends(&step).len(), last as usize);
}

#[test]
fn an_array_may_wait_for_an_array() {
    let mut stage = Stage::new();
    let size = 300;
    for job in 1..=size {
        stage.submit(job, |_| {});
    }
    for job in size + 1..=2 * size {
        stage.submit(job, |spec| spec.after_ok = (1..=size).map(JobId).collect());
    }
    for job in 1..size {
        stage.step(&Event::Retired(JobId(job)));
    }
    assert_eq!(stage.queued(), [size]);
    stage.step(&Event::Retired(JobId(size)));
    assert_eq!(stage.queued().len() as u64, size);
}

fn of_two(spec: &mut JobSpec) {
    spec.array = Some(Member { array: JobId(1), index: 0, at_once: Some(2) });
}

#[test]
fn so_many_of_an_array_have_a_turn_and_one_on_hold_gives_its_up() {
    let mut stage = Stage::new();
    for job in 2..6 {
        stage.submit(job, of_two);
    }
    assert_eq!(stage.queued(), [2, 3]);
    stage.step(&Event::Cancelled(JobId(2)));
    assert_eq!(stage.queued(), [3, 4]);
    stage.step(&Event::Held(JobId(3)));
    assert_eq!(stage.queued(), [4, 5]);
    stage.step(&Event::Released(JobId(3)));
    assert_eq!(stage.queued(), [4, 5], "others have the turns now");
    stage.step(&Event::Cancelled(JobId(5)));
    assert_eq!(stage.queued(), [3, 4]);
}

#[test]
fn a_job_of_an_array_that_runs_keeps_its_turn_until_it_has_stopped() {
    let mut stage = Stage::new();
    stage.step(&Event::ModelAdded(GpuModel { name: "v100".to_owned() }));
    stage.step(&Event::NodeUp(Node::new(NodeId(0), RackId(0), evenhand_core::ModelIndex(0), 4)));
    for job in 2..5 {
        stage.submit(job, of_two);
    }
    let step = stage.step(&Event::RoundDue(evenhand_core::Round(1)));
    let leases: Vec<_> = step.commands.iter().filter_map(started).collect();
    assert_eq!(leases.len(), 2, "GPUs are left, turns are not");
    stage.step(&Event::LeaseStarted(leases[0]));
    stage.step(&Event::Held(JobId(2)));
    assert_eq!(stage.queued(), [0_u64; 0], "it still holds its GPUs");
    let (done, cause) = (evenhand_core::Work::ZERO, evenhand_core::EndCause::Stopped);
    stage.step(&Event::LeaseEnded { lease: leases[0], done, saved: done, cause });
    assert_eq!(stage.queued(), [4]);
}

fn started(command: &Command) -> Option<evenhand_core::LeaseId> {
    if let Command::Start(lease) = command { Some(lease.id) } else { None }
}

#[test]
fn a_trial_of_a_submission_changes_nothing() {
    let mut stage = Stage::new();
    stage.step(&Event::ModelAdded(GpuModel { name: "v100".to_owned() }));
    stage.step(&Event::NodeUp(Node::new(NodeId(0), RackId(0), evenhand_core::ModelIndex(0), 1)));
    let now = Time(stage.now) + Span(1);
    let spec = |job| Event::Submitted(Arc::new(JobSpec::new(JobId(job), TenantId(0), 1, None)));
    let rehearsal = stage.engine.rehearse_events(now, &[spec(1), spec(2)], false);
    assert_eq!(rehearsal.starts.iter().map(|start| start.job.0).collect::<Vec<_>>(), [1]);
    assert_eq!(rehearsal.waits.iter().map(|wait| wait.job.0).collect::<Vec<_>>(), [2]);
    assert!(stage.engine.snapshot().jobs.is_empty() && stage.engine.rounds() == evenhand_core::Round::ZERO);
}
