//! What only the local world promises; what every world does is in `tests/contract`.

use super::*;
use evenhand_core::{
    EndCause, GpuId, GpuModel, GpuSet, GpuTime, JobSpec, Lease, LeaseState, ModelIndex, Outcome, RackId,
    Reason, Retry, Round, Sharing, StopReason, TenantId, Work,
};
use std::fs;
use std::sync::Arc;
use std::thread;

/// A world of two nodes with four GPUs each, and one job that runs this shell script.
fn world_of(shell: &str) -> LocalWorld {
    world_of_program(Program { path: "/bin/sh".into(), args: vec!["-c".to_owned(), shell.to_owned()] })
}

fn world_of_program(program: Program) -> LocalWorld {
    let spec = Arc::new(JobSpec::new(JobId(7), TenantId(0), 1, None));
    let nodes = (0..2).map(|id| Node::new(NodeId(id), RackId(0), ModelIndex(0), 4)).collect();
    let mut world = LocalWorld::new(LocalScript {
        models: vec![GpuModel { name: "pretended".to_owned() }],
        nodes,
        jobs: vec![LocalJob { at: Time::ZERO, spec, program }],
        ..LocalScript::default()
    })
    .unwrap();
    assert!(matches!(until(&mut world, |event| matches!(event, Event::Submitted(_))), Event::Submitted(_)));
    world
}

fn start(world: &mut LocalWorld, id: u64, gpus: &[(u32, u8)]) {
    let gpus =
        GpuSet::of(gpus.iter().map(|(node, ordinal)| GpuId { node: NodeId(*node), ordinal: *ordinal }));
    world.carry_out(&Command::Start(Lease {
        id: LeaseId(id),
        job: JobId(7),
        gpus,
        sharing: Sharing::Alone,
        starts: Time::ZERO,
        expires: Time::NEVER,
        reason: Reason::FirstCome,
        state: LeaseState::Asked,
        taken: Time::ZERO,
        booked: Time::ZERO,
    }));
}

fn end(world: &mut LocalWorld) {
    world.carry_out(&Command::End { job: JobId(7), outcome: Outcome::Finished, attained: GpuTime::ZERO });
}

fn until(world: &mut LocalWorld, wanted: impl Fn(&Event) -> bool) -> Event {
    loop {
        let (_, event) = world.next().unwrap().expect("the world ended too early");
        if wanted(&event) {
            return event;
        }
    }
}

fn until_lease_ends(world: &mut LocalWorld) -> (Work, EndCause) {
    match until(world, |event| matches!(event, Event::LeaseEnded { .. })) {
        Event::LeaseEnded { saved, cause, .. } => (saved, cause),
        _ => unreachable!(),
    }
}

/// Waits for something that another process does.
fn eventually(what: &str, happened: impl Fn() -> bool) {
    for _ in 0..6000 {
        if happened() {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("not within 30 s: {what}");
}

/// How many processes of a group are alive.
fn members(group: i32) -> usize {
    let stats = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let is_member = |stat: &String| {
        // After the name in brackets: state, parent, group.
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        fields[2] == group.to_string() && !matches!(fields[0], "Z" | "X")
    };
    stats.filter(is_member).count()
}

const FINISHED: EndCause = EndCause::Finished { alone: None };

#[test]
fn a_dropped_world_leaves_no_process_and_no_folder() {
    let mut world =
        world_of("sleep 1000 & echo 1 > $EVENHAND_CHECKPOINT; trap '' TERM; while :; do wait; done");
    start(&mut world, 1, &[(0, 0)]);
    let checkpoint = world.scratch.checkpoint(JobId(7));
    eventually("the job has started its own child", || world.scratch.progress(JobId(7)) > Work::ZERO);
    let group = world.running[&LeaseId(1)].group.id();
    assert!(members(group) >= 2);
    drop(world);
    eventually("the whole group is gone", || members(group) == 0);
    assert!(!checkpoint.parent().unwrap().exists());
}

#[test]
fn what_a_finished_job_left_running_is_killed() {
    let mut world = world_of("sleep 1000 & exit 0");
    start(&mut world, 1, &[(0, 0)]);
    let group = world.running[&LeaseId(1)].group.id();
    assert_eq!(until_lease_ends(&mut world).1, FINISHED);
    eventually("the whole group is gone", || members(group) == 0);
}

#[test]
fn a_job_learns_from_its_environment_what_it_may_use() {
    let shell =
        "echo 2.5 $EVENHAND_JOB $EVENHAND_LEASE $EVENHAND_GPUS $CUDA_VISIBLE_DEVICES > $EVENHAND_CHECKPOINT";
    let mut world = world_of(shell);
    start(&mut world, 12, &[(0, 1), (0, 3), (1, 3)]);
    assert_eq!(until_lease_ends(&mut world), (Work::from_steps(2.5), FINISHED));
    let said = fs::read_to_string(world.scratch.checkpoint(JobId(7))).unwrap();
    assert_eq!(said, "2.5 7 12 0.1,0.3,1.3 1,3\n");
}

#[test]
fn a_checkpoint_outlives_its_lease_but_not_its_job() {
    let shell = "test -s $EVENHAND_CHECKPOINT && exit 0; echo 5 > $EVENHAND_CHECKPOINT; exit 3";
    let mut world = world_of(shell);
    start(&mut world, 1, &[(0, 0)]);
    assert_eq!(until_lease_ends(&mut world), (Work::from_steps(5.0), EndCause::Crashed));
    start(&mut world, 2, &[(1, 0)]);
    assert_eq!(until_lease_ends(&mut world), (Work::from_steps(5.0), FINISHED));
    let checkpoint = world.scratch.checkpoint(JobId(7));
    assert!(checkpoint.exists());
    end(&mut world);
    assert!(!checkpoint.exists());
    assert!(world.next().unwrap().is_none());
}

#[test]
fn a_job_that_was_asked_to_stop_but_exits_with_0_is_finished() {
    let mut world = world_of("trap 'exit 0' TERM; echo 1 > $EVENHAND_CHECKPOINT; sleep 1000 & wait");
    start(&mut world, 1, &[(0, 0)]);
    eventually("the job listens", || world.scratch.progress(JobId(7)) > Work::ZERO);
    let (reason, grace) = (StopReason::Preempted, Span::from_secs(1000));
    world.carry_out(&Command::Stop { lease: LeaseId(1), reason, grace });
    assert_eq!(until_lease_ends(&mut world).1, FINISHED);
}

#[test]
fn a_program_that_does_not_exist_is_not_tried_again() {
    let mut world = world_of_program(Program { path: "/nonexistent/program".into(), args: Vec::new() });
    start(&mut world, 1, &[(0, 0)]);
    let failed = until(&mut world, |_| true);
    assert_eq!(failed, Event::LaunchFailed { lease: LeaseId(1), retry: Retry::Never });
}

#[test]
fn a_taken_node_launches_nothing_until_it_is_returned() {
    let mut world = world_of("sleep 1000");
    start(&mut world, 1, &[(0, 0), (1, 0)]);
    world.take_node(NodeId(1));
    // Asked for at the same moment: the node still comes back only after what was lost with it is gone.
    world.return_node(NodeId(1));
    world.take_node(NodeId(0));
    let heard: Vec<_> = (0..5).map(|_| until(&mut world, |_| true)).collect();
    let (lease, done, saved, cause) = (LeaseId(1), Work::ZERO, Work::ZERO, EndCause::NodeLost);
    let back = Event::NodeUp(world.nodes[&NodeId(1)].clone());
    let lost = Event::LeaseEnded { lease, done, saved, cause };
    let gone = [1, 0].map(|node| Event::NodeDown(NodeId(node)));
    let [first, second] = gone;
    assert_eq!(heard, [Event::LeaseStarted(lease), first, lost, back, second]);
    start(&mut world, 2, &[(0, 0)]);
    let failed = Event::LaunchFailed { lease: LeaseId(2), retry: Retry::Later };
    assert_eq!(until(&mut world, |_| true), failed);
}

#[test]
fn the_alarm_comes_after_the_news_it_is_to_be_judged_by() {
    let mut world = world_of("echo 4 > $EVENHAND_CHECKPOINT; sleep 1000");
    start(&mut world, 1, &[(0, 0)]);
    eventually("the job has written", || world.scratch.progress(JobId(7)) > Work::ZERO);
    world.carry_out(&Command::WakeAt(Time::ZERO, Round(1)));
    let steps = Work::from_steps(4.0);
    let progress = Event::Progress {
        lease: LeaseId(1),
        done: steps,
        saved: steps,
        regime: None,
        worked: None,
        loss: None,
    };
    let heard: Vec<_> = (0..3).map(|_| until(&mut world, |_| true)).collect();
    assert_eq!(heard, [Event::LeaseStarted(LeaseId(1)), progress, Event::RoundDue(Round(1))]);
}

#[test]
fn an_overdue_alarm_is_answered_before_any_lease_expires() {
    let mut world = world_of("until test -e $EVENHAND_CHECKPOINT; do sleep 0.01; done");
    start(&mut world, 1, &[(0, 0)]);
    let renew = |world: &mut LocalWorld, expires| {
        world.carry_out(&Command::Renew { lease: LeaseId(1), expires });
    };
    // Both the deadline and the alarm have passed by the next look at the clock.
    renew(&mut world, Time::ZERO);
    world.carry_out(&Command::WakeAt(Time::ZERO, Round(1)));
    thread::sleep(Duration::from_millis(2));
    until(&mut world, |event| *event == Event::RoundDue(Round(1)));
    renew(&mut world, Time::NEVER);
    fs::write(world.scratch.checkpoint(JobId(7)), "the job may finish").unwrap();
    assert_eq!(until_lease_ends(&mut world).1, FINISHED);
}

#[test]
fn a_world_in_which_nothing_can_happen_says_so() {
    let mut world = world_of("exit 0");
    assert!(matches!(world.next(), Err(BackendError::Stalled { jobs: 1, first: JobId(7) })));
}
