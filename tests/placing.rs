//! Which GPUs leases hold: gangs that are spread, gathered or found only in pieces, models that will do, and nodes that are suspect or being emptied.

use evenhand_core::{
    Abilities, Backend, BackendError, Command, Event, GpuCount, JobId, JobSpec, ModelFilter, ModelIndex,
    NodeId, Note, Packets, PerModel, RackId, Ratio, Record, Retry, Span, StopReason, Time,
};
use evenhand_engine::{Engine, Parts};
use evenhand_policies::placement::{DEFAULT_PLACER, PLACERS};
use evenhand_tests::{Stage, engine_with, parts_with, policy};
use std::collections::VecDeque;

#[test]
fn a_gang_that_had_to_be_spread_is_gathered_when_there_is_room() {
    // Two GPUs on two nodes at a quarter of the speed, until the second node has both free.
    let gang = |spec: &mut JobSpec| {
        let ratio = |value: f64| Ratio::new(value).unwrap();
        spec.scaling.by_span = Some([ratio(1.0), ratio(1.0), ratio(4.0), ratio(4.0)]);
    };
    let stage = Stage::new("v100=4", 2).job(0, 1, 300).job(0, 1, 3000).job(0, 1, 600);
    let stage = stage.job_with(350, 2, 1000, gang);
    let play = |name: &str| {
        let mut world = stage.world();
        let placer = (PLACERS.iter().find(|entry| entry.name == DEFAULT_PLACER).unwrap().build)();
        let parts = parts_with(policy(name), stage.engine.clone(), world.abilities());
        stage.play_in(&mut Engine::new(Parts { placer, ..parts }), &mut world)
    };
    let (ends, records) = play("las");
    let moved = records.iter().filter(|record| {
        let is_move = |command: &Command| matches!(command, Command::Stop { reason, .. } if *reason == StopReason::Moved);
        record.commands.iter().any(is_move)
    });
    let moved: Vec<f64> = moved.map(|record| record.now.seconds()).collect();
    assert_eq!(moved, [600.0]);
    assert_eq!(ends.get(&3), Some(&(600.0 + 1000.0 - (600.0 - 350.0) / 4.0)));
    // A policy that never interrupts anybody is not made to.
    assert_eq!(play("fifo").0.get(&3), Some(&(350.0 + 4000.0)));
}

#[test]
fn a_gpu_is_given_away_only_when_its_lease_has_ended() {
    // The first job takes 40 s to save: the shorter one is decided at 100 and starts at 140.
    let saves = |spec: &mut JobSpec| spec.restart.save = Span::from_secs(40);
    let stage = Stage::new("v100=1", 1).job_with(0, 1, 1000, saves).job(100, 1, 50);
    let (ends, records) = stage.play(policy("srtf"));
    let start = records.iter().find(|record| {
        record
            .commands
            .iter()
            .any(|command| matches!(command, Command::Start(lease) if lease.job == JobId(1)))
    });
    assert_eq!(start.unwrap().now, Time::from_seconds(140.0));
    assert_eq!(ends, [(1, 190.0), (0, 1090.0)].into());
}

/// A world in which nothing starts on the first node.
struct BadNode<W> {
    world: W,
    failed: VecDeque<(Time, Event)>,
    /// Launches that fail there.
    failures: u32,
}

impl<W: Backend> Backend for BadNode<W> {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }
    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        match self.failed.pop_front() {
            Some(failed) => Ok(Some(failed)),
            None => self.world.next(),
        }
    }
    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        match command {
            Command::Start(lease) if self.failures > 0 && lease.gpus.touches(NodeId(0)) => {
                self.failures -= 1;
                let retry = Retry::Later;
                self.failed.push_back((now, Event::LaunchFailed { lease: lease.id, retry }));
                Ok(())
            }
            other => self.world.execute(now, other),
        }
    }
}

#[test]
fn a_node_where_nothing_starts_is_suspected_and_left_alone() {
    let stage = Stage::new("v100=2", 1).job(0, 1, 10).job(0, 1, 10).job(0, 1, 10);
    let mut world = BadNode { world: stage.world(), failed: VecDeque::new(), failures: u32::MAX };
    let abilities = world.abilities();
    let mut engine = engine_with(policy("fifo"), stage.engine.clone(), abilities);
    let (ends, records) = stage.play_in(&mut engine, &mut world);
    assert_eq!(ends.len(), 3);
    let suspected = Note::Suspected(NodeId(0));
    assert_eq!(records.iter().filter(|record| record.notes.contains(&suspected)).count(), 1);
}

#[test]
fn a_suspect_node_is_tried_again_after_a_while_and_one_more_failure_is_enough() {
    let mut stage = Stage::new("v100=1", 1).job(0, 1, 10);
    stage.engine.suspicion = Span::from_secs(60);
    let mut world = BadNode { world: stage.world(), failed: VecDeque::new(), failures: 4 };
    let abilities = world.abilities();
    let mut engine = engine_with(policy("fifo"), stage.engine.clone(), abilities);
    let (ends, records) = stage.play_in(&mut engine, &mut world);
    // Three failures, a minute, a fourth, another minute, and then it runs.
    assert_eq!(ends, [(0, 130.0)].into());
    let noted = |note: Note| records.iter().filter(|record| record.notes.contains(&note)).count();
    assert_eq!(noted(Note::Suspected(NodeId(0))), 2);
    assert_eq!(noted(Note::TriedAgain(NodeId(0))), 2);
}

/// Two nodes have one free GPU each: of no use to a gang that wants two on one node, but to the job behind it.
#[test]
fn what_a_gang_finds_only_in_pieces_somebody_else_has_meanwhile() {
    let whole = |spec: &mut JobSpec| {
        spec.packets = Some(Packets { gpus: 2, apart: true });
    };
    let ones =
        Stage::new("v100=4", 2).tenant("ann").job(0, 1, 10).job(0, 1, 300).job(0, 1, 10).job(0, 1, 300);
    let stage = ones.job_with(1, 2, 50, whole).job(2, 1, 20);
    for (name, passes) in [("las", true), ("oef-cooperative", true), ("fifo", false)] {
        let (ends, _) = stage.play(policy(name));
        // The gang's turn comes when a whole node is free; nobody behind it is in its way by then.
        let behind = if passes { 30.0 } else { 320.0 };
        assert_eq!((ends[&5], ends[&4]), (behind, 350.0), "{name}");
    }
    // Limits were counted with the plan; nobody who has one is given anything beside it.
    let (ends, _) = stage.limit(PerModel::all(GpuCount(100))).play(policy("las"));
    assert_eq!((ends[&5], ()), (80.0, ()), "it is granted its GPU at the next round");
}

#[test]
fn a_job_that_mixes_models_gets_those_that_will_do_and_no_others() {
    let mixes = |spec: &mut JobSpec| {
        spec.mixes_models = true;
        spec.models = ModelFilter::only([0, 2].map(ModelIndex));
    };
    let stage = Stage::new("a100=2,v100=4,k80=2", 2).job_with(0, 4, 100, mixes);
    let (ends, records) = stage.play(policy("las"));
    assert_eq!(ends, [(0, 100.0)].into());
    let started = records.iter().flat_map(|record| &record.commands).find_map(|command| match command {
        Command::Start(lease) => Some(lease.gpus.seats().iter().map(|seat| seat.node.0).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(started, Some(vec![0, 3]));
    // Renewed at the round in between, its lease counts against both models, each with what it has.
    let refused = |record: &Record| record.notes.iter().any(|note| matches!(note, Note::PlanRefused(_)));
    assert!(!records.iter().any(refused));
}

/// A world in which a node is emptied from the first event after some time on.
struct Emptied<B> {
    world: B,
    after: Time,
    node: NodeId,
    put_off: Option<(Time, Event)>,
}

impl<B: Backend> Backend for Emptied<B> {
    fn abilities(&self) -> Abilities {
        self.world.abilities()
    }

    fn next(&mut self) -> Result<Option<(Time, Event)>, BackendError> {
        if let Some(next) = self.put_off.take() {
            return Ok(Some(next));
        }
        let next = self.world.next()?;
        let Some((at, _)) = next.as_ref().filter(|(at, _)| *at > self.after) else { return Ok(next) };
        let event = Event::NodeDraining(self.node);
        (self.after, self.put_off) = (Time(u64::MAX), next.clone());
        Ok(Some((*at, event)))
    }

    fn execute(&mut self, now: Time, command: &Command) -> Result<(), BackendError> {
        self.world.execute(now, command)
    }
}

#[test]
fn a_gang_is_not_gathered_around_a_node_that_is_being_emptied() {
    // Four nodes of one GPU, two in each rack. The gang has to be seated in both racks; when its neighbour in the first rack is done, it would
    // be together there, but for the node that it could not have again.
    let gang = |spec: &mut JobSpec| {
        let ratio = |value: f64| Ratio::new(value).unwrap();
        spec.scaling.by_span = Some([ratio(1.0), ratio(1.0), ratio(1.0), ratio(4.0)]);
    };
    let stage = Stage::new("v100=4", 1).nodes(|node| node.rack = RackId(node.id.0 / 2));
    let stage =
        stage.job(0, 1, 100).job(0, 1, 600).job(0, 1, 100).job(0, 1, 9000).job_with(110, 2, 2000, gang);
    let moves = |after_s: f64| {
        let after = Time::from_seconds(after_s);
        let mut world = Emptied { world: stage.world(), after, node: NodeId(0), put_off: None };
        let placer = (PLACERS.iter().find(|entry| entry.name == DEFAULT_PLACER).unwrap().build)();
        let parts = parts_with(policy("las"), stage.engine.clone(), world.abilities());
        let (_, records) = stage.play_in(&mut Engine::new(Parts { placer, ..parts }), &mut world);
        let commands = records.iter().flat_map(|record| &record.commands);
        let is_move = |command: &&Command| matches!(command, Command::Stop { reason: StopReason::Moved, .. });
        commands.filter(is_move).count()
    };
    assert_eq!((moves(1e6), moves(300.0)), (1, 0));
}
